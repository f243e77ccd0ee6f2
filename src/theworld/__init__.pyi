"""The public names, each with the module it comes from: the one list, read by type checkers and by `__init__.py`."""

# fmt: off
# ruff: noqa: I001
from theworld.state import (
    Answer as Answer, Candidate as Candidate, Citation as Citation, Context as Context, Degradation as Degradation,
    EntityJudgement as EntityJudgement, EvidencePath as EvidencePath, Mention as Mention, Message as Message,
    QueryInput as QueryInput, QueryOutput as QueryOutput, QueryState as QueryState, ReferenceMatch as ReferenceMatch,
    ReferenceScope as ReferenceScope, ReferenceType as ReferenceType, ResolvedReference as ResolvedReference,
    RouteDecision as RouteDecision,
)
from theworld.graph import (
    Resources as Resources, allow_state_types as allow_state_types, build_graph as build_graph,
    make_resources as make_resources, open_resources as open_resources,
)
from theworld.ranking import (
    CrossEncoderReranker as CrossEncoderReranker, EvidenceSetReranker as EvidenceSetReranker, Ranked as Ranked,
    RemoteReranker as RemoteReranker, RerankProtocol as RerankProtocol, Reranker as Reranker, Reranking as Reranking,
)
from theworld.references import (
    ReferenceResolver as ReferenceResolver, ReferenceResolverConfig as ReferenceResolverConfig,
    create_reference_resolver as create_reference_resolver, extract_stances as extract_stances,
)
from theworld.structure import (
    ExtractionStrategy as ExtractionStrategy, StructureEngine as StructureEngine,
    StructureParseError as StructureParseError, extract_json_from_text as extract_json_from_text,
    extract_structured_data as extract_structured_data, get_schema_diff as get_schema_diff,
    parse_structured_output as parse_structured_output, parse_with_report as parse_with_report,
    register_extraction_strategy as register_extraction_strategy, to_openai_tool as to_openai_tool,
)
from theworld.ingestion import ingest as ingest
from theworld.models.registry import Models as Models, load_models as load_models
from theworld.models.protocols import (
    ChatMessage as ChatMessage, ChatModel as ChatModel, Completion as Completion, Embedded as Embedded,
    Embedder as Embedder, Tagger as Tagger, TokenVectors as TokenVectors,
)
from theworld.evaluation.answers import evaluate_answers as evaluate_answers
from theworld.evaluation.datasets import load_dataset as load_dataset
from theworld.evaluation.retrieval import evaluate_retrieval as evaluate_retrieval
from theworld.settings import Settings as Settings
from theworld.stores.knowledge_store import KnowledgeStore as KnowledgeStore
from theworld.stores.records import DocumentRecord as DocumentRecord, NoteRecord as NoteRecord
from theworld.errors import TheWorldError as TheWorldError
from theworld.answers.efsa import (
    compute_cov_cons as compute_cov_cons, efsa_answer as efsa_answer,
    efsa_answer_with_fallback as efsa_answer_with_fallback,
)
from theworld.wikidata import Snapshot as Snapshot, WikidataClient as WikidataClient, build_snapshot as build_snapshot
from theworld.entities import (
    JudgeOutput as JudgeOutput, fallback_zero_candidates as fallback_zero_candidates,
    format_candidates as format_candidates, parse_llm_output as parse_llm_output,
)

__version__: str
