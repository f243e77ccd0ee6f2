"""BM25 in its plainest form, which any retriever of passages should beat.

Tokens are runs of Latin letters and digits, and pairs of neighbouring Chinese characters; k1 = 1.2, b = 0.75, and the
idf of Lucene, which is never negative. Each term of a question counts once.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

_K1, _B = 1.2, 0.75
_WORD = re.compile("[a-z0-9]+")
_CJK_RUN = re.compile("[\u3000-\u9fff\uf900-\ufaff]+")


def tokens(text: str) -> list[str]:
    """Return the tokens of a text, the Latin ones first."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    pairs = [run[i : i + 2] for run in _CJK_RUN.findall(folded) for i in range(max(len(run) - 1, 1))]
    return _WORD.findall(folded) + pairs


class PassageBM25:
    """An index of passages in memory."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(tokens(text)) for text in texts]
        self._lengths = [count.total() for count in counts]
        self._mean = sum(self._lengths) / max(len(texts), 1) or 1.0
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for place, count in enumerate(counts):
            for term, number in count.items():
                self._postings.setdefault(term, []).append((place, number))

    def rank(self, question: str, depth: int) -> list[int]:
        """Return the places of the best passages; of equal ones, also those that share no term, the first first."""
        scores = [0.0] * len(self._lengths)
        for term in dict.fromkeys(tokens(question)):
            found = self._postings.get(term, ())
            idf = math.log(1 + (len(scores) - len(found) + 0.5) / (len(found) + 0.5))
            for place, number in found:
                norm = _K1 * (1 - _B + _B * self._lengths[place] / self._mean)
                scores[place] += idf * number * (_K1 + 1) / (number + norm)
        return sorted(range(len(scores)), key=lambda place: -scores[place])[:depth]
