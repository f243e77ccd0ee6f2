"""What flows through the graph: the state, its schemas and its values. Imports nothing else of the project."""

import importlib
from typing import TYPE_CHECKING, Any

from theworld.state.answers import (
    Answer,
    AnswerKind,
    AnswerScores,
    Citation,
    EntityCandidate,
    EntityEvidence,
    EntityJudgement,
    EvidencePart,
    Passage,
    Sureness,
)
from theworld.state.candidates import (
    EVIDENCE_NOTES,
    Candidate,
    CandidateCapability,
    Channel,
    ChannelHit,
    ChannelResult,
    DescribedSample,
    EvidencePath,
    Mention,
    MentionType,
    OntologyConstraint,
    OntologyEvidence,
    OntologyMatch,
    OntologyPath,
    PathStep,
    ScoreScale,
    Value,
)
from theworld.state.places import PATH_SEPARATOR, place_of
from theworld.state.references import Message, ReferenceMatch, ReferenceScope, ReferenceType, ResolvedReference
from theworld.state.traces import (
    ChannelPlan,
    Degradation,
    Intent,
    ModelUsage,
    QueryTable,
    RouteDecision,
    RoutePath,
    StageTrace,
    TableColumn,
)

if TYPE_CHECKING:
    from theworld.state.query import Context, QueryInput, QueryOutput, QueryState, Update, context_at, context_of

__all__ = [
    "EVIDENCE_NOTES",
    "Answer",
    "AnswerKind",
    "AnswerScores",
    "Candidate",
    "CandidateCapability",
    "DescribedSample",
    "Channel",
    "ChannelHit",
    "ChannelPlan",
    "ChannelResult",
    "Citation",
    "Context",
    "Degradation",
    "EntityCandidate",
    "EntityJudgement",
    "EntityEvidence",
    "EvidencePart",
    "EvidencePath",
    "Intent",
    "Mention",
    "MentionType",
    "Message",
    "ModelUsage",
    "OntologyConstraint",
    "OntologyEvidence",
    "OntologyMatch",
    "OntologyPath",
    "PATH_SEPARATOR",
    "Passage",
    "PathStep",
    "QueryInput",
    "QueryOutput",
    "QueryState",
    "QueryTable",
    "ReferenceMatch",
    "ReferenceScope",
    "ReferenceType",
    "ResolvedReference",
    "RouteDecision",
    "RoutePath",
    "ScoreScale",
    "Sureness",
    "StageTrace",
    "TableColumn",
    "Update",
    "Value",
    "context_at",
    "context_of",
    "place_of",
]


def __getattr__(name: str) -> Any:
    """Import the graph's schemas on first use: they need LangGraph, and processes that only make notes do not."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("theworld.state.query"), name)
