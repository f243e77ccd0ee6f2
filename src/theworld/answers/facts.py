"""What a note says of the thing it is about: its country, its first moment, a person's birth and death."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

import yaml

from theworld.text import fold, split_sentences
from theworld.text.dates import DateSpan, find_dates
from theworld.text.folding import simplified

LIFESPAN_REACH = 600
"""Characters of a note in which the brackets after a person's name stand."""
CLAUSE_REACH = 80
"""Characters behind "born" or "died" in which its date stands."""
_COPULA = re.compile(r"\b(?:is|was|are|were)\b|是|为")
_PLACE = re.compile(
    r"\b(village|river|town|city|creek|municipality|island|district|lake|mountain|hamlet|commune)\b", re.IGNORECASE
)
_BRACKET = re.compile(r"[（(]([^()（）]{0,160})[)）]")
_TO = re.compile(r"[–—−~～－]|\s-\s|\bto\b|至|\s")
_EVENT = re.compile(r"\b(released|founded|film|album|active)\b", re.IGNORECASE)
_BORN = re.compile(r"\b(?:born|b\.)|出生|生于", re.IGNORECASE)
_DIED = re.compile(r"\b(?:died|d\.)|[逝去][世于]|[病过]逝|病故|过世|辞世|卒(?!年)", re.IGNORECASE)
_SENTENCE = re.compile(r"[。；;！？\n]")
_CLAUSE = re.compile(r"[，,]")
_ADJACENT = re.compile(r"[\s公元前约于在]*")
"""What may stand between a Chinese cue and the date that follows it at once ("生于公元前259年")."""
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
    file = resources.files("theworld.answers").joinpath("countries.yaml")
    names: dict[str, str] = {}
    for country, words in yaml.safe_load(file.read_text(encoding="utf-8")).items():
        names.update({fold(word): country for word in (country, *words)})
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
    """Return birth and death from the brackets after a name, "Ada (10 May 1815 – 27 June 1852)", or from clauses."""
    text = simplified(text)
    for bracket in _BRACKET.finditer(text[:LIFESPAN_REACH]):
        inside = bracket.group(1)
        dates = [_moved(date, bracket.start(1)) for date in find_dates(inside)]
        if len(dates) >= 2 and _TO.search(inside) and not _EVENT.search(inside):
            return Lifespan(dates[0], dates[1])
        if dates and _BORN.search(inside):
            return Lifespan(dates[0], _stated(text, _DIED))
        if dates:
            break
    return Lifespan(_stated(text, _BORN), _stated(text, _DIED))


def _stated(text: str, cue: re.Pattern[str]) -> DateSpan | None:
    """Return the date that a cue states: behind it, in Chinese also before it ("1979年6月出生于泉州")."""
    match = cue.search(text)
    if match is None:
        return None
    stop = re.search(r"[.;。；](?=\s|$)", text[match.end() : match.end() + CLAUSE_REACH])
    window = text[match.end() : match.end() + (stop.start() if stop else CLAUSE_REACH)]
    following = next((_moved(date, match.end()) for date in find_dates(window)), None)
    if match.group().isascii() or (following and _ADJACENT.fullmatch(text[match.end() : following.start])):
        return following
    begin = max((one.end() for one in _SENTENCE.finditer(text, 0, match.start())), default=0)
    *earlier, clause = _CLAUSE.split(text[begin : match.start()])
    start = match.start() - len(clause)
    before = [_moved(date, start) for date in find_dates(clause)]
    if not before and earlier:  # "1996年3月19日，他在北京逝世"
        start -= len(earlier[-1]) + 1
        before = [_moved(date, start) for date in find_dates(earlier[-1]) if _is_all_of(date, earlier[-1])]
    return before[-1] if before else following


def _is_all_of(date: DateSpan, clause: str) -> bool:
    """Return whether a clause says nothing but a date."""
    return not clause[: date.start].strip(" 在于") and not clause[date.end :].strip(" 起初底末时")


def _moved(date: DateSpan, offset: int) -> DateSpan:
    return replace(date, start=date.start + offset, end=date.end + offset)
