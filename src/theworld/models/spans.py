"""Spans for every tagger: dates, quantities and numbers by rule (`data/mentions.yaml`), made into clean mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from typing import NamedTuple

from theworld.packages import load_table
from theworld.state import Mention, MentionType
from theworld.text import entity_key

TITLE, NAME, FACT, GUESS = range(4)
"""Who wins where spans overlap: marked titles, names found by a model, dates and numbers, guesses by shape."""

_EDGE = " \t\r\n\u3000\"'“”‘’«»《》〈〉「」『』,，.。;；:：!！?？、-–—·*_/\\|~…"
_PAIRS = {")": "(", "]": "[", "）": "（", "】": "【", "}": "{"}
_OPENING = {opening: closing for closing, opening in _PAIRS.items()}
_AMOUNTS = frozenset({"quantity", "number"})
_ARTICLE = re.compile(r"(?:the|an?)\s+")
_ANY_ARTICLE = re.compile(r"(?:[Tt]he|THE|[Aa]n?)\s+")
_POSSESSIVE = re.compile(r"['’][sS]?\Z")
_DOTTED = re.compile(r"(?:\b\w\.)+$|\b(?:Inc|Ltd|Jr|Sr|Co|Corp|Bros|St)\.$")


class Span(NamedTuple):
    """A stretch of text with a type, before cleaning."""

    start: int
    end: int
    type: MentionType
    rank: int = NAME


def mentions_of(text: str, spans: Iterable[Span]) -> list[Mention]:
    """Return the mentions in order, cleaned; of overlapping ones the better rank stays, then the longer."""
    cleaned = [span for span in (clean(text, span) for span in spans) if span is not None]
    chosen: list[Span] = []
    taken = bytearray(len(text))
    for span in sorted(cleaned, key=lambda s: (s.rank, s.start - s.end, s.start)):
        if not any(taken[span.start : span.end]):
            taken[span.start : span.end] = b"\1" * (span.end - span.start)
            chosen.append(span)
    found = []
    for start, end, kind, _ in sorted(chosen):
        if key := entity_key(surface := text[start:end]):
            found.append(Mention(surface=surface, type=kind, start=start, end=end, key=key))
    return found


def clean(text: str, span: Span) -> Span | None:
    """Shrink a span: edge punctuation, articles, possessives and unpaired brackets go, and `about` before a number.

    None when nothing is left, or neither letter nor digit of an amount (`###` before a heading).
    A capitalised article stays in a title (`The Godfather`), where it may be part of the name.
    """
    start, end = span.start, span.end
    while True:
        before = (start, end)
        start, end = _trim_edges(text, start, end)
        if span.type in _AMOUNTS:
            start = number_start(text, start, end)
        article = (_ARTICLE if span.type == "work" else _ANY_ARTICLE).match(text, start, end)
        start = article.end() if article else start
        possessive = _POSSESSIVE.search(text, start, end)
        end = possessive.start() if possessive else end
        if (start, end) == before:
            amount = span.type not in _AMOUNTS or any(c.isalnum() for c in text[start:end])
            return span._replace(start=start, end=end) if start < end and amount else None


def _trim_edges(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end:
        first = text[start]
        if first not in _EDGE and first not in _PAIRS and _OPENING.get(first, first) in text[start:end]:
            break
        start += 1
    while start < end and not (text[end - 1] == "." and _DOTTED.search(text, start, end)):
        last = text[end - 1]
        if last not in _EDGE and last not in _OPENING and _PAIRS.get(last, last) in text[start:end]:
            break
        end -= 1
    if start < end and text.find(_OPENING.get(text[start], "\0"), start, end) == end - 1:
        return start + 1, end - 1
    return start, end


word_lists = partial(load_table, "theworld.models", "data/mentions.yaml")
"""Lists of words by name; read when first called."""


def either(words: Iterable[str]) -> str:
    """Return a pattern that matches any of the words, longer ones first."""
    return "|".join(re.escape(word) for word in sorted(set(words), key=lambda word: (-len(word), word)))


def number_start(text: str, start: int, end: int) -> int:
    """Return where the number begins in an expression such as `about 12 km` or `超過4年`."""
    match = _patterns().approximations.match(text, start, end)
    return match.end() if match and match.end() < end else start


_DIGIT = "0-9０-９"
_ZH_NUMERAL = "〇零一二三四五六七八九十百千廿卅两兩"
_ZH_YEAR = "〇零一二三四五六七八九"
_ZH_SCALE = "十百千万萬亿億兆"
_NUMBER = rf"[{_DIGIT}]+(?:[,，][{_DIGIT}]{{3}})*(?:[.．][{_DIGIT}]+)?"
_COMPOUND = rf"(?:{_NUMBER}\s?[{_ZH_SCALE}]+)+(?:{_NUMBER})?"
# A year, a clock time, an ordinal day: digits that are a date by themselves, unlike the 12 of `NY 12`.
_DATE_DIGITS = re.compile(
    rf"(?<![{_DIGIT},.])[{_DIGIT}]{{3,4}}(?![{_DIGIT}])|[{_DIGIT}]+(?:[年月日号號時时:/]|st\b|nd\b|rd\b|th\b)"
)


def facts_of(text: str) -> Iterator[Span]:
    """Yield the dates, quantities and numbers of a text; spans of one kind do not overlap."""
    for kind, pattern in _patterns().facts:
        for match in pattern.finditer(text):
            yield Span(match.start(), match.end(), kind, FACT)


def type_of_time(surface: str) -> MentionType | None:
    """Return `date` for a calendar expression, `quantity` for a duration, None for `後來`, `recently` and the like."""
    bare = surface[number_start(surface, 0, len(surface)) :].strip()
    found = _patterns()
    if found.durations.fullmatch(bare):
        return "quantity"
    return "date" if _DATE_DIGITS.search(bare) or found.calendar.search(bare) else None


class _Patterns(NamedTuple):
    """What is found with the word lists."""

    approximations: re.Pattern[str]
    calendar: re.Pattern[str]
    durations: re.Pattern[str]
    facts: tuple[tuple[MentionType, re.Pattern[str]], ...]


@lru_cache(maxsize=1)
def _patterns() -> _Patterns:
    lists = word_lists()
    about, calendar, durations, units = (
        {language: either(words) for language, words in lists[name].items()}
        for name in ("approximations", "calendar", "durations", "units")
    )
    english = rf"(?:[\w,.-]+\s+){{0,4}}?[\w,.-]+[\s-]+(?:{durations['en']})s?(?:[\s-]olds?)?"
    amount = rf"(?:[{_DIGIT}]{{1,2}}|[{_ZH_NUMERAL}数數几幾半]+)"
    chinese = rf"{amount}[多余餘来來]?(?:{durations['zh']})(?:多|半)?"
    not_calendar = rf"(?!.*\b(?:the|{either(lists['months'])})\b)(?!.*\d(?:st|nd|rd|th)\b)(?![{_DIGIT}]+[月日])"
    not_chinese_date = rf"(?![{_ZH_NUMERAL}]+[月日]|[{_ZH_YEAR}]{{4}}年)"
    months = either(form for word in lists["months"] for form in (word.title(), word.upper()))
    month = rf"(?-i:{months})\b\.?"  # case counts: `5 may be` is no date
    day, year = r"\d{1,2}(?:st|nd|rd|th)?", r"(?:1\d{3}|20\d{2})"
    english_dates = (
        rf"\b{day}\s+(?:of\s+)?{month}(?:,?\s+{year})?\b",
        rf"\b{month}\s+{day}(?:\s?(?:and|to|–|-)\s?{day})?\b(?:,?\s+{year}\b)?",
        rf"\b{month},?\s+{year}\b",
        r"\b\d{4}-\d{2}-\d{2}\b",
        r"\b\d{1,2}:\d{2}\b(?:\s?[ap]\.?m\b\.?)?|\b\d{1,2}\s?[ap]\.?m\b\.?",
        r"\b\d{1,2}(?:st|nd|rd|th)[\s-]century(?:\s(?-i:BCE?|AD)\b)?",
        r"\b\d{1,4}\s(?-i:BCE?|AD|CE)\b",
        rf"(?<![\w.,$€£¥#-]){year}(?:s\b|[–-](?:{year}|\d{{2}})\b)?(?![\w,.]*\d)(?!\w)",
    )
    scale = r"(?:\s(?:thousand|million|billion|trillion))?"
    several = rf"[{_ZH_NUMERAL}數数][{_ZH_NUMERAL}{_ZH_SCALE}]+"
    numeral = rf"(?<![{_DIGIT}{_ZH_NUMERAL}])(?:{_COMPOUND}[多余餘]?|{_NUMBER}[多余餘]?|{several}[多余餘]?)"
    distance = r"(?:\s(?:kilomet(?:re|er)s?|miles?|met(?:re|er)s?|feet)\b)?"
    quantities = (
        rf"(?<!\w)(?:US|HK|NT|A|C)?[$€£¥]\s?{_NUMBER}{scale}",
        rf"(?<![\w.]){_NUMBER}\s?[%％]",
        rf"(?<![\w.]){_NUMBER}{scale}[\s-]?(?:{units['en']})\b{distance}",
        rf"{numeral}\s?(?:{units['zh']})",
    )
    facts: tuple[tuple[MentionType, str], ...] = (
        ("date", "|".join(english_dates)),
        ("date", _CHINESE_DATES),
        ("quantity", "|".join(quantities)),
        ("number", rf"(?<![\w.]){_NUMBER}(?:\s(?:thousand|million|billion|trillion)\b|[{_ZH_SCALE}]+)?(?![\w])"),
    )
    return _Patterns(
        re.compile(rf"(?:(?:{about['en']})\s+|(?:{about['zh']})\s*)+", re.IGNORECASE),
        re.compile(rf"\b(?:{calendar['en']})\b|{calendar['zh']}|[{_ZH_NUMERAL}]+[年月日号號]", re.IGNORECASE),
        re.compile(rf"{not_calendar}(?:{english}|{not_chinese_date}(?:{chinese}))", re.IGNORECASE),
        tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in facts),
    )


_ERA = "(?:公元前|西元前|公元|西元|民国|民國|前)?"
_ZH_DAY = rf"(?:[{_DIGIT}]{{1,2}}|[{_ZH_NUMERAL}]{{1,3}})"
_MONTH_DAY = rf"{_ZH_DAY}月(?:{_ZH_DAY}[日号號])?"
_CHINESE_DATES = "|".join(
    (
        rf"(?<![{_DIGIT}]){_COMPOUND}年前",
        rf"{_ERA}(?:[{_DIGIT}]{{3,4}}|[{_ZH_YEAR}]{{4}})\s?年(?!代)(?:\s?{_MONTH_DAY})?",
        rf"(?:公元前|西元前|公元|西元|民国|民國)\s?(?:{_NUMBER}|[{_ZH_NUMERAL}]{{1,4}})年(?:{_MONTH_DAY})?",
        rf"{_ZH_DAY}月{_ZH_DAY}[日号號]",
        rf"{_ERA}{_ZH_DAY}世[纪紀](?:[{_DIGIT}{_ZH_NUMERAL}]{{2,4}}年代)?",
        rf"(?:[{_DIGIT}]{{2}}|[{_DIGIT}]{{4}}|[{_ZH_NUMERAL}]{{2,4}})年代",
    )
)
