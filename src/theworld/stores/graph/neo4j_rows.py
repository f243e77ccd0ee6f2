"""The part of a graph on a server that links and paths are computed from, as rows of notes and entities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from theworld.stores.engine_access import is_text
from theworld.stores.graph import neo4j_queries as cypher
from theworld.stores.graph.neighbourhood import EntityRow, NamedEntity, NamingNote, NoteRow, commonest
from theworld.stores.graph.neo4j_client import Row, Statement
from theworld.stores.graph.neo4j_moment import Check, Moment

_FRONTIER = 1000
"""Notes followed from one hop to the next, by id."""


def surroundings(
    moment: Moment, ends: Sequence[NoteRow], starts: Sequence[NoteRow], seeds: Sequence[EntityRow], max_hops: int
) -> tuple[list[NoteRow], list[EntityRow]]:
    """Return what lies between: all that the seeds lead to in `max_hops - 1` hops, and what leads to the ends."""
    rows = {row.note_id: row for row in (*starts, *ends)}
    around = {row.key: row for row in seeds}
    hubs = {one.key for row in ends for one in row.titled}
    for hop in range(max(1, max_hops - 1)):
        keys = {one.key for row in rows.values() for one in (*row.titled, *row.mentioned)} | hubs
        wanted = {key: key in hubs for key in sorted(keys) if key in hubs or key not in around}
        around |= {row.key: row for row in fetch_rows(moment, (), wanted)[1]}
        if hop < max_hops - 2:
            met = {one.note_id for row in around.values() for one in (*row.titling, *row.mentioning)} - set(rows)
            rows |= {row.note_id: row for row in fetch_rows(moment, sorted(met)[:_FRONTIER], {})[0]}
    return list(rows.values()), list(around.values())


def fetch_rows(
    moment: Moment, notes: Iterable[str], entities: Mapping[str, bool]
) -> tuple[list[NoteRow], list[EntityRow]]:
    """Return the rows of notes and entities, those not known yet fetched in one round; unknown ones left out.

    `entities` says of each key whether its mentions are wanted even if it is a hub.
    """
    known, names, tenant = moment.known, moment.names, moment.tenant
    notes = list(notes)
    new_notes = [note for note in notes if note not in known.notes and is_text(note)]
    new_keys = {k: whole for k, whole in entities.items() if is_text(k) and _lacks(known.entities, k, whole)}
    statements: list[Statement] = []
    note_uids, key_uids = names.uids(tenant, "note", new_notes), names.uids(tenant, "entity", new_keys)
    if note_uids:
        statements.append((cypher.NOTES, {"uids": list(note_uids)}))
    if key_uids:
        rows = [{"uid": one, "whole": new_keys[key]} for one, key in key_uids.items()]
        statements.append((cypher.ENTITIES, {"rows": rows, **moment.bounds}))
    answers = iter(moment.ask(*statements))
    with names.read():
        if note_uids:
            check = names.checker(tenant, "entity")
            found = {names.asked_for(note_uids, row[0], row[1]): _note(row, check) for row in next(answers)}
            known.notes.update((note, found.get(note)) for note in new_notes)
        if key_uids:
            check, asked = names.checker(tenant, "note"), next(answers)
            named = {names.asked_for(key_uids, row[0], row[1]): _entity(row, check, new_keys[row[1]]) for row in asked}
            known.entities.update((key, named.get(key)) for key in new_keys)
    return (
        [note_row for note in notes if (note_row := known.notes.get(note)) is not None],
        [key_row for key in entities if (key_row := known.entities.get(key)) is not None],
    )


def _lacks(entities: Mapping[str, EntityRow | None], key: str, whole: bool) -> bool:
    row = entities.get(key)
    return key not in entities or (whole and row is not None and not row.whole)


def _note(row: Row, check: Check) -> NoteRow:
    _, note_id, document_id, title, titled, mentioned = row
    return NoteRow(
        note_id,
        document_id,
        title,
        tuple(NamedEntity(check(found, key), *counts) for found, key, *counts in titled),
        tuple(NamedEntity(check(found, key), *counts) for found, key, *counts in mentioned),
    )


def _entity(row: Row, check: Check, whole: bool) -> EntityRow:
    _, key, titles, mentions, titling, mentioning = row
    return EntityRow(
        key,
        titles,
        mentions,
        tuple(NamingNote(check(found, note), title, (name,)) for found, note, title, name in titling),
        tuple(NamingNote(check(found, note), title, tuple(names)) for found, note, title, names in mentioning),
        whole,
    )


def read_shared(
    rows: Iterable[Row], notes: Mapping[str, str], check: Check
) -> tuple[list[EntityRow], dict[str, list[NamedEntity]], dict[str, list[NamedEntity]]]:
    """Return what several notes name, and which of it each note is titled by and which it mentions."""
    entities: list[EntityRow] = []
    named: tuple[dict[str, list[NamedEntity]], ...] = (defaultdict(list), defaultdict(list))
    for one, key, titles, mentions, naming, title, surfaces in rows:
        label = title[0] if titles else commonest((name for some in surfaces for name in some), key)
        entities.append(EntityRow(check(one, key), titles, mentions, (), (), whole=False, label=label))
        for note, titled in naming:
            named[titled][notes[note]].append(NamedEntity(key, titles, mentions))
    return entities, named[True], named[False]
