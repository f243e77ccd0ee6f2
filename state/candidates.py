"""What retrieval finds: candidates with the rank and score of every channel, mentions, links and paths."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

EVIDENCE_NOTES = 5
"""Candidates that answers are made from: of those further down, few hold what is asked (benchmarks/answers.py)."""

Channel = Literal["sparse", "dense", "graph", "ontology"]
"""A retrieval channel."""

MentionType = Literal[
    "person", "place", "organization", "work", "event", "group", "date", "number", "quantity", "concept", "other"
]
"""The type of a mention or entity; `other` where nothing better is known."""


class Value(BaseModel):
    """Base of all state values: frozen, plain data, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Mention(Value):
    """A typed mention of an entity in a note."""

    surface: str = Field(description="The text as written")
    type: MentionType = Field(default="other", description="Entity type by the tagger, or `other`")
    start: int = Field(default=0, description="Character offset in the note's text")
    end: int = Field(default=0, description="End offset, exclusive")
    key: str = Field(default="", description="The entity's one identity (see theworld.text.identity)")
    qid: str | None = Field(default=None, description="Wikidata id, when linked")
    titled: bool = Field(default=False, description="True when the mention is the title or alias of some document")


class ChannelHit(Value):
    """Where one channel put a note."""

    rank: int = Field(ge=1, description="Rank from 1 within the channel")
    score: float = Field(description="The channel's own score, comparable within the channel only")


class ChannelResult(Value):
    """The ranked list of one channel, best first."""

    channel: Channel = Field(description="Which channel")
    hits: tuple[tuple[str, float], ...] = Field(default=(), description="(note id, score), best first")
    mean: float = Field(default=0.0, description="Mean of the scores of all notes searched, where it is known")
    deviation: float = Field(default=0.0, description="Their standard deviation; 0 where it is not known")
    searched: int = Field(default=0, description="Notes it could find without filters; 0 where that is not known")
    elapsed_ms: float = Field(default=0.0, description="Time the channel took")
    note: str = Field(default="", description="What the channel did, in words (seeds, spaces)")


class Candidate(Value):
    """A note that may hold the answer, with everything that was said about it so far."""

    note_id: str = Field(description="Id of the note")
    document_id: str = Field(description="Id of its document")
    title: str = Field(default="", description="Title of its document")
    section: tuple[str, ...] = Field(default=(), description="Headings it stands under, outermost first")
    kind: str = Field(default="paragraph", description="paragraph | list | table | code | admonition | section")
    lead: str = Field(default="", description="A table's header or a list's introduction, where its text lacks it")
    text: str = Field(default="", description="The note's text")
    start: int = Field(default=0, description="Character offset of the note in its document")
    end: int = Field(default=0, description="End offset, exclusive")
    ordinal: int = Field(default=0, description="Paragraph index within the document, from 0")
    language: str = Field(default="en", description="Language of the note: `en` or `zh`")
    source: str = Field(default="", description="Where the document came from: a path or URL")
    channels: dict[str, ChannelHit] = Field(default_factory=dict, description="Rank and score by channel")
    in_conversation: float = Field(default=0.0, description="How near its document is to the last answer, in [0, 1]")
    fused_rank: int | None = Field(default=None, description="Rank after fusion, from 1")
    fused_score: float | None = Field(default=None, description="Fusion score, on the scale of its method")
    rerank_rank: int | None = Field(default=None, description="Rank after reranking, from 1; None when not reranked")
    rerank_score: float | None = Field(default=None, description="The reranker's own score")
    final_score: float = Field(default=0.0, description="Relevance in [0, 1], the scale EFSA works on")
    covered: float | None = Field(default=None, description="Share of the query covered by this and all before it")
    hop: int = Field(default=1, ge=1, description="1 when reached from the query itself, 2 over one bridge, ...")
    bridge: str | None = Field(default=None, description="The entity over which it was reached, if hop > 1")
    mentions: tuple[Mention, ...] = Field(
        default=(), description="Typed mentions, by offset; only of notes that are kept"
    )

    @property
    def whole_text(self) -> str:
        """Its text below the header or introduction that it lacks."""
        return f"{self.lead}\n{self.text}" if self.lead else self.text


class PathStep(Value):
    """One edge of an evidence path."""

    source: str = Field(description="Label of the node the step starts from")
    relation: str = Field(description="What the edge says: `mentions`, `title_of`, ...")
    target: str = Field(description="Label of the node it leads to")


class EvidencePath(Value):
    """How a note was reached from the question over the graph."""

    note_id: str = Field(description="The note reached")
    steps: tuple[PathStep, ...] = Field(default=(), description="The edges, in order")
    weight: float = Field(default=0.0, description="Product of the edges' weights")
    text: str = Field(default="", description="The path in words, in the language of the query")
