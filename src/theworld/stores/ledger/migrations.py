"""An older ledger brought up to date: what its tables lack is added by the models, what they hold is changed by steps.

Tables, columns and indexes that the models have and the ledger has not are made; new columns may be null or have a
constant default, which rewrites no row. Content that means something else in a later version is changed by the step of
that version, on plain tables that no later model changes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateColumn

from theworld.stores.ledger.models import Base
from theworld.text.folding import simplified

_LOG = logging.getLogger(__name__)
_ENTITY = sa.table("entity", *map(sa.column, ("id", "tenant", "key", "type", "qid")))
_DOCUMENT = sa.table("document", *map(sa.column, ("id", "title")))
_ALIAS = sa.table("alias", *map(sa.column, ("document", "entity", "name")))
_MENTION = sa.table("mention", *map(sa.column, ("id", "entity")))
_NODE = sa.table("graph_node", sa.column("kind"))
_META = sa.table("meta", sa.column("key"), sa.column("number"))


def upgrade(connection: sa.Connection, version: int) -> None:
    """Bring the tables and content of a ledger of this version to those of the models."""
    _complete_tables(connection)
    for later, step in sorted(STEPS.items()):
        if later > version:
            step(connection)


def _complete_tables(connection: sa.Connection) -> None:
    """Make the tables, columns and indexes that are not there yet."""
    Base.metadata.create_all(connection)
    found = sa.inspect(connection)
    for table in Base.metadata.sorted_tables:
        known = {column["name"] for column in found.get_columns(table.name)}
        for column in table.columns:
            if column.name not in known:
                described = CreateColumn(column).compile(dialect=connection.dialect)
                connection.execute(sa.text(f'ALTER TABLE "{table.name}" ADD COLUMN {described}'))
        for index in table.indexes:
            index.create(connection, checkfirst=True)


def _simplify_keys(connection: sa.Connection) -> None:
    """Fold the keys of entities to simplified Chinese; those that differed only in script become one.

    The projections are built anew, as their formats have changed, and so are the ontology's links.
    """
    rows = connection.execute(sa.select(_ENTITY).order_by(_ENTITY.c.id)).all()
    known = {(row.tenant, row.key): row for row in rows}
    changed = [row for row in rows if simplified(row.key) != row.key]
    renamed: list[sa.Row[Any]] = []
    for row in changed:
        kept = known.setdefault((row.tenant, simplified(row.key)), row)
        if kept is row:
            renamed.append(row)
        else:
            _join(connection, row, kept)
    for row in renamed:
        key = simplified(row.key)
        connection.execute(sa.update(_ENTITY).where(_ENTITY.c.id == row.id).values(key=key))
    connection.execute(sa.delete(_NODE).where(_NODE.c.kind == "Note"))
    connection.execute(sa.update(_META).where(_META.c.key == "graph_applied").values(number=0))
    if changed:
        _LOG.warning(
            "%d names in traditional Chinese are known by simplified keys now; titles in the other script are found in "
            "notes that are ingested from now on: ingest into a new store to find them in all",
            len(changed),
        )


def _join(connection: sa.Connection, row: sa.Row[Any], kept: sa.Row[Any]) -> None:
    """Let one entity stand for another too; of a document's two names for it the title stays."""
    connection.execute(sa.update(_MENTION).where(_MENTION.c.entity == row.id).values(entity=kept.id))
    mine, other = _ALIAS.c.entity == row.id, _ALIAS.alias()
    titles = sa.select(_ALIAS.c.document).join(_DOCUMENT, _DOCUMENT.c.id == _ALIAS.c.document)
    named = list(connection.scalars(titles.where(mine, _DOCUMENT.c.title == _ALIAS.c.name)))
    connection.execute(sa.delete(_ALIAS).where(_ALIAS.c.entity == kept.id, _ALIAS.c.document.in_(named)))
    taken = sa.select(other.c.document).where(other.c.entity == kept.id)
    connection.execute(sa.delete(_ALIAS).where(mine, _ALIAS.c.document.in_(taken)))
    connection.execute(sa.update(_ALIAS).where(mine).values(entity=kept.id))
    better = {"type": row.type if kept.type == "other" else kept.type, "qid": kept.qid or row.qid}
    connection.execute(sa.update(_ENTITY).where(_ENTITY.c.id == kept.id).values(**better))
    connection.execute(sa.delete(_ENTITY).where(_ENTITY.c.id == row.id))


def _tell_missing_sections(connection: sa.Connection) -> None:
    """Say that notes lack what only ingestion can tell."""
    notes = connection.scalar(sa.select(sa.func.count()).select_from(sa.table("note")))
    if notes:
        _LOG.warning("%d notes lack their sections: ingest the same folders again to add them", notes)


STEPS: Mapping[int, Callable[[sa.Connection], None]] = {4: _simplify_keys, 5: _tell_missing_sections}
"""What has to be done to the content of a ledger that is older than a version."""
