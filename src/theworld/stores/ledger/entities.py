"""Entities as people look at them: by name, and with the notes that name them and what else those notes name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Subquery, func, select, union

from theworld.stores.ledger import models
from theworld.text.identity import entity_key

_VALUES = ("number", "quantity", "date")
"""Types of what is no thing: two notes that say 3 have nothing in common."""
_ONCE = 0.5
"""Taken off shared notes, so that what stands beside an entity once comes after what does so twice of many times."""
_READ = 400
"""Notes of an entity that are looked at; those of a very common one say little more."""


Wanted = Sequence[int]
"""Row numbers."""


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """Something that notes name."""

    key: str
    """Its identity key (theworld.text.identity.entity_key)."""
    label: str
    type: str
    """Person, organization, place and so on."""
    notes: int
    """How many notes name it, by a mention or as their document's title."""
    shared: int = 0
    """Of the notes around another entity, how many name this one too."""


@dataclass(frozen=True, slots=True)
class NamingNote:
    """A note that names an entity."""

    id: str
    document_id: str
    title: str
    section: tuple[str, ...]
    titled: bool
    """Whether the entity is the title, or an alias, of its document."""
    entities: tuple[str, ...]
    """Keys of the neighbouring entities that it names."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """An entity, notes that name it, and the entities that these name most."""

    entity: NamedEntity
    neighbours: tuple[NamedEntity, ...]
    """Those that stand most often with it and least often without."""
    notes: tuple[NamingNote, ...]
    """Notes of its own documents first, then those that name most of the neighbours."""


def find_entities(connection: Connection, tenant: str, name: str, limit: int) -> list[NamedEntity]:
    """Return entities of a name: the one that is called so, then those whose names hold it, then hold words of it."""
    key = entity_key(name)
    if not key:
        return []
    found: dict[str, NamedEntity] = {}
    words = [word for word in key.split() if len(word) > 1]
    for condition in (
        models.Entity.key == key,
        models.Entity.key.contains(key, autoescape=True),
        *(models.Entity.key.contains(word, autoescape=True) for word in sorted(words, key=len, reverse=True)),
    ):
        if len(found) < limit:
            named = _counted(connection, tenant, condition, limit)
            found |= {entity.key: entity for entity in named if entity.key not in found}
    return list(found.values())[:limit]


def read_neighbourhood(
    connection: Connection, tenant: str, key: str, *, entities: int, notes: int
) -> Neighbourhood | None:
    """Return what stands around an entity: at most so many entities and notes; None for an unknown key."""
    known = _counted(connection, tenant, models.Entity.key == key, 1)
    if not known:
        return None
    entity = select(models.Entity.id).where(models.Entity.tenant == tenant, models.Entity.key == key)
    of_it = _naming(entities=list(connection.scalars(entity)))
    rows = list(connection.scalars(select(of_it.c.note).order_by(of_it.c.note).limit(_READ)))
    naming = _naming(notes=rows)
    other = models.Entity
    shared = (
        select(other.key, func.count())
        .join(naming, naming.c.entity == other.id)
        .where(other.key != key, other.type.not_in(_VALUES))
        .group_by(other.key)
        .order_by(func.count().desc(), other.key)
        .limit(entities * 8)
    )
    counts = {row[0]: row[1] for row in connection.execute(shared)}
    counted = _counted(connection, tenant, other.key.in_(counts), len(counts))
    near = [NamedEntity(e.key, e.label, e.type, e.notes, counts[e.key]) for e in counted]
    near = sorted(near, key=lambda e: (-((e.shared - _ONCE) ** 2) / max(e.notes, 1), e.key))[:entities]
    return Neighbourhood(known[0], tuple(near), _notes(connection, rows, key, [e.key for e in near])[:notes])


def _naming(entities: Wanted | None = None, notes: Wanted | None = None) -> Subquery:
    """Pairs of an entity and a note that names it; what is wanted is said inside the union, or all of it is read."""
    note, mention, alias = models.Note, models.Mention, models.Alias
    mentioned = select(mention.entity.label("entity"), mention.note.label("note"))
    titled = select(alias.entity.label("entity"), note.id.label("note")).join(note, note.document == alias.document)
    if entities is not None:
        mentioned, titled = mentioned.where(mention.entity.in_(entities)), titled.where(alias.entity.in_(entities))
    if notes is not None:
        mentioned, titled = mentioned.where(mention.note.in_(notes)), titled.where(note.id.in_(notes))
    return union(mentioned, titled).subquery()


def _counted(connection: Connection, tenant: str, condition: ColumnElement[bool], limit: int) -> list[NamedEntity]:
    """Return entities with their numbers of notes, the most often named first."""
    entity = models.Entity
    wanted = select(entity.id).where(entity.tenant == tenant, condition).order_by(func.length(entity.key)).limit(_READ)
    rows = list(connection.scalars(wanted))
    naming = _naming(entities=rows)
    query = (
        select(entity.key, entity.label, entity.type, func.count(naming.c.note).label("notes"))
        .outerjoin(naming, naming.c.entity == entity.id)
        .where(entity.id.in_(rows))
        .group_by(entity.key, entity.label, entity.type)
        .order_by(func.count(naming.c.note).desc(), entity.key)
        .limit(limit)
    )
    return [NamedEntity(*row) for row in connection.execute(query)]


def _notes(connection: Connection, rows: list[int], key: str, near: list[str]) -> tuple[NamingNote, ...]:
    note, document, entity, naming = models.Note, models.Document, models.Entity, _naming(notes=rows)
    pairs = select(naming.c.note, entity.key).join(entity, entity.id == naming.c.entity).where(entity.key.in_(near))
    names: dict[int, set[str]] = {}
    for row, name in connection.execute(pairs):
        names.setdefault(row, set()).add(name)
    titles = select(models.Alias.document).join(entity, entity.id == models.Alias.entity).where(entity.key == key)
    query = (
        select(note.id, note.note_id, document.document_id, document.title, note.section, document.id.in_(titles))
        .join(document, document.id == note.document)
        .where(note.id.in_(rows))
        .order_by(note.id)
    )
    found = [
        NamingNote(note_id, of, title, tuple(section), bool(titled), tuple(sorted(names.get(row, ()))))
        for row, note_id, of, title, section, titled in connection.execute(query)
    ]
    return tuple(sorted(found, key=lambda one: (not one.titled, -len(one.entities))))
