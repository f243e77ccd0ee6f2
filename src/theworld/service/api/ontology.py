"""`/ontology`: the classes of the tenant's ontology, and any of its elements with what it is tied to."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from theworld.ontology.index import OntologyIndex
from theworld.ontology.model import NodeKind, Ref
from theworld.ontology.wording import label_of, told
from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code, Envelope, reply
from theworld.service.api.errors import GUARDED, documented, must_exist
from theworld.service.api.schemas import TEXT
from theworld.service.api.serving import in_thread, service_of
from theworld.service.runtime import Service
from theworld.stores.records import StoredNote
from theworld.text import Language, entity_key

router = APIRouter(
    prefix="/api/v1/ontology",
    tags=["graph"],
    responses=documented(*GUARDED, Code.NOT_FOUND, Code.STORE_UNAVAILABLE),
)
Querying = Annotated[Caller, caller_with("query")]
Spoken = Annotated[Language, Query(description="Language of names and descriptions, where there is a choice")]
EXCERPT = 400
"""Characters shown of a note."""
NO_ELEMENT = "the tenant's ontology has no element of this kind and key"


class ElementName(BaseModel):
    """An element of the ontology by name."""

    kind: NodeKind = Field(description="What it is")
    key: str = Field(description="Its id; of an attribute `class.attribute`")
    label: str = Field(description="Its preferred name")


class ClassData(ElementName):
    """A class in short."""

    description: str = Field(description="What it is, in a sentence")
    inherits: list[ElementName] = Field(description="Classes it inherits")
    attributes: int = Field(description="Attributes it has, inherited ones included")
    relations: int = Field(description="Relations it is the source of, inherited ones included")
    samples: int = Field(description="Known instances")


class OntologyData(BaseModel):
    """The classes of an ontology."""

    id: str | None = Field(description="Id of the ontology; null where the tenant has none")
    version: str = Field(description="Its version")
    description: str = Field(description="What it is about")
    classes: list[ClassData] = Field(description="In the order of the ontology")
    total: int = Field(description="How many match in all")


class Tie(BaseModel):
    """What an element is tied to."""

    relation: str = Field(description="How, in words, from the element to the other")
    weight: float = Field(description="How strong, in (0, 1]")
    other: ElementName = Field(description="The other element")


class ShownNote(BaseModel):
    """A note, as far as it takes to recognise and open it."""

    id: str = Field(description="Id of the note")
    document_id: str = Field(description="Document it is from")
    title: str = Field(description="Title of the document")
    section: list[str] = Field(description="Headings it stands under, outermost first")
    text: str = Field(description=f"Its first {EXCERPT} characters")
    start: int = Field(description="Character offset in the document")
    end: int = Field(description="End offset, exclusive")

    @classmethod
    def of(cls, note: StoredNote) -> ShownNote:
        """Return a note of the store."""
        return cls(
            id=note.id, document_id=note.document_id, title=note.title, section=list(note.section),
            text=note.text[:EXCERPT], start=note.start, end=note.end,
        )  # fmt: skip


class ElementData(ElementName):
    """An element with what it is tied to."""

    names: list[str] = Field(description="All its names")
    description: str = Field(description="What it is, in a sentence")
    ties: list[Tie] = Field(description="The strongest first")
    tied: int = Field(description="How many there are in all")
    notes: list[ShownNote] = Field(description="Notes that name it, those first that say most")


def ontology_of(service: Service, tenant: str) -> OntologyIndex | None:
    """Return a tenant's ontology, None where there is none."""
    channel = service.resources.ontology
    return channel.indexes.of(tenant) if channel is not None else None


def elements_named(index: OntologyIndex, name: str, language: Language) -> list[ElementName]:
    """Return the elements that bear a name, in the order of the ontology."""
    key, elements = entity_key(name), index.lookup.elements.items()
    return [
        ElementName(kind=ref.kind, key=ref.key, label=element.labels.preferred(language))
        for ref, element in elements
        if key and any(entity_key(label) == key for label in element.labels.all())
    ]


