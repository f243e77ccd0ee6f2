"""A query is embedded once, however many channels ask for it at the same time."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.models.protocols import Embedded, Embedder
from theworld.remembering import Remembering


class CachedEmbedder:
    """Remembers the last queries; concurrent callers of one query wait for one computation.

    A failure reaches everyone who waited and is not remembered. Passages pass through.
    """

    def __init__(self, embedder: Embedder, size: int = 1024) -> None:
        self.embedder = embedder
        """What embeds."""
        self._queries: Remembering[str, Embedded] = Remembering(size)

    @property
    def name(self) -> str:
        """Name of the space."""
        return self.embedder.name

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self.embedder.dimension

    def embed_query(self, text: str) -> Embedded:
        """Embed one question, or return what it gave last time."""
        return self._queries.get(text, lambda: self._frozen(text))

    def _frozen(self, text: str) -> Embedded:
        embedded = self.embedder.embed_query(text)
        # The arrays are shared between callers from now on.
        embedded.vector.flags.writeable = False
        if embedded.tokens is not None:
            embedded.tokens.ids.flags.writeable = False
            embedded.tokens.vectors.flags.writeable = False
        return embedded

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found, in the order given."""
        return self.embedder.embed_passages(texts)
