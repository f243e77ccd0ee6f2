"""What one change becomes on the server, and a batch of them as one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from neo4j import Transaction

from theworld.errors import StoreError
from theworld.stores.engine_access import identifier
from theworld.stores.graph import neo4j_queries as cypher
from theworld.stores.graph.columns import note_facts
from theworld.stores.protocols import NoteChange

FORMAT = 3
"""Raised whenever the model or the keys change, so that what an older program wrote is built anew."""


@dataclass(slots=True)
class Batch:
    """The rows of some changes."""

    touched: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    entities: dict[str, dict[str, Any]] = field(default_factory=dict)
    titles: list[dict[str, Any]] = field(default_factory=list)
    mentions: list[dict[str, Any]] = field(default_factory=list)


def make_batch(ledger: str, changes: Iterable[NoteChange]) -> Batch:
    """Return the rows; of several changes of one note the last counts."""
    batch = Batch()
    latest = {(change.tenant, change.note_id): change for change in changes}
    for change in latest.values():
        note = identifier(ledger, change.tenant, "note", change.note_id)
        batch.touched.append(note)
        facts = note_facts(change)
        if facts is None:
            batch.removed.append(note)
            continue
        titles: dict[str, list[str]] = {}
        mentions: dict[str, list[str]] = {}
        for key, name in facts.names:
            titles.setdefault(key, []).append(name)
        for key, surface in facts.mentions:
            if key not in titles:
                mentions.setdefault(key, []).append(surface)
        batch.notes.append(
            {
                "uid": note,
                "ledger": ledger,
                "id": change.note_id,
                "document": facts.document_id,
                "title": facts.title,
                "terms": sorted(facts.terms),
                "sequence": change.sequence,
            }
        )
        entities = {key: identifier(ledger, change.tenant, "entity", key) for key in (*titles, *mentions)}
        batch.entities.update((one, {"uid": one, "ledger": ledger, "key": key}) for key, one in entities.items())
        batch.titles += [{"note": note, "entity": entities[key], "name": min(names)} for key, names in titles.items()]
        batch.mentions += [{"note": note, "entity": entities[key], "surfaces": some} for key, some in mentions.items()]
    return batch


def write_batch(transaction: Transaction, ledger: str, batch: Batch, *, expected: int, upto: int, where: str) -> None:
    """Write a batch and how far it goes; StoreError when another process has written since `expected` was read."""
    locked = transaction.run(cypher.LOCK_STATE, given={"ledger": ledger, "format": FORMAT})
    applied = locked.values()[0][0]
    if applied != expected:
        raise StoreError(
            f"another process has written to the graph: it stands at {applied}, not {expected}.",
            where=where,
            remedy="Run one writer at a time; what is missing is written by the next `theworld sync`.",
        )
    detached = transaction.run(cypher.DETACH, given={"uids": batch.touched})
    loose = detached.values()[0][0]
    steps: tuple[tuple[Any, Sequence[Any], str], ...] = (
        (cypher.REMOVE_NOTES, batch.removed, "uids"),
        (cypher.PUT_NOTES, batch.notes, "rows"),
        (cypher.PUT_ENTITIES, list(batch.entities.values()), "rows"),
        (cypher.PUT_TITLES, batch.titles, "rows"),
        (cypher.PUT_MENTIONS, batch.mentions, "rows"),
        (cypher.REMOVE_ORPHANS, loose, "uids"),
    )
    for text, rows, name in steps:
        if rows:
            transaction.run(text, given={name: rows}).consume()
    state = {"ledger": ledger, "applied": upto, "format": FORMAT, "clearing": False}
    transaction.run(cypher.SET_STATE, given=state).consume()
