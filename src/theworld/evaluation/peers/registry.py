"""The peers by name. Their modules import heavy packages, so each is imported only in the process that runs it."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from theworld.errors import TheWorldError
from theworld.evaluation.peers.protocols import Material, Peer

INSTALL = 'pip install "theworld[benchmarks]" (from a clone: pip install -e ".[benchmarks]")'


@dataclass(frozen=True, slots=True)
class PeerEntry:
    """A peer that can be made from the material."""

    label: str
    """What the table calls it."""
    module: str
    """Module of this package that holds it."""
    type_name: str
    """Its class, called with the material."""
    requires: Mapping[str, str]
    """Import name -> distribution of what must be installed."""

    def missing(self) -> list[str]:
        """Return the distributions that are not installed."""
        return [distribution for name, distribution in self.requires.items() if not _importable(name)]

    def versions(self) -> dict[str, str]:
        """Return the installed versions, by distribution."""
        return {name: importlib.metadata.version(name) for name in self.requires.values()}

    def require(self) -> None:
        """Raise TheWorldError when a package is not installed."""
        if missing := self.missing():
            raise TheWorldError(f"{', '.join(missing)} not installed.", where=self.label, remedy=f"{INSTALL}.")

    def make(self, material: Material) -> Peer:
        """Return the peer, ready to be asked; TheWorldError when a package is not installed."""
        self.require()
        peer: Peer = getattr(importlib.import_module(f"theworld.evaluation.peers.{self.module}"), self.type_name)(
            material
        )
        return peer


PEERS: Mapping[str, PeerEntry] = {
    "langchain": PeerEntry(
        "LangChain Ensemble",
        "langchain_ensemble",
        "LangChainEnsemble",
        {
            "langchain_classic": "langchain-classic",
            "langchain_community": "langchain-community",
            "rank_bm25": "rank-bm25",
        },
    ),
    "llamaindex": PeerEntry(
        "LlamaIndex QueryFusion",
        "llamaindex_fusion",
        "LlamaIndexFusion",
        {"llama_index.core": "llama-index-core", "llama_index.retrievers.bm25": "llama-index-retrievers-bm25"},
    ),
    "haystack": PeerEntry("Haystack hybrid", "haystack_hybrid", "HaystackHybrid", {"haystack": "haystack-ai"}),
    "pagerank": PeerEntry("HippoRAG-style PageRank", "pagerank", "EntityPageRank", {}),
}


def _importable(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:  # a parent package is missing
        return False
