"""Mentions without a model: names by their shape, titles by their marks, dates and numbers by rule."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from theworld.models.spans import GUESS, TITLE, Span, facts_of, mentions_of, word_lists
from theworld.state import Mention
from theworld.text import split_sentences

_TITLE_MARKS = re.compile(r"《([^《》\n]{1,60})》|〈([^〈〉\n]{1,60})〉")
_QUOTED = re.compile(r"「([^「」\n]{2,20})」|『([^『』\n]{2,20})』|“([^“”\n]{2,40})”")
_SHORT_FORM = re.compile(r"['’].*$")
_ADVERBIAL = ("ing", "ed", "ly")
"""Endings of words that open a sentence without being a name: `According to`, `Located in`, `Originally`."""
_SENTENCE_MARK = re.compile(r"[，。！？；,;!?]|\.\s")


class PatternTagger:
    """Capitalised spans, book-title marks, short quotations, dates, quantities and numbers, in both languages."""

    name = "pattern-1"

    def tag(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return the mentions of each text, ascending and not overlapping."""
        return [
            mentions_of(text, [*titles_of(text), *facts_of(text), *_quotations(text), *capitalised_of(text)])
            for text in texts
        ]


def titles_of(text: str) -> Iterator[Span]:
    """Yield what stands in book-title marks."""
    for match in _TITLE_MARKS.finditer(text):
        start, end = match.span(match.lastindex or 0)
        yield Span(start, end, "work", TITLE)


def capitalised_of(text: str) -> Iterator[Span]:
    """Yield runs of capitalised Latin words; a lone function word at the head of a sentence is no name."""
    heads = {sentence.start for sentence in split_sentences(text)}
    for match in _capitalised().finditer(text):
        start, end = match.span()
        first, _, rest = match.group().partition(" ")
        if not rest and _is_ordinary(first, head=start in heads):
            continue
        if rest and start in heads and _is_ordinary(first, head=False):
            start += len(first) + 1
        yield Span(start, end, "other", GUESS)


def _is_ordinary(word: str, *, head: bool) -> bool:
    lower = _SHORT_FORM.sub("", word.casefold())
    return lower in _function_words() or (head and lower.endswith(_ADVERBIAL))


@lru_cache(maxsize=1)
def _function_words() -> frozenset[str]:
    return frozenset(word_lists()["function_words"])


def _quotations(text: str) -> Iterator[Span]:
    for match in _QUOTED.finditer(text):
        start, end = match.span(match.lastindex or 0)
        if not _SENTENCE_MARK.search(text, start, end):
            yield Span(start, end, "other", GUESS)


@lru_cache(maxsize=1)
def _capitalised() -> re.Pattern[str]:
    joiners = "|".join(re.escape(word) for word in word_lists()["name_joiners"])
    upper, letter = "A-ZÀ-ÖØ-ÞĀ-Ž", "A-Za-zÀ-ÖØ-öø-ÿĀ-žʻ"
    inner = rf"(?:[{letter}0-9]|[.&-](?=[{letter}0-9])|['’](?!s\b)(?=[{letter}]))"
    word = rf"(?:(?:St|Mt|Dr|Mr|Mrs|Ms|Prof|Ft)\.|[{upper}]\.(?:\s?[{upper}]\.)*|[a-z]?[{upper}]{inner}*)"
    return re.compile(rf"(?<![{letter}0-9]){word}(?:[ ](?:(?:{joiners})[ ]){{0,2}}(?:{word}|\d+\b))*")
