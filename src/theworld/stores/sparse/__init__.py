"""BM25 over the project's own tokens: embedded in tantivy."""

from theworld.stores.sparse.embedded import FORMAT, TantivySparse

__all__ = ["FORMAT", "TantivySparse"]
