"""Notes and the entities they name, for ranking, links and evidence paths: mapped from the store's folder."""

from theworld.stores.graph.embedded import MappedGraph, MemoryGraph
from theworld.stores.graph.parameters import RankingParameters
from theworld.stores.graph.snapshot import FORMAT

__all__ = ["FORMAT", "MappedGraph", "MemoryGraph", "RankingParameters"]
