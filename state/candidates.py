"""What was found for a question: notes and the ways that lead to them, and what the ontology says about it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

EVIDENCE_NOTES = 5
"""Candidates that answers are made from: of those further down, few hold what is asked (benchmarks/answers.py)."""

Channel = Literal["sparse", "dense", "graph", "ontology"]
"""A retrieval channel."""

ScoreScale = Literal["rrf", "unit", "probability"]
"""The scale a score is on: reciprocal-rank sums, a relevance in [0, 1], or a calibrated probability."""

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


class OntologyMatch(Value):
    """An element of the ontology that the question speaks of."""

    kind: str = Field(description="OntologyClass | Attribute | Relation | Capability | EntitySample")
    key: str = Field(description="Its id, for an attribute `class.attribute`")
    label: str = Field(description="Its name in the language of the question")
    how: str = Field(description="label | synonym | inverse | value | overlap | nested")
    score: float = Field(ge=0.0, le=1.0, description="How sure we are")
    start: int = Field(default=0, ge=0, description="Where it stands in the question; start = end: nowhere")
    end: int = Field(default=0, ge=0, description="End offset, exclusive")
    value: str = Field(default="", description="The value named, for how = value")


class OntologyConstraint(Value):
    """A number or time that the question demands."""

    kind: str = Field(description="range | time | value")
    attribute: str | None = Field(default=None, description="The attribute it most likely speaks of")
    text: str = Field(description="The words of the question")
    low: float | None = Field(default=None, description="range: the limit, or the lower one of `between`")
    high: float | None = Field(default=None, description="range: the upper limit of `between`")
    comparison: str = Field(
        default="", description="range: at_least | more_than | at_most | less_than | equal | between"
    )
    first: str | None = Field(default=None, description="time: first moment, ISO; none: open to the past")
    end: str | None = Field(default=None, description="time: first moment after it, ISO; none: open to the future")


class OntologyPath(Value):
    """A way over the ontology graph from what the question speaks of to something else."""

    kind: str = Field(description="Kind of the element reached")
    key: str = Field(description="Its id")
    label: str = Field(description="Its name in the language of the question")
    steps: tuple[PathStep, ...] = Field(default=(), description="The edges, in order")
    weight: float = Field(description="Product of the edges' weights, decay and hub damping, in (0, 1]")
    text: str = Field(description="The way in words, in the language of the question")


class CandidateCapability(Value):
    """Something that can be done about the question."""

    key: str = Field(description="Id of the capability")
    label: str = Field(description="Its name in the language of the question")
    description: str = Field(default="", description="What it does")
    score: float = Field(description="How strongly what the question speaks of leads to it; 1 or more: named itself")
    path: str = Field(default="", description="How it was reached, in words")


class DescribedSample(Value):
    """What a part of the question stands for, by the facts of the ontology."""

    text: str = Field(description="The words of the question, descriptions inside them already named")
    names: tuple[str, ...] = Field(description="Names of what it stands for, in the language of the question")
    aliases: tuple[str, ...] = Field(default=(), description="All names of these, in both languages")
    facts: tuple[PathStep, ...] = Field(default=(), description="The fact by which each was found")
    asked: bool = Field(default=False, description="Whether it is what the question asks for")


class OntologyEvidence(Value):
    """What the ontology contributed to one question."""

    matches: tuple[OntologyMatch, ...] = Field(default=(), description="What the question speaks of")
    constraints: tuple[OntologyConstraint, ...] = Field(default=(), description="Numbers, times and values it demands")
    paths: tuple[OntologyPath, ...] = Field(default=(), description="The strongest ways, best first")
    capabilities: tuple[CandidateCapability, ...] = Field(default=(), description="What could be done, best first")
    note_paths: tuple[EvidencePath, ...] = Field(default=(), description="How its best notes were reached, best first")
    understood: str = Field(default="", description="The question with names in the place of descriptions")
    described: tuple[DescribedSample, ...] = Field(
        default=(), description="What the question means without naming it: the guarantor of a named company"
    )
    answered: bool = Field(default=False, description="Whether the last description is all that is asked")
    recognised: float = Field(
        default=0.0, ge=0.0, le=1.0, description="Share of the question's letters that name or describe its elements"
    )
    notes: int = Field(default=0, ge=0, description="Notes it brought")
    elapsed_ms: float = Field(default=0.0, ge=0.0, description="Time it took")
