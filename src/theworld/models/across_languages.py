"""Questions in another language over English notes: a linear map from the multilingual space into the English one.

English notes lie in the space of an English model alone, which knows no Chinese; embedding them a second time would
double the cost of ingestion. A question that holds Chinese is embedded by the multilingual model instead, which puts it
beside what means the same in English, and mapped from there. `benchmarks/fit_alignment.py` fits the map by ridge
regression on English sentences embedded by both models (Mikolov et al. 2013, arXiv:1309.4168).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from theworld.errors import ModelError
from theworld.models.protocols import Embedded, Embedder, FloatArray
from theworld.text.language import MIXED_SHARE, cjk_share


@dataclass(frozen=True)
class Alignment:
    """A fitted map between two spaces."""

    source: str
    """Name of the space it maps from."""
    target: str
    """Name of the space it maps into."""
    weights: FloatArray
    """Shape (dimension of the source + 1, dimension of the target); the last row is added."""

    def mapped(self, vector: FloatArray) -> FloatArray:
        """Return the unit vector, shape (dimension of the target,), in the target space."""
        moved = vector @ self.weights[:-1] + self.weights[-1]
        return np.asarray(moved / max(float(np.linalg.norm(moved)), 1e-9), dtype=np.float32)


@cache
def bundled_alignment() -> Alignment:
    """Return the map between the spaces of the two default embedders."""
    with files("theworld.models").joinpath("data/alignment.npz").open("rb") as stored, np.load(stored) as arrays:
        weights = arrays["weights"].astype(np.float32)
        return Alignment(str(arrays["source"]), str(arrays["target"]), weights)


class AcrossLanguages:
    """An English embedder that also embeds questions holding Chinese, by way of a multilingual one.

    Where the alignment is for other models than these, or the multilingual one is not installed, the English embedder
    reads every question itself.
    """

    def __init__(self, english: Embedder, multilingual: Embedder, alignment: Alignment | None = None) -> None:
        self.english = english
        """What embeds English."""
        self._multilingual, self._alignment = multilingual, alignment

    @property
    def name(self) -> str:
        """Name of the space, that of the English embedder."""
        return self.english.name

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self.english.dimension

    def embed_query(self, text: str) -> Embedded:
        """Embed one question; one that holds Chinese has no token vectors."""
        if cjk_share(text) < MIXED_SHARE:
            return self.english.embed_query(text)
        alignment = self._alignment or bundled_alignment()
        try:
            if (self._multilingual.name, self.english.name) != (alignment.source, alignment.target):
                return self.english.embed_query(text)
            return Embedded(alignment.mapped(self._multilingual.embed_query(text).vector))
        except ModelError:  # the multilingual model is not installed
            return self.english.embed_query(text)

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found, in the order given."""
        return self.english.embed_passages(texts)
