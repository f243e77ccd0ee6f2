"""What requests and replies of retrieval and answers look like."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictInt, ValidationInfo, field_validator

from theworld.state import (
    Answer,
    AnswerKind,
    Candidate,
    Channel,
    Citation,
    Context,
    Degradation,
    EntityJudgement,
    EvidencePath,
    Message,
    ModelUsage,
    OntologyEvidence,
    QueryInput,
    QueryTable,
    ResolvedReference,
    RouteDecision,
    StageTrace,
)
from theworld.state.query import MAX_QUESTION_CHARACTERS

DEFAULT_TOP_K = 20
MOST_CANDIDATES = 1000
MOST_MESSAGES = 200

Question = Annotated[
    str, Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS, description="The question, in English or Chinese")
]
Text = Annotated[str, Field(min_length=1, max_length=2000)]


TEXT = r"^[^\x00]+$"
"""What ids in paths consist of."""
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
NO_REQUEST = "the tenant has no request of this id on record"


def is_no_text(value: object) -> bool:
    """Return whether a text, or one in a list or mapping, has NUL or lone surrogates, which no store keeps."""
    if isinstance(value, str):
        return _NO_TEXT.search(value) is not None
    if isinstance(value, dict):
        return any(is_no_text(key) or is_no_text(item) for key, item in value.items())
    return isinstance(value, list | tuple) and any(is_no_text(item) for item in value)


_JSON_TYPES: dict[type, tuple[set[type], str]] = {
    bool: ({bool}, "true or false"),
    float: ({int, float}, "a number"),
    int: ({int, float}, "a number"),
    datetime: ({str}, "a text such as 2026-05-14T09:30:00Z"),
}
"""What JSON has to bring for a field: pydantic alone would read "no" as False, and 5 as a moment of 1970."""


def examples(*bodies: JsonValue) -> ConfigDict:
    """Return the configuration of a body with what it looks like."""
    return ConfigDict(json_schema_extra={"examples": list(bodies)})


class Body(BaseModel, extra="forbid"):
    """Base of request bodies: unknown fields are refused, so that a misspelt one is noticed, and what is no text."""

    @field_validator("*")
    @classmethod
    def _is_text(cls, value: object) -> object:
        if is_no_text(value):
            raise ValueError("a text has NUL characters or lone surrogates")
        return value

    @field_validator("*", mode="before")
    @classmethod
    def _has_its_json_type(cls, value: object, info: ValidationInfo) -> object:
        wanted = cls.model_fields[info.field_name or ""].annotation
        kinds = {wanted, *get_args(wanted)}
        for kind, (taken, name) in _JSON_TYPES.items():
            if kind in kinds and str not in kinds and isinstance(value, bool | int | float | str):
                if type(value) not in taken:
                    raise ValueError(f"{name} is wanted")
                break
        return value


class Said(Body):
    """One earlier message of the conversation."""

    role: Literal["user", "assistant", "system", "tool"] = Field(description="Who spoke")
    content: str = Field(max_length=MAX_QUESTION_CHARACTERS, description="What was said")
    timestamp: datetime | None = Field(default=None, description="When it was said")


class Options(Body):
    """What every question may choose. GraphRAG, reranking, the router and the database can each be switched off."""

    history: list[Said] = Field(
        default_factory=list, max_length=MOST_MESSAGES, description="Earlier messages, oldest first"
    )
    top_k: int = Field(default=DEFAULT_TOP_K, ge=1, le=MOST_CANDIDATES, description="Candidates returned")
    enable_graph: bool = Field(default=True, description="False leaves graph and ontology out")
    enable_rerank: bool = Field(default=True, description="False keeps the fused order")
    enable_router: bool = Field(default=True, description="False tries every way, whatever the question")
    enable_ontology: bool = Field(default=True, description="False leaves the ontology out, where there is one")
    enable_database: bool = Field(default=True, description="False leaves the mapped database out, where there is one")
    channels: list[Channel] | None = Field(
        default=None, min_length=1, max_length=8, description="Exactly these channels, instead of the router's choice"
    )
    filters: dict[str, str | list[str]] = Field(
        default_factory=dict,
        max_length=32,
        description="Document metadata that must match before ranking; `document_id` chooses documents by their ids",
    )
    deadline_ms: int | None = Field(default=None, ge=1, le=60_000, description="Budget for retrieval and reranking")
    total_deadline_ms: int | None = Field(
        default=None,
        ge=1,
        le=3_600_000,
        description="Budget for the whole answer, with models; default: retrieval's and one call's",
    )
    strict: bool = Field(default=False, description="Fail instead of degrading")
    now: datetime | None = Field(default=None, description="The moment time words refer to; default: the clock")

    def context(self, tenant: str) -> Context:
        """Return the graph's context; the moment is fixed, so that a replay means the same by `yesterday`."""
        switches = {
            "graph": self.enable_graph, "rerank": self.enable_rerank, "router": self.enable_router,
            "ontology": self.enable_ontology, "database": self.enable_database,
        }  # fmt: skip
        same = ("filters", "deadline_ms", "total_deadline_ms", "top_k", "channels", "strict")
        return Context(
            tenant=tenant,
            now=self.now or datetime.now(UTC),
            **{name: getattr(self, name) for name in same},
            **{name: None if on else False for name, on in switches.items()},
        )

    def messages(self) -> list[Message]:
        """Return the history as the graph takes it."""
        return [Message(message.role, message.content, message.timestamp) for message in self.history]


