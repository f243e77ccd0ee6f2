"""Fusion of ranked lists, and reranking of what they found under a deadline.

To add a reranker: write its file, add it to `make_reranker`.
"""

from collections.abc import Callable

from theworld.models.cross_encoder_model import load_cross_encoder
from theworld.models.protocols import Embedder
from theworld.ranking.contract import Outcome, Ranked, Reranker, Reranking
from theworld.ranking.evidence_set import EvidenceSetReranker
from theworld.ranking.fusion import Fused, channel_weights, fuse, fuse_minmax, graph_share
from theworld.ranking.greedy_cover import CoverWeights, greedy_cover
from theworld.ranking.pointwise import MICRO_BATCH, CrossEncoderReranker
from theworld.ranking.remote import BATCH, Kind, RemoteReranker, RerankProtocol
from theworld.settings import Settings
from theworld.stores.protocols import DenseStore, GraphStore

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


def make_reranker(
    settings: Settings, *, dense: DenseStore, graph: GraphStore, embedder_of: Callable[[str], Embedder | None]
) -> Reranker:
    """Return the reranker of `rerank.kind`; with `none` the router never sends a question to it.

    SettingsError or ModelError when the model named cannot be right; weights load on first use, or by `warm`.
    """
    chosen = settings.rerank
    if chosen.kind == "cross-encoder":
        model = load_cross_encoder(chosen.model or "", settings.embedding.threads)
        size = chosen.batch_size or MICRO_BATCH
        return CrossEncoderReranker(model, graph, batch_size=size)
    if chosen.kind == "remote":
        kind: Kind = "tei" if chosen.protocol == "tei" else "cohere"
        return RemoteReranker(
            RerankProtocol(kind, chosen.base_url or "", chosen.model, logits=chosen.protocol == "llama.cpp"),
            graph,
            api_key=chosen.api_key,
            batch_size=chosen.batch_size or BATCH,
        )
    return EvidenceSetReranker(dense, graph, embedder_of)
