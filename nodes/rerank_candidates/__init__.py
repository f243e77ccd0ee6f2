"""Reranking under a deadline."""

from theworld.nodes.rerank_candidates.choice import make_reranker
from theworld.nodes.rerank_candidates.contract import Outcome, Ranked, Reranker, Reranking
from theworld.nodes.rerank_candidates.cross_encoder import CrossEncoderReranker
from theworld.nodes.rerank_candidates.evidence_set import EvidenceSetReranker
from theworld.nodes.rerank_candidates.greedy_cover import CoverWeights, greedy_cover
from theworld.nodes.rerank_candidates.node import rerank_candidates
from theworld.nodes.rerank_candidates.remote import RemoteReranker
from theworld.nodes.rerank_candidates.rerank_protocol import RerankProtocol

__all__ = [
    "CoverWeights",
    "CrossEncoderReranker",
    "EvidenceSetReranker",
    "Outcome",
    "Ranked",
    "RemoteReranker",
    "RerankProtocol",
    "Reranker",
    "Reranking",
    "greedy_cover",
    "make_reranker",
    "rerank_candidates",
]
