"""What speaks for and against a candidate, in numbers of about one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theworld.nodes.disambiguate_entities.mention import MentionInText
from theworld.nodes.disambiguate_entities.names import (
    CLOSE,
    FUNCTION_WORDS,
    is_head,
    name_match,
    name_words,
    qualifier_of,
)
from theworld.nodes.disambiguate_entities.references import holds_office, lacks_head, refers
from theworld.nodes.disambiguate_entities.similarity import Similarity
from theworld.nodes.disambiguate_entities.words import is_page, known_types, topics_of, type_said
from theworld.text import tokens

UNQUALIFIED = 0.85
"""Fit of a name whose qualifier the text does not have."""

_PEOPLE = re.compile(r"\b(people|ethnic|citizens|inhabitants|nationality)\b|民族|族群|公民", re.IGNORECASE)
_LANGUAGE = re.compile(r"\b(language|dialect|lect)\b|语言|方言|語言", re.IGNORECASE)
_LANGUAGE_SAID = re.compile(r"\b(in|into|from|speaks?|spoke|speaking|spoken)\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Features:
    """The features of one candidate."""

    name: float
    """Fit of the names in [0, 1]; 1 is the same name."""
    close: float
    """1 when the names are the same but for form: acronym, demonym, word order."""
    missing: float
    """Share of the mention's words that no name of the candidate has."""
    extra: float
    """Share of the label's words that the whole text does not have."""
    completed: float
    """1 when the mention is part of the label and the text has the rest of it."""
    head: float
    """1 when the mention is what the label's other words only narrow down: Congress of United States Congress."""
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
    lacks_head: float = 0.0
    """1 when the mention's last word, which says what it is, is nowhere in the candidate."""
    refers: float = 0.0
    """1 when "the country" or "its" may refer to the candidate."""
    office: float = 0.0
    """1 for a certain office where the mention is a title before a name."""
    similarity: float = 0.0
    """Cosine of the embedded description and text."""
    mention_similarity: float = 0.0
    """Cosine of the embedded description and the mention's own token vectors in the text."""
    contrast: float = 0.0
    """The similarity, less its mean over the candidates."""
    type: float = 0.0
    """1 when the description says the mention's type, -1 when it says another, 0 when either is unknown."""
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
    similarities: Sequence[Similarity] | None = None,
) -> list[Features]:
    """Return the features of every candidate, in order.

    `others` are the candidates of the text's other mentions; `similarities` has one entry per candidate.
    """
    found = similarities or [Similarity()] * len(candidates)
    mean = math.fsum(item.text for item in found) / max(1, len(found))
    return [
        _features(mention, candidate, type_hint, others, item, mean)
        for candidate, item in zip(candidates, found, strict=True)
    ]


def _features(  # noqa: PLR0917
    mention: MentionInText,
    candidate: Mapping[str, Any],
    type_hint: str | None,
    others: Sequence[Sequence[Mapping[str, Any]]],
    similarity: Similarity,
    mean: float,
) -> Features:
    label, description = candidate.get("label") or "", candidate.get("description") or ""
    facts = _facts(candidate)
    ours, names = mention.own_words, name_words(label)
    extra = names - ours
    described = set(tokens(description)) - set(tokens(mention.label)) - FUNCTION_WORDS
    fit = _fit(mention, candidate, label)
    return Features(
        name=fit,
        close=float(fit >= CLOSE),
        missing=0.0 if fit >= CLOSE else len(ours - names) / max(1, len(ours)),
        extra=len(extra - mention.all_words) / max(1, len(names)),
        completed=float(bool(extra) and bool(names & ours) and extra <= mention.all_words),
        head=float(is_head(mention.label, label)),
        description=len(described & mention.near_words) / math.sqrt(max(1, len(described))),
        popularity=popularity(candidate),
        case=-float(mention.label[:1].isupper() != (label[:1] or " ").isupper()),
        topic=_topic(mention, description),
        form=_form(mention, description),
        lacks_head=0.0 if fit >= CLOSE else lacks_head(mention, candidate),
        refers=refers(mention, candidate),
        office=holds_office(mention, label),
        similarity=similarity.text,
        mention_similarity=similarity.mention,
        contrast=similarity.text - mean,
        type=_type(type_hint, facts),
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
    topics = topics_of(tokens(description))
    if not topics:
        return 0.0
    return 1.0 if any(topic in mention.topics for topic in topics) else -1.0


def _apposed(mention: MentionInText, text: str) -> float:
    return len(mention.apposed & set(tokens(text))) / len(mention.apposed) if mention.apposed else 0.0


def _form(mention: MentionInText, description: str) -> float:
    people, language = bool(_PEOPLE.search(description)), bool(_LANGUAGE.search(description))
    if mention.form == "name":
        return 0.0
    if language:
        said = "language" in mention.topics or _LANGUAGE_SAID.search(mention.context[: max(mention.start, 0)])
        return 1.0 if said and mention.form != "people" else -1.0
    if mention.form == "people":
        return 1.0 if people else 0.0
    return 1.0 if people and mention.form == "of a person" else 0.0


def _type(type_hint: str | None, facts: str) -> float:
    hint = (type_hint or "").casefold()
    said = type_said(facts)
    if said is None or hint not in known_types():
        return 0.0
    return 1.0 if said == hint else -1.0


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
    return f" {' '.join(tokens(text))} " if isinstance(text, str) else " "


def _names(text: str, label: str) -> bool:
    return len(label) > 1 and not label.isspace() and label in text
