"""Known phrases in a text, with their places, by words as stems and CJK character by character; where words end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Generic, NamedTuple, TypeVar

from theworld.packages import load_table
from theworld.text.sentences import apart
from theworld.text.tokens import CJK_RANGES, fold, has_ideographs, stem

T = TypeVar("T")

_PIECES = re.compile(rf"[{CJK_RANGES}]|[^\W_{CJK_RANGES}]+(?:['’][^\W_{CJK_RANGES}]+)*")
_LETTER = re.compile(r"[^\W_]")
_ACRONYM_LETTERS = 3
_BREAK = re.compile(rf"\s+|(?<=[{CJK_RANGES}，、：])")


class Unit(NamedTuple):
    """A word's stem or one CJK character, and where it stands."""

    value: str
    start: int
    end: int


class Found(NamedTuple, Generic[T]):
    """A phrase in a text: text[start:end]."""

    start: int
    end: int
    payloads: tuple[T, ...]


def units(text: str) -> list[Unit]:
    """Return the units of a text in order; offsets are those of the text as it is."""
    found = []
    for match in _PIECES.finditer(text):
        piece = match.group()
        # Short names in capitals are names, not words: the grade A is not the article a.
        if not (piece.isascii() and piece.isupper() and piece.isalpha() and len(piece) <= _ACRONYM_LETTERS):
            piece = stem(fold(piece).replace("’", "'").removesuffix("'s"))
        found.append(Unit(piece, *match.span()))
    return found


class PhraseTable(Generic[T]):
    """Phrases with what they stand for; several may share one phrase."""

    def __init__(self, phrases: Iterable[tuple[str, T]]) -> None:
        self._payloads: dict[tuple[str, ...], list[T]] = {}
        for phrase, payload in phrases:
            key = tuple(unit.value for unit in units(phrase))
            if key and payload not in self._payloads.setdefault(key, []):
                self._payloads[key].append(payload)
        # Every beginning of a phrase, so that a look stops as soon as nothing can follow.
        self._beginnings = {key[:n] for key in self._payloads for n in range(1, len(key) + 1)}
        self._longest = max(map(len, self._payloads), default=0)

    def __len__(self) -> int:
        return len(self._payloads)

    def find(self, text: str | Sequence[Unit]) -> list[Found[T]]:
        """Return all phrases in a text, also those inside longer ones, by place and the longer first.

        A phrase of one CJK character counts only where no other stands beside it.
        """
        pieces = units(text) if isinstance(text, str) else text
        values = [piece.value for piece in pieces]
        found: list[Found[T]] = []
        for i in range(len(pieces)):
            here: list[Found[T]] = []
            for j in range(i + 1, min(i + self._longest, len(pieces)) + 1):
                key = tuple(values[i:j])
                if key not in self._beginnings:
                    break
                payloads = self._payloads.get(key)
                if payloads and not (j == i + 1 and _in_a_word(pieces, i)):
                    here.append(Found(pieces[i].start, pieces[j - 1].end, tuple(payloads)))
            found.extend(reversed(here))
        return found


def _in_a_word(pieces: Sequence[Unit], i: int) -> bool:
    own, around = pieces[i], pieces[max(0, i - 1) : i + 2]
    beside = (one for one in around if one.end == own.start or one.start == own.end)
    return has_ideographs(own.value) and any(has_ideographs(one.value) for one in beside)


def longest(found: Sequence[Found[T]]) -> list[Found[T]]:
    """Return phrases that do not overlap, in order of place: the longest win, of equally long ones the leftmost."""
    ordered = sorted(found, key=lambda f: (f.start - f.end, f.start))
    return sorted(apart(ordered, lambda f: (f.start, f.end)), key=lambda f: f.start)


@cache
def word_patterns(package: str, name: str) -> dict[str, re.Pattern[str]]:
    """Return one pattern per section of a table in a package: "en" matches whole words, "zh" anywhere."""
    letter, patterns = rf"[^\W_{CJK_RANGES}]", {}
    for kind, words in load_table(package, name).items():
        latin = [rf"(?<!{letter})(?:{word})(?!{letter})" for word in words["en"]]
        cjk = [f"(?:{word})" for word in words["zh"]]
        patterns[kind] = re.compile("|".join(sorted(latin + cjk, key=len, reverse=True)))
    return patterns


def is_small_talk(folded: str) -> bool:
    """Return whether a folded text is small talk throughout: any other letter or digit makes it a question."""
    words = word_patterns("theworld.text", "small_talk.yaml")
    rest, found = words["small_talk"].subn(" ", folded)
    return found > 0 and not _LETTER.search(words["beside_small_talk"].sub(" ", rest))


def last_break(text: str, start: int, end: int) -> int:
    """Return the last place from start to end where a text can be cut: white space, or behind a Chinese character.

    Without any it is the end: then a word is cut.
    """
    return max((gap.start() for gap in _BREAK.finditer(text, start, end)), default=end)
