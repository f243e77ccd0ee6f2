"""The topic named with a reference, and which turns are about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

import numpy as np

from theworld.nodes.resolve_references.tables import load_table
from theworld.nodes.resolve_references.turns import text_of
from theworld.state import Message
from theworld.text import tokens
from theworld.text.folding import fold_in_place
from theworld.text.language import CJK_RANGES

Vectors = Callable[[Sequence[str]], "np.ndarray[tuple[int, int], np.dtype[np.float32]]"]
"""Texts to unit vectors, shape (texts, dimension): what the optional embedder must offer."""

CLEAR_OVERLAP = 0.3
"""Share of a topic's tokens that a turn must hold to count as being about it."""
LONGEST_TEXT = 20_000
"""Characters of a message that are compared with a topic."""
NEAR_BEST = 0.7
"""Share of the best turn's score that another must reach to be about the topic as well."""
_IDEOGRAPH = re.compile(f"[{CJK_RANGES}]")
CLEAR_COSINE = 0.6
"""Cosine from which a turn counts as being about the topic, if an embedder is given."""


@cache
def _generic_chinese() -> re.Pattern[str]:
    words = sorted(load_table("topics")["cn"], key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)))


@cache
def _generic_english() -> frozenset[str]:
    return frozenset(token for word in load_table("topics")["en"] for token in tokens(str(word)))


def topic_tokens(phrase: str) -> frozenset[str]:
    """Return the index tokens of a phrase that name a topic; empty where none does."""
    stripped = _generic_chinese().sub(" ", fold_in_place(phrase))
    return frozenset(token for token in tokens(stripped) if token not in _generic_english())


def overlap(wanted: frozenset[str], text: str) -> float:
    """Return the share of the wanted tokens that the text holds, 0.0 where nothing is wanted."""
    if not wanted:
        return 0.0
    held = wanted & _tokens_of(text)
    single = [token for token in wanted - held if _IDEOGRAPH.fullmatch(token) and token in fold_in_place(text)]
    return (len(held) + len(single)) / len(wanted)


@lru_cache(maxsize=4096)
def _tokens_of(text: str) -> frozenset[str]:
    return frozenset(tokens(fold_in_place(text[:LONGEST_TEXT])))


def topic_of_text(text: str, longest: int = 40) -> str:
    """Return what a text is about in its own words: its longest run of words that name a topic, or its start."""
    pieces = re.split(r"[\s，。！？；：、,.!?;:\"'（）()「」《》]+", text)
    runs: list[str] = []
    run: list[str] = []
    for piece in [*pieces, ""]:
        named = [part for part in _generic_chinese().split(fold_in_place(piece)) if topic_tokens(part)]
        if not piece or not named:
            runs.append(" ".join(run))
            run = []
        elif piece.isascii():
            run.append(piece)
        else:
            runs.append(" ".join(run))
            run = []
            runs.append(max(named, key=len))
    best = max(runs, key=len, default="")
    return (best or text.strip())[:longest]


class TopicRanking:
    """Scores turns by the topic named in a query: shared tokens, and vectors where an embedder is given."""

    def __init__(self, topic: str, vectors: Vectors | None = None) -> None:
        self.tokens = topic_tokens(topic)
        self._topic, self._vectors = topic, vectors

    def about(self, history: Sequence[Message], indexes: Sequence[int]) -> list[int]:
        """Return those of the messages that are about the topic, best first; empty where none clearly is."""
        if not self.tokens:
            return []
        scores = [overlap(self.tokens, text_of(history[i])) + self._label(history[i]) for i in indexes]
        least = max(CLEAR_OVERLAP, NEAR_BEST * max(scores, default=0.0))
        clear = [i for i, score in zip(indexes, scores, strict=True) if score >= least]
        if clear or self._vectors is None or not indexes:
            ranked = dict(zip(indexes, scores, strict=True))
            return sorted(clear, key=lambda i: (-ranked[i], -i))
        return self._by_vector(history, indexes, self._vectors)

    def _label(self, message: Message) -> float:
        return overlap(self.tokens, message.topic) if message.topic else 0.0

    def _by_vector(self, history: Sequence[Message], indexes: Sequence[int], vectors: Vectors) -> list[int]:
        matrix = np.asarray(vectors([self._topic, *(text_of(history[i]) for i in indexes)]), dtype=np.float32)
        cosines = matrix[1:] @ matrix[0]
        order = np.argsort(-cosines, kind="stable")
        return [indexes[int(k)] for k in order if cosines[int(k)] >= CLEAR_COSINE]
