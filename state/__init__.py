"""What flows through the graph: the state, its schemas and its values. Imports only the errors of the project.

Checkpoints name a class by its module: one that moves to another is not restored from older ones.
"""

import importlib
from typing import TYPE_CHECKING, Any

from theworld.state.answers import (
    PATH_SEPARATOR,
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
    place_of,
)
from theworld.state.candidates import (
    EVIDENCE_NOTES,
    Candidate,
    Channel,
    ChannelHit,
    ChannelResult,
    EvidencePath,
    Mention,
    MentionType,
    PathStep,
    Value,
)
from theworld.state.ontology import (
    CandidateCapability,
    DescribedSample,
    OntologyConstraint,
    OntologyEvidence,
    OntologyMatch,
    OntologyPath,
)
from theworld.state.references import Message, ReferenceMatch, ReferenceScope, ReferenceType, ResolvedReference
from theworld.state.routes import ChannelPlan, Intent, RouteDecision, RoutePath
from theworld.state.tables import QueryTable, TableColumn
from theworld.state.traces import Degradation, ModelUsage, StageTrace

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