@router.get("", response_model=Envelope[OntologyData], summary="The classes of the ontology")
async def classes(
    request: Request,
    caller: Querying,
    *,
    search: Annotated[str, Query(max_length=200, description="Part of a name, in any case")] = "",
    limit: Annotated[int, Query(ge=1, le=500, description="At most so many")] = 200,
    language: Spoken = "en",
) -> Response:
    """List the classes of the tenant's ontology."""
    service = service_of(request)

    def read() -> OntologyData:
        index = ontology_of(service, caller.tenant)
        if index is None:
            return OntologyData(id=None, version="", description="", classes=[], total=0)
        found, sought = index.lookup.ontology, search.casefold()
        ids = [c.id for c in found.classes if any(sought in name.casefold() for name in (c.id, *c.labels.all()))]
        told_of = _classes(index, ids[:limit], language)
        about = found.description.of(language)
        return OntologyData(id=found.id, version=found.version, description=about, classes=told_of, total=len(ids))

    return reply(request, await in_thread(read))


def _classes(index: OntologyIndex, ids: list[str], language: Language) -> list[ClassData]:
    lookup = index.lookup
    samples = Counter(sample.of for sample in lookup.ontology.samples)

    def name(class_id: str) -> ElementName:
        label = lookup.classes[class_id].labels.preferred(language)
        return ElementName(kind="OntologyClass", key=class_id, label=label)

    return [
        ClassData(
            **name(one).model_dump(),
            description=lookup.classes[one].description.of(language),
            inherits=[name(parent) for parent in lookup.classes[one].inherits],
            attributes=sum(1 for _ in lookup.attributes(one)),
            relations=len(lookup.relations_from(one)),
            samples=samples[one],
        )
        for one in ids
    ]


@router.get("/{kind}/{key}", response_model=Envelope[ElementData], summary="An element of the ontology")
async def element(
    request: Request,
    caller: Querying,
    kind: Annotated[NodeKind, Path(description="What it is")],
    key: Annotated[str, Path(min_length=1, max_length=300, pattern=TEXT, description="Its id")],
    *,
    limit: Annotated[int, Query(ge=1, le=100, description="At most so many ties, and so many notes")] = 24,
    language: Spoken = "en",
) -> Response:
    """Return an element with the elements it is tied to, and the notes that name it."""
    service = service_of(request)

    def read() -> ElementData | None:
        index = ontology_of(service, caller.tenant)
        number = index.graph.number.get(Ref(kind, key)) if index is not None else None
        if index is None or number is None:
            return None
        ties = _ties(index, number, limit, language)
        found = index.lookup.elements[Ref(kind, key)]
        return ElementData(
            kind=kind, key=key, label=found.labels.preferred(language), names=list(found.labels.all()),
            description=found.description.of(language), ties=ties,
            tied=int(index.graph.starts[number + 1] - index.graph.starts[number]),
            notes=_naming(service, index, caller.tenant, number, limit),
        )  # fmt: skip

    return reply(request, must_exist(await in_thread(read), NO_ELEMENT))


def _ties(index: OntologyIndex, number: int, limit: int, language: Language) -> list[Tie]:
    graph = index.graph
    first, last = int(graph.starts[number]), int(graph.starts[number + 1])
    found = []
    for edge in range(first, min(last, first + limit)):
        target = int(graph.targets[edge])
        ref, label = graph.refs[target], label_of(graph, target, language)
        other = ElementName(kind=ref.kind, key=ref.key, label=label)
        relation = told(graph.steps[int(graph.step_of[edge])], graph, language)
        found.append(Tie(relation=relation, weight=round(float(graph.weights[edge]), 4), other=other))
    return found


def _naming(service: Service, index: OntologyIndex, tenant: str, number: int, limit: int) -> list[ShownNote]:
    _, notes, worth = index.notes.naming(np.array([number]))
    ids = [index.notes.ids[int(notes[place])] for place in np.lexsort((notes, -worth))[:limit]]
    return [ShownNote.of(note) for note in service.resources.store.notes(ids, tenant=tenant, mentions=False)]
