"""Settings of earlier versions, and what takes their place: a file that still has one is answered with what to do."""

from __future__ import annotations

_ENGINES = ("ledger", "sparse", "dense", "graph")
_SHARED = "ca_file connections timeout_s verify write_timeout_s".split()
_FURTHER = "sparse.prefix dense.prefix graph.prefix sparse.shards dense.shards sparse.replicas dense.replicas".split()
_FIXED = """
answers.evidence_notes dense.ef dense.exact dense.grpc_port dense.oversampling dense.prefer_grpc embedding.batch_size
model.retries model.temperature ontology.decay ontology.fan_out ontology.share ontology.vectors ontology.weight
rerank.temperature retrieval.channel_share retrieval.fusion.dense_weight retrieval.fusion.graph_weight
retrieval.fusion.k retrieval.fusion.min_channels retrieval.fusion.sparse_weight retrieval.graph_depth
router.min_confidence service.log_queue service.max_documents service.shutdown_s wikidata.cache_days wikidata.cache_mb
wikidata.connections wikidata.maxlag_s
"""
_MOVED = {
    **{name: f"servers.{name.partition('.')[2]}" for name in _FURTHER},
    **{f"{engine}.{name}": f"servers.{name}" for engine in _ENGINES for name in _SHARED},
    "rerank.logits": "rerank.protocol = llama.cpp",
    "wikidata.total_timeout_s": "wikidata.timeout_s",
}
_CONSTANTS = {f"{engine}.{name}" for engine in _ENGINES for name in ("failures", "probe_s")} | set(_FIXED.split())
NAMES = frozenset({*_MOVED, *_CONSTANTS})
"""Settings that version 0.1 had."""


def remedy(setting: str) -> str | None:
    """Return what to do about a setting of an earlier version; None for what never was one."""
    if setting in _MOVED:
        return f"Use {_MOVED[setting]} instead."
    return "Its value is fixed since version 0.2; remove it." if setting in _CONSTANTS else None
