"""Which words of a text are those of a question, and how much each says: the rarer among the notes found, the more."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Self

from theworld.text import fold, tokens
from theworld.text.language import CJK_RANGES

_WORD = re.compile(rf"[^\W_{CJK_RANGES}]+(?:['’][^\W_{CJK_RANGES}]+)*|[{CJK_RANGES}]+")
_CJK = re.compile(f"[{CJK_RANGES}]")
AGAIN = 0.1
"""What a word counts that an earlier passage has said: the next one should add what it leaves open."""
MARKED_SHARE = 0.5
"""A word is marked where it says at least this share of what those of the question's words that were found say on
average: pairs of characters across two Chinese words are found nowhere, and would keep the others from being marked."""


class QuestionWords:
    """The index tokens of a question with their weights, which sum to 1."""

    def __init__(self, weights: dict[str, float], found: Collection[str]) -> None:
        self._weights = weights
        told = [weight for token, weight in weights.items() if token in found]
        average = math.fsum(told) / len(told) if told else 0.0
        self._marked = {token for token, weight in weights.items() if weight >= MARKED_SHARE * average}

    @classmethod
    def of(cls, question: str, texts: Sequence[str], left_out: Collection[str] = ()) -> Self:
        """Return the words of a question, weighed by their idf over the texts that were found.

        Function words (index tokens) are `left_out`, unless there are no others: among a few notes "where" is rare too.
        """
        bags = [frozenset(tokens(text)) for text in texts]
        frequency = Counter(token for bag in bags for token in bag)
        n, asked = len(bags), list(dict.fromkeys(tokens(question)))
        idf = {
            token: math.log1p((n - frequency[token] + 0.5) / (frequency[token] + 0.5))
            for token in [one for one in asked if one not in left_out] or asked
        }
        total = math.fsum(idf.values())
        return cls({token: weight / total for token, weight in idf.items()} if total else {}, frequency)

    def covered(self, text: str, shown: str = "") -> float:
        """Return the weighted share, in [0, 1], of the question words a text holds; those shown before count less."""
        held, before = set(tokens(text)), set(tokens(shown))
        return math.fsum(
            weight * (AGAIN if token in before else 1.0) for token, weight in self._weights.items() if token in held
        )

    def marks(self, text: str) -> tuple[tuple[int, int], ...]:
        """Return (start, end) of each run of the question's telling words in a text, ascending and apart."""
        found: list[tuple[int, int]] = []
        for match in _WORD.finditer(text):
            for start, end in self._spans(match.group(), match.start()):
                if found and start <= found[-1][1]:
                    found[-1] = (found[-1][0], max(end, found[-1][1]))
                else:
                    found.append((start, end))
        return tuple(found)

    def _spans(self, word: str, offset: int) -> list[tuple[int, int]]:
        if not _CJK.match(word):
            return [(offset, offset + len(word))] if self._marked.intersection(tokens(word)) else []
        # Index tokens of Chinese are pairs of characters, so that folding keeps their places.
        pairs = [word] if len(word) == 1 else [word[i : i + 2] for i in range(len(word) - 1)]
        return [(offset + i, offset + i + len(pair)) for i, pair in enumerate(pairs) if fold(pair) in self._marked]
