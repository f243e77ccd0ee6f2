"""Nearest neighbours by cosine, one space per embedding model: embedded in numpy."""

from theworld.stores.dense.embedded import FORMAT, NumpyDense

__all__ = ["FORMAT", "NumpyDense"]
