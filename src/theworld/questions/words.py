"""Words of a question and how much each says: the rarer among the notes found, the more.

One weighing for all who compare notes with a question. Its measures differ in what they divide by: `share` looks only
at words that some note has (which note is best?), `covered` also at those that none has (is enough of it said?).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from difflib import get_close_matches

from theworld.text import fold, tokens
from theworld.text.tokens import CJK_RANGES, has_ideographs, token_set

_WORD = re.compile(rf"[^\W_{CJK_RANGES}]+(?:['’][^\W_{CJK_RANGES}]+)*|[{CJK_RANGES}]+")
_LATIN = re.compile(r"[a-z]{4,}")
_UNNAMED = re.compile(r"(?<![\w./-])[a-z]{5,}(?![\w/'’]|[.-]\w)", re.ASCII)
"""Words that may be misspelt: no names, nor parts of what is written as code is."""
ALIKE = 0.83
"""Least likeness, as difflib counts it, of a word and its right spelling: one letter of six other, lost or doubled."""
AGAIN = 0.1
"""What a word counts that an earlier passage has said: the next one should add what it leaves open."""
MARKED_SHARE = 0.5
"""A word is marked where it says at least this share of what those of the question's words that were found say on
average: pairs of characters across two Chinese words are found nowhere, and would keep the others from being marked."""


def idf(found: int, texts: int) -> float:
    """Return how rare a word is that so many of so many texts have: log of 1 + the odds against it, above 0."""
    return math.log1p((texts - found + 0.5) / (found + 0.5))


def respelt(question: str, texts: Sequence[str], common: AbstractSet[str]) -> str | None:
    """Return a question with its Latin words that no text has as the texts spell the word most like each of them.

    Only long words in lower case, which are neither names nor `common`, with the same first letter. None where nothing
    is to be changed.
    """
    unknown = {word for word in _UNNAMED.findall(question) if word not in common and tokens(word)}
    if unknown:  # most questions have none, and the texts are long
        known = frozenset[str]().union(*map(token_set, texts))
        unknown = {word for word in unknown if known.isdisjoint(tokens(word))}
    if not unknown:
        return None
    said = Counter(word for text in texts for word in _LATIN.findall(text.lower()))

    def spelt(match: re.Match[str]) -> str:
        word = match[0]
        if word not in unknown:
            return word
        alike = [one for one in said if one[0] == word[0] and abs(len(one) - len(word)) <= 1]
        return next(iter(get_close_matches(word, sorted(alike, key=lambda one: (-said[one], one)), 1, ALIKE)), word)

    changed = _UNNAMED.sub(spelt, question)
    return changed if changed != question else None


class QuestionWords:
    """Index tokens weighed by their idf over texts.

    Index tokens of Chinese are pairs of characters: those across two words are found nowhere.
    """

    def __init__(
        self, words: Sequence[str], texts: Sequence[str], otherwise: Mapping[str, AbstractSet[str]] | None = None
    ) -> None:
        """`otherwise`: other tokens that a text may hold in a word's place."""
        self._otherwise = otherwise or {}
        bags = [self._held(token_set(text)) for text in texts]
        self._found = Counter(word for bag in bags for word in words if word in bag)
        self._weights = {word: idf(self._found[word], len(bags)) for word in words}
        self._total = math.fsum(self._weights.values()) or 1.0
        found = math.fsum(self._weights[word] for word in self._found)
        self._total_found, average = found or 1.0, found / max(1, len(self._found))
        self._marked = {word for word, weight in self._weights.items() if weight >= MARKED_SHARE * average}

    def over(self, texts: Sequence[str]) -> QuestionWords:
        """Return the same words, weighed by how rare they are among other texts."""
        return QuestionWords(tuple(self._weights), texts, self._otherwise)

    def _held(self, bag: AbstractSet[str]) -> AbstractSet[str]:
        return bag | {word for word, others in self._otherwise.items() if not others.isdisjoint(bag)}

    def share(self, held: AbstractSet[str]) -> float:
        """Return the weighted share, in [0, 1], of the words that any text has that are among index tokens."""
        return math.fsum(self._weights[word] for word in self._found if word in held) / self._total_found

    def covered(self, text: str, shown: str = "") -> float:
        """Return the weighted share, in [0, 1], of the words a text holds; those shown before count less."""
        held, before = self._held(set(tokens(text))), token_set(shown)  # many pieces are asked beside the same passages
        said = ((word, weight) for word, weight in self._weights.items() if word in held)
        return math.fsum(weight * (AGAIN if word in before else 1.0) for word, weight in said) / self._total

    def marks(self, text: str) -> tuple[tuple[int, int], ...]:
        """Return (start, end) of each run of the question's telling words in a text, ascending and apart."""
        found: list[tuple[int, int]] = []
        for match in _WORD.finditer(text):
            word, offset = match.group(), match.start()
            if has_ideographs(word):  # index tokens of Chinese are pairs of characters, so that folding keeps places
                pairs = [word] if len(word) == 1 else [word[i : i + 2] for i in range(len(word) - 1)]
                marked = [(i, i + len(pair)) for i, pair in enumerate(pairs) if fold(pair) in self._marked]
            else:
                marked = [(0, len(word))] if self._marked.intersection(tokens(word)) else []
            for start, end in ((offset + first, offset + last) for first, last in marked):
                if found and start <= found[-1][1]:
                    found[-1] = (found[-1][0], max(end, found[-1][1]))
                else:
                    found.append((start, end))
        return tuple(found)
