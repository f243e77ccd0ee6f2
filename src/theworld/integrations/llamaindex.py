"""LlamaIndex: a retriever. Needs llama-index-core (the extra `llamaindex`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from theworld.errors import SettingsError
from theworld.integrations.passages import PassageSearch
from theworld.packages import install_command
from theworld.state import Context

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise SettingsError(
        "llama-index-core is not installed", where=__name__, remedy=f"Install it: {install_command('llamaindex')}"
    ) from error

if TYPE_CHECKING:
    from theworld.graph.build import CompiledGraph


class TheWorldRetriever(BaseRetriever):
    """The passages of a store's folder, or of a compiled graph, as nodes with scores; metadata as in `passages`."""

    def __init__(self, source: CompiledGraph | Path | str, k: int = 10, context: Context | None = None) -> None:
        """Take where the knowledge is, how many passages to return, and tenant, filters and the like."""
        super().__init__()
        Context(top_k=k)  # refuses what cannot be
        self._search, self._k = PassageSearch(source, context), k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._search.find(query_bundle.query_str, self._k)
        nodes = [TextNode(id_=passage.id, text=passage.text, metadata=passage.metadata) for passage in found]
        return [NodeWithScore(node=node, score=passage.score) for node, passage in zip(nodes, found, strict=True)]

    def close(self) -> None:
        """Close the store, where it was opened here."""
        self._search.close()
