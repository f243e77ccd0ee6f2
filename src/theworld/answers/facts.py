"""Facts: what a note says of the thing it is about, and the answer that facts of the ontology give.

Of a note: its country, its first moment, a person's birth and death.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from theworld.packages import load_table
from theworld.state import AnswerScores, Candidate, OntologyEvidence
from theworld.text import Language, entity_key, fold, split_sentences, tokens
from theworld.text.dates import DateSpan, find_dates
from theworld.text.identity import names_in
from theworld.text.tokens import simplified

STATED = 0.95
"""How often a comparison of stated facts is right, at least (benchmarks/README.md, Short answers)."""
BY_FACTS = 0.85
"""Of an answer by facts of the ontology, which no data set has: they were confirmed one by one."""
LIFESPAN_REACH = 600
"""Characters of a note in which the brackets after a person's name stand."""
_COPULA = re.compile(r"\b(?:is|was|are|were)\b|是|为")
_PLACE = re.compile(
    r"\b(village|river|town|city|creek|municipality|island|district|lake|mountain|hamlet|commune)\b", re.IGNORECASE
)
_BRACKET = re.compile(r"[（(]([^()（）]{0,160})[)）]")
_BORN = re.compile(r"\b(?:born|b\.)|出生|生于", re.IGNORECASE)
_BEGINS = re.compile(
    r"\b(?:founded|established|formed|released|published|launched|opened|created|premiered|began|started|incorporated|"
    r"built|aired|debuted|introduced|completed)\b|"
    r"成立|创[立办建刊]|建[成立造]|发行|上映|出版|通车|落成|启用|设立|首播|开[放幕通业]|推出|竣工",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CountryMention:
    """A country, and where the text searched names it."""

    country: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Lifespan:
    """Birth and death of the person a note is about, as far as its text says."""

    birth: DateSpan | None = None
    death: DateSpan | None = None


@cache
def _country_words() -> tuple[re.Pattern[str], Mapping[str, str]]:
    table = load_table("theworld.answers", "countries.yaml")
    names = {fold(word): country for country, words in table.items() for word in (country, *words)}
    ordered = sorted(names, key=len, reverse=True)
    latin = "|".join(re.escape(name) for name in ordered if ord(name[0]) < 0x2E80)
    chinese = "|".join(re.escape(name) for name in ordered if ord(name[0]) >= 0x2E80)
    return re.compile(rf"(?<![^\W_])(?:{latin})(?![^\W_])|{chinese}"), names


def countries_in(text: str) -> list[CountryMention]:
    """Return the countries a text names, by position; adjectives and peoples count as their country."""
    pattern, names = _country_words()
    lowered = text.lower() if len(text.lower()) == len(text) else text
    return [CountryMention(names[fold(m.group())], *m.span()) for m in pattern.finditer(simplified(lowered))]


def country_of(text: str) -> CountryMention | None:
    """Return the country of what a note is about.

    The first named after "is a" in its opening for people and works, the last for places, whose country ends the list
    of what they lie in; without any the first of its first two sentences.
    """
    sentences = split_sentences(simplified(text))[:2]
    if not sentences:
        return None
    opening = sentences[0].text
    copula = _COPULA.search(_BRACKET.sub(lambda match: " " * len(match.group()), opening))
    found = [mention for mention in countries_in(opening) if copula is None or mention.start >= copula.end()]
    if not found:
        return next(iter(countries_in(text[: sentences[-1].end])), None)
    place = _PLACE.search(opening)
    chosen = found[-1] if place and found[0].start > place.start() else found[0]
    at = sentences[0].start
    return replace(chosen, start=chosen.start + at, end=chosen.end + at)


def begin_of(text: str) -> DateSpan | None:
    """Return when what a note is about began: the first date of its opening, else of a sentence of beginning."""
    sentences = split_sentences(simplified(text))
    telling = [one for place, one in enumerate(sentences) if place == 0 or _BEGINS.search(one.text)]
    return next((_moved(date, one.start) for one in telling for date in find_dates(one.text)), None)


def lifespan(text: str) -> Lifespan:
    """Return birth and death from the brackets after a name: "Ada (10 May 1815 – 27 June 1852)", "Eva (born 1901)"."""
    text = simplified(text)
    for bracket in _BRACKET.finditer(text[:LIFESPAN_REACH]):
        dates = [_moved(date, bracket.start(1)) for date in find_dates(bracket.group(1))]
        if len(dates) >= 2:
            return Lifespan(dates[0], dates[1])
        if dates:
            return Lifespan(dates[0]) if _BORN.search(bracket.group(1)) else Lifespan()
    return Lifespan()


def _moved(date: DateSpan, offset: int) -> DateSpan:
    return replace(date, start=date.start + offset, end=date.end + offset)


@dataclass(frozen=True, slots=True)
class Support:
    """A piece of a note that an answer rests on."""

    note: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """An answer read off notes."""

    text: str
    confidence: float
    support: tuple[Support, ...]
    reason: str
    scores: AnswerScores | None = None


def answer_from_facts(
    ontology: OntologyEvidence | None, language: Language, evidence: Sequence[Candidate]
) -> FoundAnswer | None:
    """Return what the question asks for by the ontology's facts, None where it asks for more than they say.

    Its support is for every fact the sentence of the evidence that names both its ends, first of all one with a word of
    the relation; there may be none.
    """
    if ontology is None or not ontology.answered:
        return None
    support: list[Support] = []
    ways: dict[str, None] = {}
    for described, fact in ((one, fact) for one in ontology.described for fact in one.facts):
        ways[f"{fact.source} —{fact.relation}→ {fact.target}"] = None
        ends = [
            [entity_key(name) for name in ([*described.aliases, end] if end in described.names else [end])]
            for end in (fact.source, fact.target)
        ]
        said = set(tokens(fact.relation))
        naming = [
            (not said & set(tokens(sentence.text)), Support(index, sentence.start, sentence.end))
            for index, note in enumerate(evidence)
            for sentence in split_sentences(note.text)
            if all(any(map(names_in(sentence.text), keys)) for keys in ends)
        ]
        if naming:
            support.append(min(naming, key=lambda pair: pair[0])[1])
    text = ("、" if language == "zh" else ", ").join(ontology.described[-1].names)
    reason = f"facts of the ontology: {'; '.join(ways)}"
    return FoundAnswer(text, BY_FACTS, tuple(dict.fromkeys(reversed(support))), reason)
