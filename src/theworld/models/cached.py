"""A query is embedded once, however many channels ask for it at the same time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future

from theworld.models.protocols import Embedded, Embedder


class CachedEmbedder:
    """Remembers the last queries; concurrent callers of one query wait for one computation.

    A failure reaches everyone who waited and is not remembered. Passages pass through.
    """

    def __init__(self, embedder: Embedder, size: int = 1024) -> None:
        if size < 1:
            raise ValueError("size must be at least 1")
        self._embedder = embedder
        self._size = size
        self._lock = threading.Lock()
        self._queries: OrderedDict[str, Future[Embedded]] = OrderedDict()

    @property
    def name(self) -> str:
        """Name of the space."""
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._embedder.dimension

    def embed_query(self, text: str) -> Embedded:
        """Embed one question, or return what it gave last time."""
        with self._lock:
            known = self._queries.get(text)
            if known is not None:
                self._queries.move_to_end(text)
            else:
                mine = self._queries[text] = Future[Embedded]()
                if len(self._queries) > self._size:
                    self._queries.popitem(last=False)
        return known.result() if known is not None else self._compute(text, mine)

    def _compute(self, text: str, future: Future[Embedded]) -> Embedded:
        try:
            embedded = self._embedder.embed_query(text)
        except BaseException as error:
            with self._lock:
                if self._queries.get(text) is future:
                    del self._queries[text]
            future.set_exception(error)
            raise
        _freeze(embedded)
        future.set_result(embedded)
        return embedded

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found, in the order given."""
        return self._embedder.embed_passages(texts)


def _freeze(embedded: Embedded) -> None:
    # The arrays are shared between callers from now on.
    embedded.vector.flags.writeable = False
    if embedded.tokens is not None:
        embedded.tokens.ids.flags.writeable = False
        embedded.tokens.vectors.flags.writeable = False
