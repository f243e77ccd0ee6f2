"""Words of a question and how much each says: the rarer among the notes found, the more. And its parts: what it asks
one after the other ("who wrote it and when was it published?").

One weighing for all who compare notes with a question. Its measures differ in what they divide by: `share` looks only
at words that some note has (which note is best?), `covered` also at those that none has (is enough of it said?).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, pairwise

from theworld.text import cjk_share, fold, tokens
from theworld.text.folding import simplified
from theworld.text.language import CJK_RANGES, has_ideographs
from theworld.text.tokens import function_words, token_set

_WORD = re.compile(rf"[^\W_{CJK_RANGES}]+(?:['’][^\W_{CJK_RANGES}]+)*|[{CJK_RANGES}]+")
AGAIN = 0.1
"""What a word counts that an earlier passage has said: the next one should add what it leaves open."""
MARKED_SHARE = 0.5
"""A word is marked where it says at least this share of what those of the question's words that were found say on
average: pairs of characters across two Chinese words are found nowhere, and would keep the others from being marked."""


def content_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the index tokens that are no function words, all where there are no others."""
    return tuple(word for word in words if word not in function_words()) or tuple(words)


def idf(found: int, texts: int) -> float:
    """Return how rare a word is that so many of so many texts have: log of 1 + the odds against it, above 0."""
    return math.log1p((texts - found + 0.5) / (found + 0.5))


class QuestionWords:
    """Index tokens weighed by their idf over texts.

    Index tokens of Chinese are pairs of characters: those across two words are found nowhere.
    """

    def __init__(self, words: Sequence[str], texts: Sequence[str]) -> None:
        bags = [token_set(text) for text in texts]
        self._found = Counter(word for bag in bags for word in words if word in bag)
        self._weights = {word: idf(self._found[word], len(bags)) for word in words}
        self._total = math.fsum(self._weights.values()) or 1.0
        found = math.fsum(self._weights[word] for word in self._found)
        self._total_found, average = found or 1.0, found / max(1, len(self._found))
        self._marked = {word for word, weight in self._weights.items() if weight >= MARKED_SHARE * average}

    def share(self, held: AbstractSet[str]) -> float:
        """Return the weighted share, in [0, 1], of the words that any text has that are among index tokens."""
        return math.fsum(self._weights[word] for word in self._found if word in held) / self._total_found

    def covered(self, text: str, shown: str = "") -> float:
        """Return the weighted share, in [0, 1], of the words a text holds; those shown before count less."""
        held, before = set(tokens(text)), set(tokens(shown))
        said = ((word, weight) for word, weight in self._weights.items() if word in held)
        return math.fsum(weight * (AGAIN if word in before else 1.0) for word, weight in said) / self._total

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
        if not has_ideographs(word):
            return [(offset, offset + len(word))] if self._marked.intersection(tokens(word)) else []
        # Index tokens of Chinese are pairs of characters, so that folding keeps their places.
        pairs = [word] if len(word) == 1 else [word[i : i + 2] for i in range(len(word) - 1)]
        return [(offset + i, offset + i + len(pair)) for i, pair in enumerate(pairs) if fold(pair) in self._marked]


MOST_PARTS = 4
_AROUND = " ，,。.？?；;"
_SHORTEST_ZH, _SHORTEST_EN = 4, 3
"""Characters or words that a part must have."""
_ASKS_ZH = r"谁|[哪什几]|多少|如何|怎么|怎样|为何|是否|何时|何处|多大|多久|多长|(?P<verb>[能会要可是有])[不没](?P=verb)"
_AUXILIARY = "is|are|was|were|do|does|did|can|could|may|might|will|would|should|shall|must|has|have|had"
_ASKS = re.compile(
    rf"(?i){_ASKS_ZH}|[吗呢]|总额|合计|平均|趋势|变化|波动|关系"
    rf"|\b(?:who|whom|whose|what|which|how|why|total|average)\b|\b(?:when|where)\s+(?:{_AUXILIARY})\b"
    rf"|^(?:where|{_AUXILIARY}|list|show|explain|describe)\b"
)
"""When and where otherwise only name a time and a place: "When I open it, what is shown?"."""
_BETWEEN = re.compile(
    r"[？?；;。]\s*|(?<=\w\w)\.\s+|[，,]\s*(?=(?:以及|并且|并|同时|另外|还有|而|且|then\b|and\b|also\b))"
    rf"|[，,]\s*(?=[^，,？?。]*?(?:{_ASKS_ZH}))"
    r"|[，,]\s*(?:and\s+)?(?=(?:who|whom|what|which|where|when|why|how)\b)|(?<!\s)\s+and\s+(?=(?:who|whom|what|which|where|when|why|how)\b)",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\([^()]*\)|（[^（）]*）")
_LEADING = re.compile(r"(?i)^(?:以及|并且|并|同时|另外|还有|而且|而|且|and|also|then)[，,]?\s*")


def split_parts(question: str) -> list[str]:
    """Return the parts of a question in order, [] when it is one: each asks something, with what is said before it."""
    # What stands in brackets, as the context of a follow-up does, is one with what it stands behind.
    whole = _BRACKETS.sub(lambda inside: "_" * len(inside[0]), simplified(question))
    between = [match.span() for match in _BETWEEN.finditer(whole)]
    places = pairwise((0, *(place for span in between for place in span), len(question)))
    parts: list[tuple[int, int]] = []
    begin = 0
    for start, end in islice(places, 0, None, 2):
        piece = _without_lead(question[start:end].strip(_AROUND))
        long = len(piece) >= _SHORTEST_ZH if cjk_share(piece) > 0.3 else len(piece.split()) >= _SHORTEST_EN
        if long and _ASKS.search(simplified(piece)):
            parts.append((begin, end))
            begin = end
    if not 1 < len(parts) <= MOST_PARTS:
        return []
    parts[-1] = (parts[-1][0], len(question))  # what is said last may be about it
    return [_without_lead(question[start:end].strip(_AROUND)) for start, end in parts]


def _without_lead(piece: str) -> str:
    lead = _LEADING.match(simplified(piece))
    return piece[lead.end() if lead else 0 :].strip()
