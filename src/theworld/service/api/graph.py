"""`/graph`: the knowledge around a name, with places to draw it at.

Three columns: the entity, the notes that name it, and what these notes name besides. The notes stand in their order;
an entity stands at the mean height of the notes that name it, so that few lines cross. Positions are in columns and
rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code, Envelope, reply
from theworld.service.api.errors import GUARDED, documented
from theworld.service.api.ontology import ElementName, ShownNote, elements_named, ontology_of
from theworld.service.api.schemas import TEXT
from theworld.service.api.serving import in_thread, service_of
from theworld.service.runtime import Service
from theworld.stores.ledger.surroundings import NamedTogether, NamingNote, Surroundings
from theworld.text import Language

router = APIRouter(prefix="/api/v1", tags=["graph"], responses=documented(*GUARDED, Code.STORE_UNAVAILABLE))
_EMPTY = r"^$|" + TEXT


class Entity(BaseModel):
    """Something that notes name."""

    key: str = Field(description="Its identity: case, width, script and spacing folded")
    label: str = Field(description="Its name, as notes write it")
    type: str = Field(description="Its type, such as person or place")
    notes: int = Field(description="How many notes name it; of one beside it, how many name both")


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


@router.get("/graph", response_model=Envelope[GraphData], summary="The knowledge around a name")
async def around(
    request: Request,
    caller: Annotated[Caller, caller_with("query")],
    *,
    name: Annotated[
        str,
        Query(max_length=500, pattern=_EMPTY, description="Of an entity, in any case; empty: the commonest names"),
    ] = "",
    limit: Annotated[int, Query(ge=1, le=50, description="At most so many notes, and so many entities")] = 12,
    language: Annotated[Language, Query(description="Language of the ontology's names")] = "en",
) -> Response:
    """Return the notes that name an entity and what these name besides; for an unknown name, names that come near."""
    service = service_of(request)
    return reply(request, await in_thread(lambda: _around(service, caller.tenant, name, limit, language)))


def _around(service: Service, tenant: str, name: str, limit: int, language: Language) -> GraphData:
    store = service.resources.store
    found = store.surroundings(name, tenant=tenant, limit=limit)
    index = ontology_of(service, tenant)
    elements = elements_named(index, name, language)[:limit] if index is not None else []
    if found is None:
        near = store.near_names(name, tenant=tenant, limit=limit)
        return GraphData(entity=None, entities=[], notes=[], height=0, near=near, elements=elements)
    return _placed(found, elements)


def _placed(found: Surroundings, elements: list[ElementName]) -> GraphData:
    height = max(len(found.naming), len(found.together), 1)
    rows = _spread(len(found.naming), height)
    named_at: dict[str, list[float]] = {}
    for naming, row in zip(found.naming, rows, strict=True):
        for key in naming.names:
            named_at.setdefault(key, []).append(row)
    entities = _ordered(found.together, named_at, height)
    return GraphData(
        entity=Entity(key=found.key, label=found.label, type=found.type, notes=found.notes),
        entities=[
            PlacedEntity(key=one.key, label=one.label, type=one.type, notes=one.shared, y=y)
            for one, y in zip(entities, _spread(len(entities), height), strict=True)
        ],
        notes=[_note(naming, y) for naming, y in zip(found.naming, rows, strict=True)],
        height=height,
        near=[],
        elements=elements,
    )


def _note(naming: NamingNote, y: float) -> PlacedNote:
    return PlacedNote(note=ShownNote.of(naming.note), titled=naming.titled, names=list(naming.names), y=y)


def _ordered(
    entities: Sequence[NamedTogether], named_at: Mapping[str, Sequence[float]], height: int
) -> list[NamedTogether]:
    """Return the entities by the mean height of what names them; those that no note given names stand last."""
    return sorted(entities, key=lambda one: fmean(named_at.get(one.key, [float(height)])))


def _spread(count: int, height: int) -> list[float]:
    """Return the rows of some nodes, evenly over the height."""
    return [round((place + 0.5) * height / count - 0.5, 3) for place in range(count)]
