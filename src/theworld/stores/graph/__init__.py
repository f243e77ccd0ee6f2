"""Notes and the entities they name, for ranking, links and evidence paths: mapped from the store's folder."""

from theworld.stores.graph.embedded import FORMAT, MappedGraph, MemoryGraph
from theworld.stores.graph.pagerank import RankingParameters

__all__ = ["FORMAT", "MappedGraph", "MemoryGraph", "RankingParameters"]
