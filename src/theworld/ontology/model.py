"""What an ontology is made of: classes, attributes, relations, capabilities and samples, each with zh and en labels.

Frozen plain data, and at the same time the schema of the YAML form (docs/ontology.md). Whether names refer to
something that exists is `checking`'s part; what a class inherits is `lookup`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, field_validator, model_validator

from theworld.text import Language

NodeKind = Literal["OntologyClass", "Attribute", "Relation", "Capability", "EntitySample"]
"""The kinds of nodes of the ontology graph."""
EdgeKind = Literal["INHERITS", "HAS_ATTRIBUTE", "HAS_RELATION", "HAS_CAPABILITY", "REFERS_TO"]
"""The kinds of edges. REFERS_TO: a relation to its range class, a sample to its class and to other samples, a
capability to what it needs and gives, a note to what it names."""
AttributeType = Literal["string", "number", "integer", "date", "boolean", "enum"]
"""What an attribute's values are."""
Aggregation = Literal["sum", "average", "min", "max", "last", "count"]
"""How values of a measure are put together when a question does not say."""

Id = Annotated[str, StringConstraints(pattern=r"^\w[\w\-]*$", max_length=200)]
Name = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*\w[^\x00-\x1f\x7f]*$", max_length=200)]
"""A column, as the database writes it: `Price (EUR)`, `2024`."""
_TABLE = r"[^\x00-\x1f\x7f.]*\w[^\x00-\x1f\x7f.]*"
TableName = Annotated[str, StringConstraints(pattern=rf"^{_TABLE}(\.{_TABLE})?$", max_length=200)]
"""A table, with its schema if need be."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def _printable(value: Any) -> Any:
    """Return a text without control characters, which neither XML nor a diagram can hold."""
    return _CONTROL.sub(" ", value) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_printable)]
Label = Annotated[
    str,
    StringConstraints(min_length=1, max_length=500),
    BeforeValidator(lambda value: " ".join(_printable(value).split()) if isinstance(value, str) else value),
]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Endpoint = Annotated[str, StringConstraints(pattern=r"^\w[\w\-]*(\.\w[\w\-]*)?$", max_length=400)]
"""A class, or an attribute as `class.attribute`."""


class Ref(NamedTuple):
    """One element: its kind and its key, which is the id, for an attribute `class.attribute`."""

    kind: NodeKind
    key: str


def _same_in_both(value: Any) -> Any:
    """Return one text as that of both languages."""
    return {"zh": value, "en": value} if isinstance(value, str) else value


class Part(BaseModel):
    """Base of all parts: frozen, unknown names refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, coerce_numbers_to_str=True)


class Words(Part):
    """One text in both languages; either may be missing."""

    zh: Text = Field(default="", description="Chinese")
    en: Text = Field(default="", description="English")

    _both = model_validator(mode="before")(_same_in_both)

    def of(self, language: Language) -> str:
        """Return the text in a language, else in the other."""
        return (self.zh or self.en) if language == "zh" else (self.en or self.zh)


