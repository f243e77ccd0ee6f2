"""What speaks for and against a candidate, in numbers of about one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from theworld.entities.contradictions import dated, located, own_words_said
from theworld.entities.mention import MentionInText, holds_office, is_reference, lacks_head, refers
from theworld.entities.names import (
    CLOSE,
    FUNCTION_WORDS,
    name_match,
    name_words,
    qualifier_of,
    without_legal_form,
)
from theworld.entities.similarity import Similarity
from theworld.entities.words import entry_tokens, fits_type, is_page, is_team, topics_of, type_named, type_of_head
from theworld.text import tokens
from theworld.text.folding import simplified

UNQUALIFIED = 0.85
"""Fit of a name whose qualifier the text does not have."""

MANY_SPORT_WORDS = 3
"""From here a text certainly speaks of sport."""

MAX_HINT = 100
"""Characters of a type hint that are read."""

_PEOPLE = re.compile(r"\b(people|ethnic|citizens|inhabitants|nationality)\b|民族|族群|公民", re.IGNORECASE)
_LANGUAGE = re.compile(r"\b(language|dialect|lect)\b|语言|方言", re.IGNORECASE)
_LANGUAGE_SAID = re.compile(r"\b(in|into|from|speaks?|spoke|speaking|spoken)\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Features:
    """The features of one candidate."""

    name: float
    """Fit of the names in [0, 1]; 1 is the same name."""
    close: float
    """1 when the names are the same but for form: acronym, demonym, word order."""
    missing: float
    """Share of the mention's words that the label does not have; 0 for a mention that is no name, as "its"."""
    extra: float
    """Share of the label's words that the whole text does not have."""
    completed: float
    """1 when the mention is part of the label and the text has the rest of it."""
    description: float
    """Description words near the mention, over the root of their number."""
    popularity: float
    """How well known, in [0, 1]."""
    case: float
    """-1 when one of label and mention begins with a capital and the other does not."""
    topic: float
    """1 when the text has words of the description's topics, -1 when it has none, 0 when that has no topic."""
    form: float
    """Fit of the mention's grammar, in {-1, 0, 1}: Germans are people, and a language is spoken."""
    common: float = 0.0
    """1 when the label is a common noun, and the mention has a capital within a sentence."""
    located: float = 0.0
    """1 when the text says "in" before the mention, and the candidate is no place."""
    dated: float = 0.0
    """1 when the candidate's years are not the text's, 0.5 when the text has none."""
    echo: float = 0.0
    """The description's own words near the mention, for a candidate of another name: who means it would name it."""
    lacks_head: float = 0.0
    """1 when the mention's last word, which says what it is, is nowhere in the candidate."""
    refers: float = 0.0
    """1 when "the country" or "its" may refer to the candidate."""
    office: float = 0.0
    """1 for a certain office where the mention is a title before a name."""
    team: float = 0.0
    """How much the text near the mention speaks of sport, in [0, 1], for a team that has more in its name: Argentina in
    "the captain of Argentina"."""
    similarity: float = 0.0
    """Cosine of the embedded description and text."""
    mention_similarity: float = 0.0
    """Cosine of the embedded description and the mention's own token vectors in the text."""
    wording: float = 0.0
    """How near the description's tokens come to the text's, one by one, as cosine."""
    contrast: float = 0.0
    """The similarity, less its mean over the candidates."""
    type: float = 0.0
    """1 when the description says the mention's type, -1 when it says another, 0 when either is unknown."""
    namesake: float = 0.0
    """The same for a candidate of the mention's own name, where the type has to decide; 0 for others."""
    page: float = 0.0
    """1 for disambiguation pages, family names and lists."""
    apposed: float = 0.0
    """Share of what narrows the mention down in the text that the candidate's texts have."""
    coherence: float = 0.0
    """Share of the text's other mentions with a candidate that names this one, or is named by it."""


def features_of(
    mention: MentionInText,
    candidates: Sequence[Mapping[str, Any]],
    *,
    type_hint: str | None = None,
    others: Sequence[Sequence[Mapping[str, Any]]] = (),
) -> list[Features]:
    """Return the features of every candidate, in order, without similarities.

    `others` are the candidates of the text's other mentions.
    """
    echoes = own_words_said(mention, [str(candidate.get("description") or "") for candidate in candidates])
    return [
        _features(mention, candidate, type_hint, others, echo)
        for candidate, echo in zip(candidates, echoes, strict=True)
    ]


def with_similarities(features: Sequence[Features], similarities: Sequence[Similarity]) -> list[Features]:
    """Return the features of some candidates with their similarities, one per candidate, added."""
    mean = math.fsum(item.text for item in similarities) / max(1, len(similarities))
    return [
        replace(
            known,
            similarity=item.text,
            mention_similarity=item.mention,
            wording=item.wording,
            contrast=item.text - mean,
        )
        for known, item in zip(features, similarities, strict=True)
    ]


