"""`/graph`: the knowledge around a name; `/ontology`: the classes of an ontology, and its elements with their ties.

Around a name there are three columns: the entity, the notes that name it, and what these notes name besides. The notes
stand in their order; an entity stands at the mean height of the notes that name it, so that few lines cross. Positions
are in columns and rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from statistics import fmean
from typing import Annotated

import numpy as np
from fastapi import Path, Query, Request
from pydantic import BaseModel, BeforeValidator, Field

from theworld.ontology.model import NodeKind, Ref
from theworld.ontology.retrieval import OntologyIndex
from theworld.ontology.walking import label_of, told
from theworld.service.api.access import Querying
from theworld.service.api.replies import GUARDED, Code, must_exist, router_of
from theworld.service.api.schemas import TEXT
from theworld.service.api.serving import enveloped, service_of
from theworld.service.runtime import Service
from theworld.stores.ledger.catalog import Entity
from theworld.text import Language, entity_key

graph_router = router_of("graph", *GUARDED, Code.STORE_UNAVAILABLE)
router = router_of("graph", *GUARDED, Code.NOT_FOUND, Code.STORE_UNAVAILABLE, prefix="/api/v1/ontology")
Spoken = Annotated[Language, Query(description="Language of names and descriptions, where there is a choice")]
_OF_ENTITY = "Of an entity, in any case; empty: the commonest names"
Name = Annotated[str, Query(max_length=500, pattern=r"^$|" + TEXT, description=_OF_ENTITY)]
EXCERPT = 400
Excerpt = Annotated[str, BeforeValidator(lambda text: text[:EXCERPT])]
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
    text: Excerpt = Field(description=f"Its first {EXCERPT} characters")
    start: int = Field(description="Character offset in the document")
    end: int = Field(description="End offset, exclusive")


class ElementData(ElementName):
    """An element with what it is tied to."""

    names: list[str] = Field(description="All its names")
    description: str = Field(description="What it is, in a sentence")
    ties: list[Tie] = Field(description="The strongest first")
    tied: int = Field(description="How many there are in all")
    notes: list[ShownNote] = Field(description="Notes that name it, those first that say most")


class PlacedEntity(Entity):
    """An entity that notes name together with the one asked for."""

    y: float = Field(description="Row, from 0")


class PlacedNote(BaseModel):
    """A note that names the entity."""

    note: ShownNote
    titled: bool = Field(description="Whether its document has the entity as title or alias")
    names: list[str] = Field(description="Keys of the entities it names besides, among those given")
    y: float = Field(description="Row, from 0")


class GraphData(BaseModel):
    """What stands around a name."""

    entity: Entity | None = Field(description="The entity of that name; null where no note names it")
    entities: list[PlacedEntity] = Field(description="Named by the same notes, from the top to the bottom")
    notes: list[PlacedNote] = Field(description="Notes that name it, from the top to the bottom")
    height: int = Field(description="Rows of the drawing; the entity stands in their middle")
    near: list[str] = Field(description="Where there is no such entity: the most similar names, or the commonest ones")
    elements: list[ElementName] = Field(description="Elements of the ontology that bear the name")


@enveloped(graph_router.get, "/graph", "The knowledge around a name")
def around(
    request: Request,
    caller: Querying,
    *,
    name: Name = "",
    limit: Annotated[int, Query(ge=1, le=50, description="At most so many notes, and so many entities")] = 12,
    language: Annotated[Language, Query(description="Language of the ontology's names")] = "en",
) -> GraphData:
    """Return the notes that name an entity and what these name besides; for an unknown name, names that come near."""
    service = service_of(request)
    store, index = service.resources.store, _ontology_of(service, caller.tenant)
    key, known = entity_key(name), index.lookup.elements if index is not None else {}
    elements = [
        ElementName(kind=ref.kind, key=ref.key, label=element.labels.preferred(language))
        for ref, element in known.items()
        if key and any(entity_key(label) == key for label in element.labels.all())
    ][:limit]
    found = store.surroundings(name, tenant=caller.tenant, limit=limit)
    if found is None:
        near = store.near_names(name, tenant=caller.tenant, limit=limit)
        return GraphData(entity=None, entities=[], notes=[], height=0, near=near, elements=elements)
    height = max(len(found.naming), len(found.together), 1)
    # Both over the whole height, evenly.
    numbers = (len(found.naming), len(found.together))
    rows, places = ([round((at + 0.5) * height / n - 0.5, 3) for at in range(n)] for n in numbers)
    named_at: dict[str, list[float]] = defaultdict(list)
    for naming, row in zip(found.naming, rows, strict=True):
        for key in naming.names:
            named_at[key].append(row)
    # What no note given names stands last.
    entities = sorted(found.together, key=lambda one: fmean(named_at.get(one.key, [float(height)])))
    placed = [PlacedEntity(**dict(one), y=y) for one, y in zip(entities, places, strict=True)]
    notes = [
        PlacedNote(note=_shown(naming.note), titled=naming.titled, names=list(naming.names), y=y)
        for naming, y in zip(found.naming, rows, strict=True)
    ]
    return GraphData(entity=found.entity, entities=placed, notes=notes, height=height, near=[], elements=elements)


_shown = partial(ShownNote.model_validate, from_attributes=True)


def _ontology_of(service: Service, tenant: str) -> OntologyIndex | None:
    """Return a tenant's ontology, None where there is none."""
    channel = service.resources.ontology
    return channel.indexes.of(tenant) if channel is not None else None


