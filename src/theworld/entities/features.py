"""What speaks for and against a candidate, in numbers of about one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theworld.entities.mention import MentionInText, holds_office, lacks_head, refers
from theworld.entities.names import CLOSE, FUNCTION_WORDS, name_match, name_words, qualifier_of
from theworld.entities.words import entry_tokens, fits_type, is_page, is_team, topics_of, type_named, type_of_head
from theworld.text import tokens

UNQUALIFIED = 0.85
"""Fit of a name whose qualifier the text does not have."""

MANY_SPORT_WORDS = 3
"""From here a text certainly speaks of sport."""

MAX_HINT = 100
"""Characters of a type hint that are read."""


@dataclass(frozen=True, slots=True)
class Features:
    """The features of one candidate."""

    name: float
    """Fit of the names in [0, 1]; 1 is the same name."""
    close: float
    """1 when the names are the same but for form: acronym, demonym, word order."""
    description: float
    """Description words near the mention, over the root of their number."""
    popularity: float
    """How well known, in [0, 1]."""
    case: float
    """-1 when one of label and mention begins with a capital and the other does not."""
    topic: float
    """1 when the text has words of the description's topics, -1 when it has none, 0 when that has no topic."""
    common: float
    """1 when the label is a common noun, and the mention has a capital within a sentence."""
    lacks_head: float
    """1 when the mention's last word, which says what it is, is nowhere in the candidate."""
    refers: float
    """1 when "the country" or "its" may refer to the candidate."""
    office: float
    """1 for a certain office where the mention is a title before a name."""
    team: float
    """How much the text near the mention speaks of sport, in [0, 1], for a team that has more in its name: Argentina in
    "the captain of Argentina"."""
    type: float
    """1 when the description says the mention's type, -1 when it says another, 0 when either is unknown."""
    namesake: float
    """The same for a candidate of the mention's own name, where the type has to decide; 0 for others."""
    class_noun: float
    """1 for a common noun of another type than a mention with a capital: the film Metropolis is no metropolis."""
    page: float
    """1 for disambiguation pages, family names and lists."""
    apposed: float
    """Share of what narrows the mention down in the text that the candidate's texts have."""


def features_of(
    mention: MentionInText, candidates: Sequence[Mapping[str, Any]], *, type_hint: str | None = None
) -> list[Features]:
    """Return the features of every candidate, in order."""
    return [_features(mention, candidate, type_hint) for candidate in candidates]


def _features(mention: MentionInText, candidate: Mapping[str, Any], type_hint: str | None) -> Features:
    label, description = candidate.get("label") or "", candidate.get("description") or ""
    facts = f"{description}; {candidate.get('key_props_excerpt') or ''}"
    described = set(entry_tokens(description)) - set(tokens(mention.label)) - FUNCTION_WORDS
    foreign = not set(tokens(qualifier_of(label))) <= mention.all_words
    fit = max(name_match(name, candidate) for name in mention.names)
    fit = min(fit, UNQUALIFIED) if foreign and fit < 1 else fit
    topics, wanted = topics_of(entry_tokens(description)), type_named((type_hint or "")[:MAX_HINT])
    said = type_of_head(facts)
    agreement = 0.0 if wanted is None or said is None else 1.0 if fits_type(wanted, said) else -1.0
    plays = mention.own_words < name_words(label) and is_team(description)
    return Features(
        name=fit,
        close=float(fit >= CLOSE),
        description=len(described & mention.near_words) / math.sqrt(max(1, len(described))),
        popularity=popularity(candidate),
        case=-float(mention.label[:1].isupper() != (label[:1] or " ").isupper()),
        topic=0.0 if not topics else -1.0 if mention.topics.isdisjoint(topics) else 1.0,
        common=float(mention.has_capital and label[:1].islower()),
        lacks_head=0.0 if fit >= CLOSE else lacks_head(mention, candidate),
        refers=refers(mention, candidate),
        office=holds_office(mention, label),
        team=min(mention.sport_words, MANY_SPORT_WORDS) / MANY_SPORT_WORDS if plays else 0.0,
        type=agreement,
        namesake=agreement if fit >= CLOSE else 0.0,
        class_noun=float(mention.has_capital and label[:1].islower() and agreement < 0),
        page=float(is_page(facts)),
        apposed=len(mention.apposed & set(entry_tokens(f"{label} {facts}"))) / max(1, len(mention.apposed)),
    )


def popularity(candidate: Mapping[str, Any]) -> float:
    """Return how well known an entry is: by its sitelinks where given, else by its QID, as well-known ones came first.

    Both give about .8 to a large country, .5 to a large university and .15 to what few know.
    """
    if (sitelinks := candidate.get("sitelinks")) is not None:
        return min(max(0.17 * math.log1p(sitelinks) - 0.16, 0.0), 1.0)
    qid = candidate["id"]
    return 1 - math.log10(int(qid[1:]) + 1) / 9 if re.fullmatch(r"Q\d{1,9}", qid) else 0.0