class SearchRequest(Options):
    """Find candidates, without answering."""

    model_config = examples(
        {"query": "关联企业近30天授信变化与交易波动", "top_k": 20, "enable_graph": True, "enable_rerank": True},
        {"query": "In which city was the director of Metropolis born?", "top_k": 5},
    )

    query: Question

    def asked(self) -> QueryInput:
        """Return the graph's input."""
        return QueryInput(question=self.query, history=self.messages())


class AskRequest(Options):
    """Answer a question."""

    model_config = examples(
        {"question": "In which city was the director of Metropolis born?", "stream": False},
        {"question": "天一阁是由谁主持建造的？", "stream": False},
    )

    question: Question
    stream: bool = Field(default=True, description="True: server-sent events; false: one JSON reply")
    use_model: bool = Field(default=True, description="False forbids any language-model call")
    clarify: bool = Field(default=False, description="Ask back when a reference is ambiguous")
    choice: Annotated[StrictInt, Field(ge=-1000, le=1000)] | Annotated[str, Field(max_length=1000)] | None = Field(
        default=None, description="The answer to what was asked back: a number or a name"
    )
    language: Literal["zh", "en"] | None = Field(
        default=None, description="Answer language; default: the question's; where that is not plain, Accept-Language's"
    )
    html: bool = Field(default=False, description="Also give the answer as HTML, rendered from Markdown and cleaned")

    def asked(self) -> QueryInput:
        """Return the graph's input."""
        return QueryInput(question=self.question, history=self.messages())

    def context(self, tenant: str) -> Context:
        """Return the graph's context."""
        clarify = self.clarify or self.choice is not None
        changes = {"use_model": self.use_model, "clarify": clarify, "language": self.language}
        return super().context(tenant).model_copy(update=changes)


class GivenText(Body):
    """A text to be ranked."""

    id: str = Field(min_length=1, max_length=512, description="The caller's id of it")
    text: str = Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS, description="The text")
    title: str = Field(default="", max_length=1000, description="Its title, if it has one")


class RerankRequest(Body):
    """Order texts, or notes of the store, by how well they answer a query together."""

    model_config = examples(
        {
            "query": "Who directed Metropolis?",
            "documents": [
                {"id": "a", "text": "Metropolis is a film directed by Fritz Lang."},
                {"id": "b", "text": "The Danube flows through Vienna."},
            ],
            "top_k": 2,
        }
    )

    query: Question
    documents: list[GivenText] = Field(default_factory=list, max_length=MOST_CANDIDATES, description="Texts to rank")
    note_ids: list[Annotated[str, Field(min_length=1, max_length=1024)]] = Field(
        default_factory=list,
        max_length=MOST_CANDIDATES,
        description="Notes of the store to rank; unknown ones are left out",
    )
    top_k: int = Field(default=DEFAULT_TOP_K, ge=1, le=MOST_CANDIDATES, description="Results returned")
    deadline_ms: int | None = Field(default=None, ge=1, le=60_000, description="Budget")


class Replied(BaseModel):
    """What every reply of a run says."""

    request_id: str = Field(description="Names this request for explain and feedback")
    elapsed_ms: float = Field(description="Milliseconds in the service, waiting included")
    degradations: list[Degradation] = Field(description="Every fallback taken")


class RouteData(Replied):
    """The router's decision."""

    query: str = Field(description="The stand-alone query")
    language: str = Field(description="Language of the question")
    route: RouteDecision = Field(description="Path, channels with depth and weight, reranking, reasons, strategy")


class SearchData(RouteData):
    """Candidates with every rank and score."""

    candidates: list[Candidate] = Field(description="Best first")
    rerank_outcome: str = Field(description="skipped | complete | partial | timeout | error")
    paths: list[EvidencePath] = Field(description="How notes were reached over the graph")
    ontology: OntologyEvidence | None = Field(description="Matches, paths and capabilities the ontology gave")
    tables: list[QueryTable] = Field(description="Rows of the mapped database that answer it, with their SQL")
    stages: list[StageTrace] = Field(description="Milliseconds and counts of every node run")


class RerankedText(BaseModel):
    """One ranked text."""

    id: str = Field(description="Its id")
    rank: int = Field(ge=1, description="Rank from 1")
    score: float = Field(description="The reranker's own score")
    relevance: float = Field(ge=0, le=1, description="The same as a relevance in [0, 1]")
    covered: float | None = Field(description="Share of the query covered by this and all before it, where known")


class RerankData(Replied):
    """Ranked texts."""

    outcome: str = Field(description="complete | partial | timeout | error; on the last two the given order stands")
    model_version: str = Field(description="Name and version of the reranker")
    results: list[RerankedText] = Field(description="Best first")


class AskData(SearchData):
    """An answer with everything it rests on."""

    question: str = Field(description="The question as asked")
    answer: str = Field(description="The answer, or what was found instead, or what is asked back")
    said: str = Field(default="", description="The answer as a later question's `history` should have it")
    kind: AnswerKind | Literal["clarify"] = Field(description="How it was made")
    confidence: float = Field(ge=0, le=1, description="Confidence in the answer")
    citations: list[Citation] = Field(description="Documents, notes and offsets it rests on")
    result: Answer | None = Field(description="The answer with its reason")
    reference: ResolvedReference = Field(description="What the question refers to")
    parts: list[str] = Field(description="Sub-questions that were answered one by one, if any")
    judgements: list[EntityJudgement] = Field(description="Entity judgements")
    usage: ModelUsage = Field(description="Language-model calls and tokens")
    clarification: dict[str, Any] | None = Field(description="What is asked back, with options; answer with `choice`")
    answer_html: str | None = Field(default=None, description="The answer as clean HTML, where `html` asked for it")
