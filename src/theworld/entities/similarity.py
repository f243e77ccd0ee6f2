"""How near an entry's description is to the text around a mention, by the embedder."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theworld.entities.mention import MentionInText
from theworld.models.onnx_encoder import unit
from theworld.models.protocols import Embedded, Embedder, FloatArray, TokenVectors

WINDOW = 28
"""Characters on each side of the mention that are embedded."""
KEPT = 4096
"""Texts whose vectors are remembered: descriptions come back with every question about the same entries."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """Cosines of one candidate's label and description, in [-1, 1]."""

    text: float = 0.0
    """With the text around the mention."""
    mention: float = 0.0
    """With the mention's own token vectors in that text."""
    wording: float = 0.0
    """Of each token of the description with the nearest one of that text, the mention's left out; their mean."""


class ContextSimilarity:
    """Cosines between descriptions and texts; remembers vectors; safe to share between threads."""

    def __init__(self, embedder: Embedder, kept: int = KEPT) -> None:
        self._embedder, self._kept = embedder, kept
        self._lock = threading.Lock()
        self._kept_texts: OrderedDict[str, Embedded] = OrderedDict()

    def of(self, mention: MentionInText, candidates: Sequence[Mapping[str, Any]]) -> list[Similarity]:
        """Return how near every candidate's label and description is to the mention's surroundings, in order.

        Raises ModelError when the embedder cannot be used.
        """
        begin = max(0, mention.start - WINDOW)
        end = max(0, mention.start) + len(mention.label) + WINDOW
        text = mention.context[begin:end]
        here = self._embedded(text)
        own = self._own_vector(mention, here, max(0, mention.start - begin) / max(1, len(text)))
        left_out = self._embedded(mention.label).tokens
        words = _unit_tokens(here.tokens, left_out)
        found = []
        for candidate in candidates:
            there = self._embedded(_text(candidate), whole=False).vector
            described = _unit_tokens(self._embedded(candidate.get("description") or "").tokens, left_out)
            nearest = (described @ words.T).max(axis=1).mean() if len(described) and len(words) else 0.0
            found.append(Similarity(float(np.dot(here.vector, there)), float(np.dot(own, there)), float(nearest)))
        return found

    def _own_vector(self, mention: MentionInText, here: Embedded, place: float) -> FloatArray:
        """Return the mean of the mention's token vectors in the text; the text's vector where it has none.

        Token vectors carry no offsets: the mention's ids are searched, nearest to its `place` in [0, 1].
        """
        named = self._embedded(mention.label).tokens if mention.start >= 0 else None
        if here.tokens is None or named is None or not 0 < len(named.ids) <= len(here.tokens.ids):
            return here.vector
        width, ids = len(named.ids), here.tokens.ids
        found = np.flatnonzero((np.lib.stride_tricks.sliding_window_view(ids, width) == named.ids).all(axis=1))
        if not len(found):
            return here.vector
        first = int(found[np.argmin(np.abs(found / len(ids) - place))])
        return unit(here.tokens.vectors[first : first + width].astype(np.float32).mean(axis=0))

    def _embedded(self, text: str, *, whole: bool = True) -> Embedded:
        """Return what the embedder makes of a text, without token vectors unless `whole`."""
        with self._lock:
            known = self._kept_texts.get(text)
            if known is not None:
                self._kept_texts.move_to_end(text)
                return known
        embedded = self._embedder.embed_query(text)
        embedded = embedded if whole else Embedded(embedded.vector)
        with self._lock:
            self._kept_texts[text] = embedded
            if len(self._kept_texts) > self._kept:
                self._kept_texts.popitem(last=False)
        return embedded


def _unit_tokens(tokens: TokenVectors | None, left_out: TokenVectors | None) -> FloatArray:
    """Return the unit vectors of a text's tokens that are not among others, shape (n, dimension)."""
    if tokens is None:
        return np.empty((0, 1), dtype=np.float32)
    kept = tokens.vectors if left_out is None else tokens.vectors[~np.isin(tokens.ids, left_out.ids)]
    vectors = kept.astype(np.float32)
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1.0))


def _text(candidate: Mapping[str, Any]) -> str:
    return f"{candidate.get('label') or ''}: {candidate.get('description') or ''}"
