"""Facts that a note states about what it is about: country, moments in time, values of relations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from theworld.nodes.answer_with_entity.values.dates import DateSpan, find_dates, first_date, lifespan
from theworld.text import fold, split_sentences
from theworld.text.folding import simplified

_LEAD_SENTENCES = 2


@cache
def _country_words() -> tuple[re.Pattern[str], Mapping[str, str]]:
    file = resources.files("theworld.nodes.answer_with_entity.clauses").joinpath("countries.yaml")
    names: dict[str, str] = {}
    for country, words in yaml.safe_load(file.read_text(encoding="utf-8")).items():
        names[fold(country)] = country
        names.update({fold(word): country for word in words})
    ordered = sorted(names, key=len, reverse=True)
    latin = "|".join(re.escape(name) for name in ordered if name.isascii() or not _is_cjk(name))
    chinese = "|".join(re.escape(name) for name in ordered if _is_cjk(name))
    return re.compile(rf"(?<![^\W_])(?:{latin})(?![^\W_])|{chinese}"), names


def _is_cjk(name: str) -> bool:
    return ord(name[0]) >= 0x2E80


@dataclass(frozen=True, slots=True)
class CountryMention:
    """A country, the word that names it, and where it stands in the text searched."""

    country: str
    start: int
    end: int


def countries_in(text: str) -> list[CountryMention]:
    """Return the countries a text names, by position; adjectives and peoples count as their country."""
    pattern, names = _country_words()
    lowered = text.casefold()
    if len(lowered) != len(text):
        lowered = text.lower() if len(text.lower()) == len(text) else text
    return [CountryMention(names[fold(m.group())], *m.span()) for m in pattern.finditer(simplified(lowered))]


def lead(text: str) -> str:
    """Return the first sentences of a note, which say what it is about."""
    sentences = split_sentences(text)[:_LEAD_SENTENCES]
    return text[: sentences[-1].end] if sentences else text


_COPULA = re.compile(r"\b(is|was|are|were)\b|是|为|為")


def country_of(text: str) -> CountryMention | None:
    """Return the country of what a note is about: the first named after "is a" in its lead for people and works,
    the last for places, whose country ends the list of what they lie in."""
    opening = split_sentences(text)[:1]
    sentence = opening[0].text if opening else text
    offset = opening[0].start if opening else 0
    copula = _COPULA.search(re.sub(r"[（(][^()（）]*[)）]", lambda match: " " * len(match.group()), sentence))
    begin = copula.end() if copula else 0
    found = [mention for mention in countries_in(sentence) if mention.start >= begin]
    if not found:
        return next(iter(countries_in(lead(text))), None)
    place = re.search(
        r"\b(village|river|town|city|creek|municipality|island|district|lake|mountain|hamlet|commune)\b", sentence
    )
    chosen = found[-1] if place and place.start() < found[-1].start and found[0].start > place.start() else found[0]
    return CountryMention(chosen.country, chosen.start + offset, chosen.end + offset)


def birth_of(text: str) -> DateSpan | None:
    """Return when the person a note is about was born."""
    return lifespan(text).birth


def death_of(text: str) -> DateSpan | None:
    """Return when the person a note is about died."""
    return lifespan(text).death


_BEGINS = re.compile(
    r"\b(founded|established|formed|released|published|launched|opened|created|premiered|began|started|incorporated|"
    r"built|first aired|debuted|introduced|completed)\b[^.;]{0,60}|"
    r"(成立|[创創](?:立|[办辦]|建|刊)|建(?:成|立|造)|[发發]行|上映|出版|通[车車]|落成|[启啟]用|[设設]立|首播|[开開](?:放|幕|通|[业業])|推出|竣工)",
    re.IGNORECASE,
)


def begin_of(text: str) -> DateSpan | None:
    """Return when what a note is about began: the year of its first sentence, else of a clause of beginning."""
    sentences = split_sentences(text)
    if not sentences:
        return None
    opening = first_date(sentences[0].text)
    if opening is not None:
        at = sentences[0].start
        return DateSpan(opening.year, opening.month, opening.day, opening.start + at, opening.end + at)
    dates = find_dates(text)
    dated = [s for s in sentences if any(s.start <= date.start < s.end for date in dates)] if dates else []
    said = next((s for s in dated if _BEGINS.search(text, s.start, s.end)), None)
    return next((date for date in dates if said and said.start <= date.start < said.end), None)
