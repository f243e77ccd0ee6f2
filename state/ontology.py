"""What the ontology says about a question: what it speaks of, how things hang together, what can be done."""

from __future__ import annotations

from pydantic import Field

from theworld.state.candidates import EvidencePath, PathStep, Value


class OntologyMatch(Value):
    """An element of the ontology that the question speaks of."""

    kind: str = Field(description="OntologyClass | Attribute | Relation | Capability | EntitySample")
    key: str = Field(description="Its id, for an attribute `class.attribute`")
    label: str = Field(description="Its name in the language of the question")
    how: str = Field(description="label | synonym | inverse | value | nested")
    score: float = Field(ge=0.0, le=1.0, description="How sure we are")
    start: int = Field(default=0, ge=0, description="Where it stands in the question")
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
