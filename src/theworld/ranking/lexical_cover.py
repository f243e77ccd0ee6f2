"""The same objective without vectors: which of the query's index tokens a note holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from theworld.questions import Question
from theworld.questions.words import idf
from theworld.ranking.greedy_cover import Floats
from theworld.text import entity_key, without_qualifier
from theworld.text.tokens import token_set


@dataclass(frozen=True, slots=True)
class LexicalCover:
    """Query tokens against notes."""

    similarity: Floats
    """(n, m): 1 where the note holds the token, else 0."""
    idf: Floats
    """(m,) idf of the tokens over the notes given."""
    pooled: Floats
    """(n,) idf-weighted share of the query's tokens the note holds."""


def lexical_cover(question: Question, texts: Sequence[str]) -> LexicalCover:
    """Return which of a question's content words each text holds, with idf counted over these texts."""
    bags = [token_set(text) for text in texts]
    similarity = np.array([[float(word in bag) for word in question.content] for bag in bags], dtype=np.float32)
    similarity = similarity.reshape(len(texts), len(question.content))
    rare = [idf(int(found), len(texts)) for found in similarity.sum(axis=0)]
    weights = np.array(rare, dtype=np.float32)
    return LexicalCover(similarity, weights, similarity @ weights / max(float(weights.sum()), 1e-9))


@lru_cache(maxsize=50_000)
def _names_of(title: str) -> tuple[str, ...]:
    keys = {entity_key(title), entity_key(without_qualifier(title))}
    return tuple(sorted(key for key in keys if len(key) > 1))


def names_title(question: Question, title: str) -> bool:
    """Return True when a question names the title, with or without its bracketed qualifier, as whole words."""
    return any(map(question.names, _names_of(title)))