def _features(
    mention: MentionInText,
    candidate: Mapping[str, Any],
    type_hint: str | None,
    others: Sequence[Sequence[Mapping[str, Any]]],
    echo: float,
) -> Features:
    label, description = candidate.get("label") or "", candidate.get("description") or ""
    facts = _facts(candidate)
    ours, names = mention.own_words, name_words(label)
    extra = name_words(without_legal_form(label)) - ours
    described = set(entry_tokens(description)) - set(tokens(mention.label)) - FUNCTION_WORDS
    fit, agreement = _fit(mention, candidate, label), _type(type_hint, facts)
    return Features(
        name=fit,
        close=float(fit >= CLOSE),
        missing=0.0 if fit >= CLOSE or is_reference(mention) else len(ours - names) / max(1, len(ours)),
        extra=len(extra - mention.all_words) / max(1, len(names)),
        completed=float(bool(extra) and bool(names & ours) and extra <= mention.all_words),
        description=len(described & mention.near_words) / math.sqrt(max(1, len(described))),
        popularity=popularity(candidate),
        case=-float(mention.label[:1].isupper() != (label[:1] or " ").isupper()),
        topic=_topic(mention, description),
        form=_form(mention, description),
        common=float(mention.has_capital and label[:1].islower()),
        located=located(mention, description),
        dated=dated(mention, description),
        echo=0.0 if fit >= CLOSE else echo,
        lacks_head=0.0 if fit >= CLOSE else lacks_head(mention, candidate),
        refers=refers(mention, candidate),
        office=holds_office(mention, label),
        team=_team(mention, label, description),
        type=agreement,
        namesake=agreement if fit >= CLOSE else 0.0,
        page=float(is_page(facts)),
        apposed=_apposed(mention, f"{label} {facts}"),
        coherence=_coherence(candidate, facts, others),
    )


def _fit(mention: MentionInText, candidate: Mapping[str, Any], label: str) -> float:
    """Return the fit of the best of the mention's names; a qualifier that the text does not have costs some of it."""
    fit = max(name_match(name, candidate) for name in mention.names)
    foreign = not set(tokens(qualifier_of(label))) <= mention.all_words
    return min(fit, UNQUALIFIED) if foreign and fit < 1 else fit


def popularity(candidate: Mapping[str, Any]) -> float:
    """Return how well known an entry is: by its sitelinks where given, else by its QID, as well-known ones came first.

    Both give about .8 to a large country, .5 to a large university and .15 to what few know.
    """
    sitelinks = candidate.get("sitelinks")
    if isinstance(sitelinks, int) and not isinstance(sitelinks, bool) and sitelinks >= 0:
        return min(max(0.17 * math.log1p(sitelinks) - 0.16, 0.0), 1.0)
    qid = str(candidate.get("id", ""))
    return 1 - math.log10(int(qid[1:]) + 1) / 9 if re.fullmatch(r"Q\d{1,9}", qid) else 0.0


def _topic(mention: MentionInText, description: str) -> float:
    topics = topics_of(entry_tokens(description))
    if not topics:
        return 0.0
    return 1.0 if any(topic in mention.topics for topic in topics) else -1.0


def _team(mention: MentionInText, label: str, description: str) -> float:
    if not mention.own_words < name_words(label) or not is_team(description):
        return 0.0
    return min(mention.sport_words, MANY_SPORT_WORDS) / MANY_SPORT_WORDS


def _apposed(mention: MentionInText, text: str) -> float:
    return len(mention.apposed & set(entry_tokens(text))) / len(mention.apposed) if mention.apposed else 0.0


def _form(mention: MentionInText, description: str) -> float:
    folded = simplified(description)
    people, language = bool(_PEOPLE.search(folded)), bool(_LANGUAGE.search(folded))
    if mention.form == "name":
        return 0.0
    if language:
        said = "language" in mention.topics or _LANGUAGE_SAID.search(mention.context[: max(mention.start, 0)])
        return 1.0 if said and mention.form != "people" else -1.0
    if mention.form == "people":
        return 1.0 if people else 0.0
    return 1.0 if people and mention.form == "of a person" else 0.0


def _type(type_hint: str | None, facts: str) -> float:
    hint, said = type_named((type_hint or "")[:MAX_HINT]), type_of_head(facts)
    if said is None or hint is None:
        return 0.0
    return 1.0 if fits_type(hint, said) else -1.0


def _coherence(candidate: Mapping[str, Any], facts: str, others: Sequence[Sequence[Mapping[str, Any]]]) -> float:
    if not others:
        return 0.0
    label, own = _words_in_order(candidate.get("label")), _words_in_order(facts)
    related = sum(
        any(
            _names(_words_in_order(_facts(other)), label) or _names(own, _words_in_order(other.get("label")))
            for other in mention
            if other.get("id") != candidate.get("id")
        )
        for mention in others
    )
    return related / len(others)


def _facts(candidate: Mapping[str, Any]) -> str:
    return f"{candidate.get('description') or ''}; {candidate.get('key_props_excerpt') or ''}"


def _words_in_order(text: Any) -> str:
    return f" {' '.join(entry_tokens(text))} " if isinstance(text, str) else " "


def _names(text: str, label: str) -> bool:
    return len(label) > 1 and not label.isspace() and label in text
