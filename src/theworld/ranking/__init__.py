"""Fusion of ranked lists, and reranking of what they found under a deadline."""

from theworld.ranking.choice import make_reranker
from theworld.ranking.contract import Outcome, Ranked, Reranker, Reranking
from theworld.ranking.evidence_set import EvidenceSetReranker
from theworld.ranking.fusion import Fused, fuse, fuse_minmax
from theworld.ranking.graph_share import channel_weights, graph_share
from theworld.ranking.greedy_cover import CoverWeights, greedy_cover
from theworld.ranking.pointwise import CrossEncoderReranker
from theworld.ranking.remote import RemoteReranker, RerankProtocol

__all__ = [
    "CoverWeights",
    "CrossEncoderReranker",
    "EvidenceSetReranker",
    "Fused",
    "Outcome",
    "Ranked",
    "RemoteReranker",
    "RerankProtocol",
    "Reranker",
    "Reranking",
    "channel_weights",
    "fuse",
    "fuse_minmax",
    "graph_share",
    "greedy_cover",
    "make_reranker",
]
