"""A ledger as people look at it: its documents, to page through, to search and whole; and what stands around an entity.

Around an entity stand notes that name it, and what else these name. The notes are those of documents that bear the name
as title or alias, then those that mention it. Of one entity at most `LOOKED_AT` of either kind are looked at, so that
the cost does not grow with the store. A note names an entity when it mentions it or its document has it as title;
dates, numbers and quantities are no entities here. Those come first that share most notes with it, a shared note
counting less the more notes name the other one anyway, as in the graph's walk. Of the notes those come first that name
most of these entities.

A name that nothing has gets names that come near: they hold one of its words or begin alike, most alike first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, Connection, Row, Select, func, or_, select, union

from theworld.stores.graph.pagerank import RankingParameters
from theworld.stores.ledger import models
from theworld.stores.ledger.database import Database, batches, findable, found_in
from theworld.stores.ledger.reading import NOTES, stored
from theworld.stores.records import Filters, StoredNote, filter_terms, passes, wanted_terms
from theworld.text import entity_key

_PAGE = 500


class DocumentData(BaseModel):
    """A document without its text."""

    id: str = Field(description="Unique within the tenant")
    title: str = Field(description="Title")
    source: str = Field(description="Path or URL")
    notes: int = Field(description="How many notes it has")
    characters: int = Field(description="Length of its text")
    languages: tuple[str, ...] = Field(description="`en`, `zh` or both")
    written_at: str | None = Field(description="When it was written or last changed, UTC, where known")
    metadata: dict[str, Any] = Field(description="What filters compare")
    aliases: tuple[str, ...] = Field(description="Other names of what it is about")


class StoredDocument(DocumentData):
    """A document whole."""

    text: str
    """The text that the offsets of its notes refer to."""
    parts: tuple[StoredNote, ...]
    """Its notes in order, without mentions."""


class ListData(BaseModel):
    """Some of the documents, ordered by id."""

    documents: tuple[DocumentData, ...] = Field(description="Of this page")
    total: int = Field(description="How many match in all")
    next_after: str | None = Field(description="Send it as `after` for the next page; null at the end")


LOOKED_AT = 200
_WEIGHED = 10
"""Times the entities wanted whose other notes are counted, those that share most."""
_VALUES = ("date", "number", "quantity")
"""Types of mentions that are no entities to go on to."""
_RARITY = RankingParameters().rarity
_NEAR_READ = 1000
"""Names compared for the nearest ones."""
_NEWEST = 20_000
"""Mentions, the newest, that the most named entities are counted over."""
_LEAST_ALIKE = 0.5
_BEGINNING = 2
"""Characters by which a mistyped name is looked for."""


class Entity(BaseModel):
    """Something that notes name."""

    key: str = Field(description="Its identity: case, width, script and spacing folded")
    label: str = Field(description="Its name, as notes write it")
    type: str = Field(description="Its type, such as person or place")
    notes: int = Field(description="How many notes name it; of one beside it, how many name both")


@dataclass(frozen=True, slots=True)
class NamingNote:
    """A note that names the entity."""

    note: StoredNote
    """Without its mentions."""
    titled: bool
    """Whether its document has the entity as title or alias."""
    names: tuple[str, ...]
    """Keys of the entities of `together` that it names, the most shared first."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """An entity and what stands around it: others that notes name with it, and the notes, of those looked at."""

    entity: Entity
    together: tuple[Entity, ...]
    naming: tuple[NamingNote, ...]


@dataclass(eq=False)
class Catalog:
    """What people look up in a ledger."""

    _ledger: Database

    def documents(
        self, *, tenant: str, search: str = "", filters: Filters | None = None, after: str = "", limit: int = 100
    ) -> ListData:
        """Return documents by id, at most `limit` of those after the id `after`, with how many match in all.

        `search` is looked for in id, title and source, in any case; `filters` are those of a query.
        """
        wanted, sought = wanted_terms(filters or {}), search.casefold()
        query = _documents(tenant).order_by(models.Document.document_id)
        note, counts = models.Note, defaultdict[int, dict[str, int]](dict)
        with self._ledger.reading() as connection:
            # Compared here: SQLite folds the case of ASCII letters only.
            matching = [
                row
                for row in connection.execute(query.execution_options(yield_per=_PAGE))
                if any(sought in part.casefold() for part in (row.id, row.title, row.source))
                and passes(filter_terms(row.metadata, row.id), wanted)
            ]
            rest = [row for row in matching if row.id > after]
            counted = select(note.document, note.language, func.count()).group_by(note.document, note.language)
            for number, language, count in found_in(connection, counted, note.document, [r.row for r in rest[:limit]]):
                counts[number][language] = count
        documents = tuple(DocumentData(**_facts(row, counts[row.row])) for row in rest[:limit])
        following = documents[-1].id if len(rest) > limit else None
        return ListData(documents=documents, total=len(matching), next_after=following)

    def document(self, document_id: str, *, tenant: str) -> StoredDocument | None:
        """Return a document with its text and notes, None when the tenant has none of that id."""
        document = models.Document
        query = _documents(tenant).add_columns(document.text).where(document.document_id == findable(document_id))
        with self._ledger.reading() as connection:
            row = connection.execute(query).one_or_none()
            if row is None:
                return None
            notes = connection.execute(NOTES.where(models.Note.document == row.row).order_by(models.Note.ordinal)).all()
            parts = stored(connection, notes, mentions=False)
        return StoredDocument(**_facts(row, Counter(note.language for note in parts)), parts=tuple(parts))

    def surroundings(self, name: str, *, tenant: str, limit: int = 12) -> Surroundings | None:
        """Return at most `limit` notes that name an entity and `limit` others they name; None for an unknown name."""
        entity, tenant = models.Entity, findable(tenant)
        query = select(entity.id, entity.key, entity.label, entity.type)
        query = query.where(entity.tenant == tenant, entity.key == findable(entity_key(name)))
        with self._ledger.reading() as connection:
            found = connection.execute(query).one_or_none()
            if found is None:
                return None
            bearing = select(models.Note.id).join(models.Alias, models.Alias.document == models.Note.document)
            bearing = bearing.where(models.Alias.entity == found.id)
            telling = select(models.Mention.note.label("id")).where(models.Mention.entity == found.id).distinct()
            titled, mentioning = (
                list(connection.scalars(rows.order_by("id").limit(LOOKED_AT))) for rows in (bearing, telling)
            )
            mentioning = [row for row in mentioning if row not in set(titled)]
            together, named = _together(connection, found.id, [*titled, *mentioning], limit)
            order = {one.key: place for place, one in enumerate(together)}
            names = {row: tuple(sorted(keys, key=order.__getitem__)) for row, keys in named.items()}
            # First of all the beginning of what bears the name.
            rest = sorted([*titled[1:], *mentioning], key=lambda row: (-len(names.get(row, ())), row))
            shown = [*titled[:1], *rest][:limit]
            known = connection.execute(NOTES.where(models.Note.id.in_(shown))).all()
            notes = {row.id: note for row, note in zip(known, stored(connection, known, mentions=False), strict=True)}
            naming = tuple(
                NamingNote(notes[row], row in set(titled), names.get(row, ())) for row in shown if row in notes
            )
            named_by = connection.scalar(select(func.count()).select_from(union(bearing, telling).subquery())) or 0
            around = Entity(key=found.key, label=found.label, type=found.type, notes=named_by)
            return Surroundings(around, together, naming)

    def near_names(self, name: str, *, tenant: str, limit: int = 12) -> list[str]:
        """Return names of entities most like this one, best first; for no name those that notes name most."""
        key, tenant = entity_key(name), findable(tenant)
        mention, note, entity = models.Mention, models.Note, models.Entity
        if name and not key:
            return []
        if not key:
            pairs = select(mention.entity, mention.note).join(note, note.id == mention.note)
            pairs = pairs.where(note.tenant == tenant, mention.type.not_in(_VALUES)).order_by(mention.id.desc())
            with self._ledger.reading() as connection:
                newest = {(row.entity, row.note) for row in connection.execute(pairs.limit(_NEWEST))}
                counts = Counter(row for row, _ in newest)
                best = sorted(counts, key=lambda row: (-counts[row], row))[:limit]
                labels = dict(connection.execute(select(entity.id, entity.label).where(entity.id.in_(best))).all())
            return [labels[row] for row in best]
        key = findable(key)
        parts = [part for part in dict.fromkeys([key, *key.split()]) if part]
        alike: list[ColumnElement[bool]] = [entity.key.contains(part, autoescape=True) for part in parts]
        alike += [entity.key.startswith(part[:_BEGINNING], autoescape=True) for part in parts]
        query = select(entity.key, entity.label).where(entity.tenant == tenant, or_(*alike))
        query = query.order_by(func.abs(func.length(entity.key) - len(key)), entity.key).limit(_NEAR_READ)
        matcher, scored = SequenceMatcher(b=key, autojunk=False), []
        for other, label in self._ledger.rows(query):
            matcher.set_seq1(other)
            score = 1.0 if key in other else matcher.ratio()
            if score >= _LEAST_ALIKE:
                scored.append((-score, len(other), label))
        return list(dict.fromkeys(label for _, _, label in sorted(scored)))[:limit]


def _documents(tenant: str) -> Select[Any]:
    document = models.Document
    named = document.id.label("row"), document.document_id.label("id"), document.properties.label("metadata")
    same = document.title, document.source, document.written_at, document.aliases
    query = select(*named, *same, func.length(document.text).label("characters"))
    return query.where(document.tenant == findable(tenant))


def _facts(row: Row[Any], languages: Mapping[str, int]) -> dict[str, Any]:
    return {**row._mapping, "notes": sum(languages.values()), "languages": tuple(sorted(languages))}


def _together(
    connection: Connection, entity: int, rows: Sequence[int], limit: int
) -> tuple[tuple[Entity, ...], dict[int, set[str]]]:
    """Return the entities most often named in these note rows, and by row the keys of those it names."""
    facts: dict[str, Row[Any]] = {}
    notes_of: defaultdict[str, set[int]] = defaultdict(set)
    mention, alias, note, table = models.Mention, models.Alias, models.Note, models.Entity
    titles = select(alias.entity, note.id).join(note, note.document == alias.document)
    titles = titles.join(models.Document, models.Document.id == alias.document)
    titles = titles.where(alias.name == models.Document.title)
    for some in batches(rows):
        # All that these notes mention, and the titles of their documents.
        mentioned = select(mention.entity, mention.note).where(mention.note.in_(some))
        pairs = union(mentioned, titles.where(note.id.in_(some))).subquery()
        query = select(table.id, table.key, table.label, table.type, pairs.c.note)
        query = query.join(pairs, pairs.c.entity == table.id).where(table.type.not_in(_VALUES))
        for row in connection.execute(query):
            if row.id != entity:
                facts[row.key] = row
                notes_of[row.key].add(row.note)
    best = sorted(notes_of, key=lambda key: (-len(notes_of[key]), key))[: limit * _WEIGHED]
    counts = select(mention.entity, func.count(mention.note.distinct())).group_by(mention.entity)
    anywhere = dict(found_in(connection, counts, mention.entity, [facts[key].id for key in best]))
    worth = {key: len(notes_of[key]) * _RARITY(anywhere.get(facts[key].id, 0)) for key in best}
    best = sorted(best, key=lambda key: (-worth[key], key))[:limit]
    named: defaultdict[int, set[str]] = defaultdict(set)
    for key in best:
        for note_row in notes_of[key]:
            named[note_row].add(key)
    together = (Entity(key=key, label=facts[key].label, type=facts[key].type, notes=len(notes_of[key])) for key in best)
    return tuple(together), dict(named)