@enveloped(router.get, "", "The classes of the ontology")
def classes(
    request: Request,
    caller: Querying,
    *,
    search: Annotated[str, Query(max_length=200, description="Part of a name, in any case")] = "",
    limit: Annotated[int, Query(ge=1, le=500, description="At most so many")] = 200,
    language: Spoken = "en",
) -> OntologyData:
    """List the classes of the tenant's ontology."""
    index = _ontology_of(service_of(request), caller.tenant)
    if index is None:
        return OntologyData(id=None, version="", description="", classes=[], total=0)
    lookup, found, sought = index.lookup, index.lookup.ontology, search.casefold()
    ids = [c.id for c in found.classes if any(sought in name.casefold() for name in (c.id, *c.labels.all()))]
    samples = Counter(sample.of for sample in found.samples)

    def named(class_id: str) -> ElementName:
        label = lookup.classes[class_id].labels.preferred(language)
        return ElementName(kind="OntologyClass", key=class_id, label=label)

    shown = []
    for one in ids[:limit]:
        line = lookup.ancestors(one)
        relations = sum(relation.source in line for relation in found.relations)
        counts = {"attributes": len(list(lookup.attributes(one))), "relations": relations, "samples": samples[one]}
        about, parents = lookup.classes[one].description.of(language), map(named, lookup.classes[one].inherits)
        shown.append(ClassData(**dict(named(one)), **counts, description=about, inherits=list(parents)))
    about = found.description.of(language)
    return OntologyData(id=found.id, version=found.version, description=about, classes=shown, total=len(ids))


@enveloped(router.get, "/{kind}/{key}", "An element of the ontology")
def element(
    request: Request,
    caller: Querying,
    kind: Annotated[NodeKind, Path(description="What it is")],
    key: Annotated[str, Path(min_length=1, max_length=300, pattern=TEXT, description="Its id")],
    *,
    limit: Annotated[int, Query(ge=1, le=100, description="At most so many ties, and so many notes")] = 24,
    language: Spoken = "en",
) -> ElementData:
    """Return an element with the elements it is tied to, and the notes that name it."""
    service = service_of(request)
    index = must_exist(_ontology_of(service, caller.tenant), NO_ELEMENT)
    graph, found = index.graph, index.lookup.elements
    number = must_exist(graph.number.get(Ref(kind, key)), NO_ELEMENT)
    _, notes, worth = index.notes.naming(np.array([number]))
    ids = [index.notes.ids[int(notes[place])] for place in np.lexsort((notes, -worth))[:limit]]
    naming = service.resources.store.notes(ids, tenant=caller.tenant, mentions=False)
    first, last = int(graph.starts[number]), int(graph.starts[number + 1])
    ties = []
    for edge in range(first, min(last, first + limit)):
        target = int(graph.targets[edge])
        ref, label = graph.refs[target], label_of(graph, target, language)
        other = ElementName(kind=ref.kind, key=ref.key, label=label)
        relation = told(graph.steps[int(graph.step_of[edge])], graph, language)
        ties.append(Tie(relation=relation, weight=round(float(graph.weights[edge]), 4), other=other))
    this = found[Ref(kind, key)]
    return ElementData(
        kind=kind, key=key, label=this.labels.preferred(language), names=list(this.labels.all()),
        description=this.description.of(language), ties=ties, tied=last - first, notes=list(map(_shown, naming)),
    )  # fmt: skip
