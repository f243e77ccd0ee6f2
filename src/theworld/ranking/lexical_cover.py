"""The same objective without vectors: which of the query's index tokens a note holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from theworld.ranking.greedy_cover import Floats
from theworld.text import entity_key, fold, place_of, tokens, without_qualifier


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
    return any(place_of(name, folded) >= 0 for name in _names_of(title))
