"""The graph's schemas: what goes in, what flows, what comes out, and what one caller may choose per request."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, TypeVar, cast

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from langgraph.types import Overwrite
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from theworld.errors import InvalidQuestionError, SettingsError, check_kind, in_plain_words
from theworld.state.answers import Answer, AnswerKind, Citation, EntityCandidate, EntityJudgement
from theworld.state.candidates import Candidate, Channel, ChannelResult, EvidencePath
from theworld.state.ontology import OntologyEvidence
from theworld.state.references import Message, ResolvedReference
from theworld.state.routes import RouteDecision
from theworld.state.tables import QueryTable
from theworld.state.traces import Degradation, ModelUsage, StageTrace

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

T = TypeVar("T")

MAX_QUESTION_CHARACTERS = 20_000
"""Longer questions are refused: they are documents, not questions."""


def append(old: Sequence[T], new: Sequence[T]) -> list[T]:
    """Reducer: concatenate. The first node resets with langgraph's `Overwrite`."""
    return [*old, *new]


class Given(BaseModel):
    """What callers make in code: what is wrong with it is an error of ours, in plain words."""

    if not TYPE_CHECKING:  # type checkers know the fields

        def __init__(self, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                what, remedy = in_plain_words(error.errors()[0], type(self).model_fields)
                kind = SettingsError if isinstance(self, Context) else InvalidQuestionError
                raise kind(what, where=type(self).__name__, remedy=remedy) from error

        __init__.__pydantic_base_init__ = True  # as a part of something else it is that one's ValidationError


FilterValue = Annotated[str, Field(coerce_numbers_to_str=True)]


class Context(Given):
    """What one caller may choose for one request; everything has a default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tenant: str = Field(default="default", min_length=1, max_length=128, description="Whose knowledge is searched")
    filters: dict[str, FilterValue | list[FilterValue]] = Field(
        default_factory=dict,
        description="Metadata that must match before ranking; a list: any of it; `document_id` chooses documents",
    )
    deadline_ms: int | None = Field(default=None, ge=1, le=600_000, description="Budget for retrieval and reranking")
    total_deadline_ms: int | None = Field(
        default=None,
        ge=1,
        le=3_600_000,
        description="Budget for the whole request from its first node on, with models",
    )
    top_k: int | None = Field(default=None, ge=1, le=1000, description="Candidates returned")
    channels: list[Channel] | None = Field(
        default=None, min_length=1, description="Force exactly these channels, one at least"
    )
    rerank: bool | None = Field(default=None, description="Force reranking on or off")
    graph: bool | None = Field(default=None, description="Force graph retrieval on or off")
    router: bool | None = Field(default=None, description="Force routing on or off; off tries every way")
    ontology: bool | None = Field(default=None, description="False leaves the ontology channel out")
    database: bool | None = Field(default=None, description="Force asking the database first, or forbid it")
    tokens_left: int | None = Field(
        default=None, ge=0, description="Tokens of a language model that may still be spent; 0 forbids a call"
    )
    use_model: bool = Field(default=True, description="False forbids any language-model call")
    clarify: bool = Field(default=False, description="Ask back (interrupt) when a reference is ambiguous")
    strict: bool = Field(default=False, description="Raise instead of degrading")
    language: Literal["zh", "en"] | None = Field(default=None, description="Answer language; default: the question's")
    now: datetime | None = Field(default=None, description="The moment time words refer to; default: the clock")


def context_of(runtime: Runtime[Context] | None) -> Context:
    """Return the caller's context, or the defaults when none was given.

    As a node of another graph this one gets the context of that graph: its `theworld`, a Context or a dict, where it
    has one. SettingsError where that is anything else.
    """
    given: object = runtime.context if runtime is not None else None
    if isinstance(given, Context):
        return given
    mine = given.get("theworld") if isinstance(given, Mapping) else getattr(given, "theworld", None)
    if mine is None or isinstance(mine, Context):
        return mine or Context()
    remedy = "Give a theworld.Context, or a dict of its fields."
    check_kind(mine, dict, where="`theworld` of the graph's context", remedy=remedy)
    return Context(**mine)


class QueryInput(Given):
    """What a caller passes: a question, or chat messages whose last user message is the question."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(default="", description="The question; empty takes the last user message")
    history: list[Message] = Field(default_factory=list, description="Earlier messages, oldest first")
    messages: Annotated[list[AnyMessage], add_messages] = Field(
        default_factory=list, description="Chat messages (LangGraph Studio's chat tab)"
    )
    stances: dict[str, dict[str, str]] = Field(
        default_factory=dict,
        description="The assistant's stances the caller has kept: key -> topic, stance, updated_at",
    )


class QueryState(QueryInput):
    """Everything that flows through the graph. Lists and dicts with reducers are reset by the first node."""

    model_config = ConfigDict(extra="ignore")

    query: str = Field(
        default="", description="The question as understood so far: references resolved, descriptions replaced by names"
    )
    language: Literal["en", "zh"] = Field(default="en", description="Language of the question")
    reference: ResolvedReference = Field(default_factory=ResolvedReference, description="What the question refers to")
    parts: list[str] = Field(default_factory=list, description="Sub-questions that need different ways, if any")
    route: RouteDecision = Field(default_factory=RouteDecision, description="The router's decision")
    asked_at: datetime | None = Field(
        default=None, description="When the question came in: what time words refer to where the caller says no moment"
    )
    request_started: float = Field(default=0.0, description="Process clock (perf_counter) when the question came in")
    retrieval_started: float = Field(default=0.0, description="Process clock (perf_counter) when retrieval began")
    channel_results: Annotated[dict[str, ChannelResult], operator.or_] = Field(
        default_factory=dict, description="Ranked list of each channel that answered in time"
    )
    conversation: dict[str, float] = Field(
        default_factory=dict, description="How near documents are to what the last answer was about, in (0, 1]"
    )
    fused: list[tuple[str, float]] = Field(
        default_factory=list, description="(note id, score) as fusion left them, before reranking cut and ordered them"
    )
    candidates: list[Candidate] = Field(default_factory=list, description="Candidates, best first")
    evidence: list[Candidate] = Field(default_factory=list, description="The evidence set answers are made from")
    paths: list[EvidencePath] = Field(default_factory=list, description="How notes were reached over the graph")
    ontology: OntologyEvidence | None = Field(
        default=None, description="What the ontology said; none where there is none or nothing was recognised"
    )
    rerank_outcome: str = Field(default="skipped", description="skipped | complete | partial | timeout | error")
    entity_candidates: dict[str, list[EntityCandidate]] = Field(
        default_factory=dict, description="Knowledge-base candidates by mention"
    )
    entity_sitelinks: dict[str, int] = Field(
        default_factory=dict, description="Wikidata id -> number of sitelinks, where the source says it"
    )
    judgements: list[EntityJudgement] = Field(default_factory=list, description="Entity judgements, NIL included")
    tables: list[QueryTable] = Field(default_factory=list, description="Rows read from the database")
    result: Answer | None = Field(default=None, description="The answer, once there is one")
    stages: Annotated[list[StageTrace], append] = Field(default_factory=list, description="Trace of every node run")
    degradations: Annotated[list[Degradation], append] = Field(default_factory=list, description="Every fallback taken")
    usage: Annotated[ModelUsage, operator.add] = Field(default_factory=ModelUsage, description="Language-model usage")

    @model_validator(mode="before")
    @classmethod
    def _query_is_the_question(cls, values: dict[str, object]) -> dict[str, object]:
        return values if values.get("query") else {**values, "query": values.get("question", "")}


class QueryOutput(BaseModel):
    """What a caller gets back."""

    question: str = Field(default="", description="The question as asked")
    query: str = Field(
        default="", description="The question as understood: references resolved, descriptions replaced by names"
    )
    answer: str = Field(default="", description="The answer")
    kind: AnswerKind = Field(default="none", description="entity | extractive | generated | computed | none")
    confidence: float = Field(default=0.0, description="Confidence in the answer, in [0, 1]")
    citations: list[Citation] = Field(default_factory=list, description="Documents, notes and offsets it rests on")
    reference: ResolvedReference = Field(default_factory=ResolvedReference, description="What the question refers to")
    parts: list[str] = Field(default_factory=list, description="Sub-questions that were answered one by one")
    route: RouteDecision = Field(default_factory=RouteDecision, description="The router's decision")
    candidates: list[Candidate] = Field(default_factory=list, description="Candidates with every rank and score")
    paths: list[EvidencePath] = Field(default_factory=list, description="Evidence paths")
    ontology: OntologyEvidence | None = Field(default=None, description="Matches, paths and capabilities it gave")
    judgements: list[EntityJudgement] = Field(default_factory=list, description="Entity judgements")
    tables: list[QueryTable] = Field(default_factory=list, description="Rows of the database it rests on, with SQL")
    result: Answer | None = Field(default=None, description="The answer with its reason")
    stages: list[StageTrace] = Field(default_factory=list, description="Milliseconds and counts per stage")
    degradations: list[Degradation] = Field(default_factory=list, description="Every fallback taken")
    usage: ModelUsage = Field(default_factory=ModelUsage, description="Language-model calls and tokens")
    messages: Annotated[list[AnyMessage], add_messages] = Field(
        default_factory=list, description="The chat, the answer appended"
    )


class Update(TypedDict, total=False):
    """What a node returns: keys of state and output that it changes; `Overwrite` sets what a reducer would add to."""

    question: str
    history: list[Message]
    messages: Sequence[AnyMessage]
    stances: dict[str, dict[str, str]]
    query: str
    language: Literal["en", "zh"]
    reference: ResolvedReference
    parts: list[str]
    route: RouteDecision
    asked_at: datetime | None
    request_started: float
    retrieval_started: float
    channel_results: dict[str, ChannelResult] | Overwrite
    conversation: dict[str, float]
    fused: list[tuple[str, float]]
    candidates: list[Candidate]
    evidence: list[Candidate]
    paths: list[EvidencePath]
    ontology: OntologyEvidence | None
    rerank_outcome: str
    entity_candidates: dict[str, list[EntityCandidate]]
    entity_sitelinks: dict[str, int]
    judgements: list[EntityJudgement]
    tables: list[QueryTable]
    result: Answer | None
    stages: list[StageTrace] | Overwrite
    degradations: list[Degradation] | Overwrite
    usage: ModelUsage | Overwrite
    answer: str
    kind: AnswerKind
    confidence: float
    citations: list[Citation]


def context_at(state: QueryState, runtime: Runtime[Context] | None) -> Context:
    """Return the caller's context with the moment that time words refer to: one for the whole request."""
    context = context_of(runtime)
    return context if context.now else context.model_copy(update={"now": state.asked_at})


def new_question() -> Update:
    """Return the update that sets back everything an earlier question of the thread left, but what callers pass."""
    fresh, update = QueryState(), dict[str, object]()
    for name, field in QueryState.model_fields.items():
        if name not in QueryInput.model_fields:
            value = getattr(fresh, name)
            update[name] = Overwrite(value) if field.metadata else value
    return cast(Update, update)
