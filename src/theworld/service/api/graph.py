"""`/graph`: entities by name, what stands around one of them, and the classes of the tenant's ontology."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from theworld.ontology.files.drawing import to_svg
from theworld.ontology.model import Labels, Ontology
from theworld.ontology.storing import stored_ontology
from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code, Envelope, reply
from theworld.service.api.errors import GUARDED, documented, must_exist
from theworld.service.api.serving import in_thread, service_of

router = APIRouter(
    prefix="/api/v1/graph",
    tags=["graph"],
    responses=documented(*GUARDED, Code.NOT_FOUND, Code.STORE_UNAVAILABLE),
)
Querying = Annotated[Caller, caller_with("query")]
_NONE = Ontology(id="none")
NO_ENTITY = "no note of the tenant names an entity of this key"
NO_CLASS = "the tenant's ontology has no class of this id"


class EntityData(BaseModel):
    """Something that notes name."""

    key: str = Field(description="Its identity: what two names of the same thing have in common")
    label: str = Field(description="Its name as it was first written")
    type: str = Field(description="person, organization, place, work and so on, or other")
    notes: int = Field(description="How many notes name it")
    shared: int = Field(description="How many of the notes around the entity in the middle name it too")


class EntitiesData(BaseModel):
    """Entities of a name."""

    entities: list[EntityData] = Field(description="The one called so, then those whose names hold it or words of it")


class NoteData(BaseModel):
    """A note that names the entity in the middle."""

    id: str = Field(description="Id of the note")
    document_id: str = Field(description="Id of its document")
    title: str = Field(description="Title of its document")
    section: list[str] = Field(description="Headings it stands under, outermost first")
    titled: bool = Field(description="Whether its document is about the entity")
    entities: list[str] = Field(description="Keys of the neighbours that it names")


class NeighbourhoodData(BaseModel):
    """An entity with the notes that name it and what they name besides."""

    entity: EntityData = Field(description="The entity in the middle")
    neighbours: list[EntityData] = Field(description="Those that stand most often with it and least often without")
    notes: list[NoteData] = Field(description="Notes about it first, then those that name most neighbours")


class ClassData(BaseModel):
    """A class of the ontology."""

    id: str = Field(description="Its id")
    label: str = Field(description="Its name in the language asked for")
    description: str = Field(description="What it is")
    attributes: list[str] = Field(description="Names of its attributes")
    inherits: list[str] = Field(description="Ids of the classes it inherits from")


class OntologyData(BaseModel):
    """The tenant's ontology as a list of classes, and a picture around one of them."""

    id: str = Field(description="Id of the ontology, `none` where there is none")
    version: str = Field(description="Its version")
    classes: list[ClassData] = Field(description="Its classes")
    drawing: str | None = Field(description="SVG of the class asked for and its neighbours")


@router.get("/entities", response_model=Envelope[EntitiesData], summary="Find entities by name")
async def entities(
    request: Request,
    caller: Querying,
    name: Annotated[str, Query(min_length=1, max_length=200, description="A name, or part of one")],
    limit: Annotated[int, Query(ge=1, le=100, description="At most so many")] = 12,
) -> Response:
    """Return the tenant's entities of a name, the one that is called so first."""
    ledger = service_of(request).resources.store.ledger
    found = await in_thread(lambda: ledger.find_entities(caller.tenant, name, limit))
    return reply(request, EntitiesData(entities=[EntityData(**asdict(entity)) for entity in found]))


@router.get("/around", response_model=Envelope[NeighbourhoodData], summary="What stands around an entity")
async def around(
    request: Request,
    caller: Querying,
    key: Annotated[str, Query(min_length=1, max_length=500, description="Key of an entity")],
    entities: Annotated[int, Query(ge=0, le=60, description="At most so many neighbours")] = 14,
    notes: Annotated[int, Query(ge=1, le=100, description="At most so many notes")] = 10,
) -> Response:
    """Return an entity, notes that name it, and the entities that stand most often beside it."""
    ledger = service_of(request).resources.store.ledger
    found = await in_thread(lambda: ledger.neighbourhood(caller.tenant, key, most=entities, notes=notes))
    return reply(request, NeighbourhoodData.model_validate(asdict(must_exist(found, NO_ENTITY))))


@router.get("/classes", response_model=Envelope[OntologyData], summary="Classes of the ontology")
async def classes(
    request: Request,
    caller: Querying,
    around: Annotated[str, Query(max_length=200, description="Id of a class to draw with its neighbours")] = "",
    language: Annotated[Literal["en", "zh"], Query(description="Of names")] = "en",
) -> Response:
    """Return the classes of the tenant's ontology, none where it has no ontology."""
    store = service_of(request).resources.store

    def read() -> OntologyData | None:
        ontology = stored_ontology(store, tenant=caller.tenant) or _NONE
        if around and around not in {one.id for one in ontology.classes}:
            return None
        return _ontology(ontology, around, language)

    return reply(request, must_exist(await in_thread(read), NO_CLASS))


def _ontology(ontology: Ontology, around: str, language: Literal["en", "zh"]) -> OntologyData:
    def name(labels: Labels, otherwise: str) -> str:
        first, second = (labels.zh, labels.en) if language == "zh" else (labels.en, labels.zh)
        return next(iter((*first, *second)), otherwise)

    return OntologyData(
        id=ontology.id,
        version=ontology.version,
        classes=[
            ClassData(
                id=one.id,
                label=name(one.labels, one.id),
                description=getattr(one.description, language),
                attributes=[name(attribute.labels, attribute.id) for attribute in one.attributes],
                inherits=list(one.inherits),
            )
            for one in ontology.classes
        ],
        drawing=to_svg(ontology, language, [around], 1) if around else None,
    )