class Labels(Part):
    """Names by language; the first is the preferred one, the rest are synonyms."""

    zh: tuple[Label, ...] = Field(default=(), description="Chinese names")
    en: tuple[Label, ...] = Field(default=(), description="English names")

    @field_validator("zh", "en", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    def preferred(self, language: Language) -> str:
        """Return the preferred name in a language, else in the other, else nothing."""
        first, second = (self.zh, self.en) if language == "zh" else (self.en, self.zh)
        return (first or second or ("",))[0]

    def all(self) -> tuple[str, ...]:
        """Return every name once, Chinese first."""
        return tuple(dict.fromkeys((*self.zh, *self.en)))

    def end_in(self, words: Iterable[str]) -> bool:
        """Return whether a name ends in one of the words, in lower case."""
        return any(label.casefold().endswith(tuple(words)) for label in self.all())


class Element(Part):
    """What classes, attributes, relations, capabilities and samples share."""

    id: Id = Field(description="Identifier: letters, digits, _ and -")
    labels: Labels = Field(description="Names, zh and en; the first is preferred, the rest are synonyms")
    description: Words = Field(default_factory=Words, description="What it is, in a sentence")
    strength: Share = Field(default=1.0, description="Strength of the business rule that ties it to its class")
    confidence: Share = Field(default=1.0, description="How sure a person is that it holds")
    iri: str | None = Field(default=None, description="Where it came from, if from OWL, RDFS or SKOS")

    @field_validator("labels")
    @classmethod
    def _has_a_name(cls, labels: Labels) -> Labels:
        if not labels.all():
            raise ValueError("needs at least one label, zh or en")
        return labels


class EnumValue(Part):
    """One value of an `enum` attribute."""

    id: Id = Field(description="Identifier within the attribute")
    labels: Labels = Field(default_factory=Labels, description="Names of the value; the id is one anyway")
    stored: str | int | None = Field(default=None, description="What the column holds; default: the id")

    @property
    def in_column(self) -> str | int:
        """What the column holds."""
        return self.id if self.stored is None else self.stored


class Attribute(Element):
    """A property of a class with plain values."""

    type: AttributeType = Field(default="string", description="What its values are")
    unit: Words | None = Field(default=None, description="Unit of its numbers")
    values: tuple[EnumValue, ...] = Field(default=(), description="The values of an enum")
    column: Name | None = Field(default=None, description="Column of the class's table that holds it")
    times: tuple[Name, ...] = Field(default=(), description="Further columns it is multiplied by: price times quantity")
    less: Name | None = Field(default=None, description="Column of the share that is taken off: a discount")
    since: Name | None = Field(
        default=None, description="Column of an earlier date: its value is the days from then on"
    )
    listed: bool = Field(default=False, description="Its values are read from the rows, to be named in questions")
    aggregation: Aggregation | None = Field(
        default=None, description="Makes it a measure: how its values are put together by default"
    )

    @property
    def per_second(self) -> int | None:
        """How many units of a date kept as a number are a second, 0 of one that is not read; None of all else."""
        if self.type != "date" or (self.confidence and not self.unit):
            return None
        return {"s": 1, "ms": 1000}.get(self.unit.en, 0) if self.unit else 0

    @model_validator(mode="after")
    def _values_are_of_an_enum(self) -> Self:
        if (self.type == "enum") != bool(self.values):
            raise ValueError("`values` are for type enum, and an enum needs them")
        if self.aggregation in {"sum", "average"} and self.type not in {"number", "integer"}:
            raise ValueError(f"aggregation {self.aggregation} needs a number, not {self.type}")
        return self


class LabelColumns(Part):
    """The columns that hold what a row is called."""

    zh: Name | None = Field(default=None, description="Column of Chinese names")
    en: Name | None = Field(default=None, description="Column of English names")

    _both = model_validator(mode="before")(_same_in_both)

    def of(self, language: Language) -> str | None:
        """Return the column in a language, else the other."""
        return (self.zh or self.en) if language == "zh" else (self.en or self.zh)


class ClassTable(Part):
    """The table whose rows are a class's instances."""

    name: TableName = Field(description="Table")
    key: Name = Field(description="Column that identifies a row")
    label: LabelColumns = Field(default_factory=LabelColumns, description="Columns of the row's name")
    tenant: Name | None = Field(default=None, description="Column that says whose row it is")
    given: Name | None = Field(default=None, description="Column of a first name, shown before the row's name")
    time: Name | None = Field(default=None, description="Column of when it happened, for events and facts")
    counted: bool = Field(
        default=False, description="Its rows are counted where no measure is named; else its first measure is meant"
    )
    counts: dict[Name, str | int | None] = Field(
        default_factory=dict, description="Columns and values of the rows that count: `deleted: 0`, `deleted_at: null`"
    )

    @property
    def counted_rows(self) -> list[str]:
        """Which rows count, in words: "deleted = 0"."""
        return [
            f"{column} is empty" if value is None else f"{column} = {value}" for column, value in self.counts.items()
        ]


class RelationJoin(Part):
    """Where a relation's pairs are: a column of the source's table, or a table between the two."""

    column: Name | None = Field(default=None, description="Column of the source's table holding the target's key")
    table: TableName | None = Field(default=None, description="Table between the two")
    source_key: Name | None = Field(default=None, description="Its column with the source's key")
    target_key: Name | None = Field(default=None, description="Its column with the target's key")
    tenant: Name | None = Field(default=None, description="Its column that says whose row it is")
    time: Name | None = Field(default=None, description="Its column of when the relation came about")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        between = (self.table, self.source_key, self.target_key)
        if self.column is not None and any((*between, self.tenant, self.time)):
            raise ValueError("give either `column`, or `table` with `source_key` and `target_key`")
        if self.column is None and not all(between):
            raise ValueError("needs `column`, or `table` with `source_key` and `target_key`")
        return self


class Roles(Part):
    """What each end of a relation is called in it: the guarantor and the guaranteed company."""

    source: Labels = Field(default_factory=Labels, description="What the source is to the target: guarantor")
    target: Labels = Field(default_factory=Labels, description="What the target is to the source: guaranteed company")


class Relation(Element):
    """A relation from one class to another."""

    source: Id = Field(description="Class it goes from (its domain)")
    target: Id = Field(description="Class it goes to (its range)")
    inverse: Labels = Field(default_factory=Labels, description="Names when read from target to source")
    roles: Roles = Field(default_factory=Roles, description="Names of its ends: the guarantor of, the subsidiary of")
    symmetric: bool = Field(default=False, description="Holds both ways")
    contains: bool = Field(
        default=False,
        description="A source belongs to its target of the same class, as a city to a district",
    )
    join: RelationJoin | None = Field(default=None, description="Where its pairs are in the database")


class Capability(Element):
    """Something that can be done with instances of a class: an analysis, a check, a tool."""

    inputs: tuple[Endpoint, ...] = Field(default=(), description="Classes or `class.attribute` it works on")
    outputs: tuple[Endpoint, ...] = Field(default=(), description="Classes or `class.attribute` it gives")


class OntologyClass(Element):
    """A class of things."""

    inherits: tuple[Id, ...] = Field(default=(), description="Classes whose attributes and capabilities it has too")
    attributes: tuple[Attribute, ...] = Field(default=(), description="Its own attributes")
    capabilities: tuple[Id, ...] = Field(default=(), description="Capabilities it offers")
    table: ClassTable | None = Field(default=None, description="Where its instances are")


class EntitySample(Element):
    """A known instance of a class: a company, a region, a bank."""

    of: Id = Field(alias="class", description="Its class")
    key: str | int | None = Field(default=None, description="Its key in the class's table")
    facts: dict[Id, tuple[Id, ...]] = Field(
        default_factory=dict, description="Relations it has to other samples, by relation"
    )
    values: dict[Id, str | int | Finite] = Field(
        default_factory=dict, description="Values of its attributes, by attribute; of an enum the value's id"
    )


class Ontology(Part):
    """A whole ontology."""

    id: Id = Field(description="Identifier of the ontology")
    version: str = Field(default="1", description="Version, in words of your own")
    description: Words = Field(default_factory=Words, description="What it is about")
    classes: tuple[OntologyClass, ...] = Field(default=(), description="Its classes")
    relations: tuple[Relation, ...] = Field(default=(), description="Its relations")
    capabilities: tuple[Capability, ...] = Field(default=(), description="Its capabilities")
    samples: tuple[EntitySample, ...] = Field(default=(), description="Its samples")

    def elements(self) -> Iterator[tuple[Ref, Element]]:
        """Yield every element with its reference: classes each followed by its attributes, then the other kinds."""
        for one in self.classes:
            yield Ref("OntologyClass", one.id), one
            yield from ((Ref("Attribute", f"{one.id}.{attribute.id}"), attribute) for attribute in one.attributes)
        yield from ((Ref("Relation", relation.id), relation) for relation in self.relations)
        yield from ((Ref("Capability", capability.id), capability) for capability in self.capabilities)
        yield from ((Ref("EntitySample", sample.id), sample) for sample in self.samples)
