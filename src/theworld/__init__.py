"""TheWorld answers questions over a body of knowledge with one typed LangGraph state graph."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"

_EXPORTS = {
    "theworld.state": (
        "Answer Candidate Citation Context Degradation EntityJudgement EvidencePath Mention Message QueryInput "
        "QueryOutput QueryState ReferenceMatch ReferenceScope ReferenceType ResolvedReference RouteDecision"
    ),
    "theworld.graph": "Resources build_graph make_resources open_resources",
    "theworld.ranking": (
        "CrossEncoderReranker EvidenceSetReranker Ranked RemoteReranker Reranker Reranking RerankProtocol"
    ),
    "theworld.references": ("ReferenceResolver ReferenceResolverConfig create_reference_resolver extract_stances"),
    "theworld.structure": (
        "ExtractionStrategy StructureEngine StructureParseError extract_json_from_text extract_structured_data "
        "get_schema_diff parse_structured_output parse_with_report register_extraction_strategy to_openai_tool"
    ),
    "theworld.ingestion": "ingest",
    "theworld.models.registry": "Models load_models",
    "theworld.models.protocols": "ChatMessage ChatModel Completion Embedded Embedder Tagger TokenVectors",
    "theworld.evaluation.answers": "evaluate_answers",
    "theworld.evaluation.datasets": "load_dataset",
    "theworld.evaluation.retrieval": "evaluate_retrieval",
    "theworld.settings": "Settings",
    "theworld.stores.knowledge_store": "KnowledgeStore",
    "theworld.stores.records": "DocumentRecord NoteRecord",
    "theworld.errors": "TheWorldError",
    "theworld.answers.efsa": "compute_cov_cons efsa_answer efsa_answer_with_fallback",
    "theworld.wikidata": "Snapshot WikidataClient build_snapshot",
    "theworld.entities": ("JudgeOutput fallback_zero_candidates format_candidates parse_llm_output"),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names.split()}

__all__ = sorted([*_MODULE_OF, "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `import theworld` stays light."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'theworld' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
