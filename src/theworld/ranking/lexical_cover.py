"""The same objective without vectors: which of the query's index tokens a note holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from theworld.ranking.greedy_cover import Floats
from theworld.text import entity_key, fold, tokens, without_qualifier
from theworld.text.phrases import is_cjk


@dataclass(frozen=True, slots=True)
class LexicalCover:
    """Query tokens against notes."""

    similarity: Floats
    """(n, m): 1 where the note holds the token, else 0."""
    idf: Floats
    """(m,) idf of the tokens over the notes given."""
    pooled: Floats
    """(n,) idf-weighted share of the query's tokens the note holds."""


def lexical_cover(query: str, texts: Sequence[str]) -> LexicalCover:
    """Return which distinct query tokens each text holds, with idf counted over these texts."""
    units = list(dict.fromkeys(tokens(query)))
    bags = [frozenset(tokens(text)) for text in texts]
    frequency = Counter(unit for bag in bags for unit in units if unit in bag)
    n = len(texts)
    idf = np.array([np.log1p((n - frequency[u] + 0.5) / (frequency[u] + 0.5)) for u in units], dtype=np.float32)
    similarity = np.array([[float(u in bag) for u in units] for bag in bags], dtype=np.float32).reshape(n, len(units))
    return LexicalCover(similarity, idf, similarity @ idf / max(float(idf.sum()), 1e-9))


_folded = lru_cache(maxsize=64)(fold)


@lru_cache(maxsize=50_000)
def _names_of(title: str) -> tuple[str, ...]:
    keys = {entity_key(title), entity_key(without_qualifier(title))}
    return tuple(sorted(key for key in keys if len(key) > 1))


def names_title(query: str, title: str) -> bool:
    """Return True when the query names the title, with or without its bracketed qualifier, as whole words."""
    folded = _folded(query)
    return any(_stands_in(folded, name) for name in _names_of(title))


def _stands_in(text: str, name: str) -> bool:
    """Return True when a name stands in a text; one in Latin letters not as a part of a longer word."""
    start = text.find(name)
    while start >= 0:
        around = text[start - 1 : start] + text[start + len(name) : start + len(name) + 1]
        if not name.isascii() or not any(character.isalnum() and not is_cjk(character) for character in around):
            return True
        start = text.find(name, start + 1)
    return False
