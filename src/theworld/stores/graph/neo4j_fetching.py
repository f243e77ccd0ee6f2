"""A graph on a server at one moment: what is known of it, and what is asked further as long as it has not changed:
steps of the walk, round by round, and rows for links and paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import LiteralString

from theworld.errors import EngineUnavailableError
from theworld.stores.engine_access import NOT_UNDERSTOOD, identifier, misunderstood
from theworld.stores.graph import neo4j_queries as cypher
from theworld.stores.graph.neighbourhood import BoundedWalk, EntityRow, EntitySteps, NoteRow
from theworld.stores.graph.neo4j_client import Neo4jClient, Row, Statement
from theworld.stores.records import is_text

Check = Callable[[str, str], str]
"""Takes what the server calls a node and its name; returns the name."""


@dataclass(frozen=True, slots=True)
class Names:
    """The uids of one ledger's nodes: hashes of ledger, tenant, kind (`note` or `entity`) and name."""

    ledger: str
    where: str
    """The server, for people."""

    def uid(self, tenant: str, kind: str, name: str) -> str:
        """Return the uid of a node."""
        return identifier(self.ledger, tenant, kind, name)

    def uids(self, tenant: str, kind: str, names: Iterable[str]) -> dict[str, str]:
        """Return the names by uid; those that no stored node can have are left out."""
        return {self.uid(tenant, kind, name): name for name in names if is_text(name)}

    @contextmanager
    def read(self) -> Iterator[None]:
        """Turn what goes wrong with rows that are not what they should be into EngineUnavailableError."""
        try:
            yield
        except NOT_UNDERSTOOD as error:
            raise misunderstood("Neo4j", error, self.where) from error

    def asked_for(self, asked: Mapping[str, str], found: str, name: str) -> str:
        """Return the name; one that is not what was asked for is an answer to another question."""
        if asked.get(found) != name:
            raise EngineUnavailableError("Neo4j answered with a node that was not asked for.", where=self.where)
        return name

    def checker(self, tenant: str, kind: str) -> Check:
        """Return what makes sure that a neighbour is the tenant's, and what it says it is."""

        @cache
        def check(found: str, name: str) -> str:
            if found != self.uid(tenant, kind, name):
                what = "Neo4j answered with a node that is not the tenant's."
                raise EngineUnavailableError(what, where=self.where)
            return name

        return check


@dataclass
class Fetched:
    """What is known of one tenant's graph at one moment; it only grows."""

    walk: BoundedWalk
    applied: int | None = None
    """How far the graph had come; None before it was asked."""
    notes: dict[str, NoteRow | None] = field(default_factory=dict)
    """By id; None for a note that the server does not know."""
    entities: dict[str, EntityRow | None] = field(default_factory=dict)
    """By key; None for an entity that the server does not know."""


class ChangedError(Exception):
    """The graph is not what it was when rows were kept of it."""


@dataclass
class Moment:
    """One call of a caller, who gets the rows that are known and asks for more; the first asking asks the state too."""

    client: Neo4jClient
    names: Names
    tenant: str
    known: Fetched
    bounds: Mapping[str, int]
    """How much of the graph a query may take in: parameters of all that follow edges."""
    asked: bool = False
    """Whether the state has been asked."""

    def ask(self, *statements: Statement) -> list[list[Row]]:
        """Return the rows of statements asked side by side; raises ChangedError when the graph has changed."""
        if self.asked:
            return self.client.read(*statements) if statements else []
        with self.names.read():
            state, *answers = self.client.read((cypher.STATE, {"ledger": self.names.ledger}), *statements)
            applied = read_state(state)[0]
        if self.known.applied is None:
            self.known.applied = applied
        if self.known.applied != applied:
            raise ChangedError
        self.asked = True
        return answers


def read_state(rows: list[Row]) -> tuple[int, bool]:
    """Return how far the graph came, and whether leftovers have to be cleared before it can go on."""
    if not rows:
        return 0, False
    ((applied, form, clearing),) = rows
    outdated = clearing or form != cypher.FORMAT
    return (0 if outdated else int(applied)), outdated


_ROUNDS = 12
"""Rounds after which the walk makes do with what it has."""
_FRONTIER = 1000
"""Notes followed from one hop to the next, by id."""
_OF_NOTES: tuple[LiteralString, ...] = (cypher.NOTES, cypher.NOTES_AROUND)
_GIVEN: tuple[LiteralString, ...] = (cypher.NOTES, cypher.STEPS_OF_THEIR_ENTITIES)
_AROUND: tuple[LiteralString, ...] = (cypher.NOTES_AROUND, cypher.STEPS_OF_ENTITIES_AROUND)


def walk_from(
    moment: Moment, notes: Mapping[str, float], entities: Mapping[str, float]
) -> tuple[dict[str, float], set[str]]:
    """Return the probability of each note met, and those of them that were not followed.

    The latter are only heard of: the server has not said that they are there.
    """
    walk = moment.known.walk
    _step(moment, walk.unfollowed(0, notes), walk.unfollowed(1, entities), further=True)
    ranks = walk.rank(notes, entities)
    for _ in range(_ROUNDS):
        following = walk.to_follow(ranks)
        if not following:
            break
        _step(moment, following, ())
        ranks = walk.rank(notes, entities)
    found = walk.notes(ranks)
    return found, set(walk.unfollowed(0, found))


def _step(moment: Moment, notes: Sequence[str], keys: Sequence[str], *, further: bool = False) -> None:
    """Take in where notes and entities lead, in one round trip; `further`: the notes around them as well."""
    names, tenant, walk = moment.names, moment.tenant, moment.known.walk
    note_uids, key_uids = names.uids(tenant, "note", notes), names.uids(tenant, "entity", keys)
    bounds: dict[str, object] = {**moment.bounds, "known": list(walk.counts)}
    texts = (*_GIVEN, *(_AROUND if further else ())) if note_uids else ()
    asked: list[Statement] = [(text, {"uids": list(note_uids), **bounds}) for text in texts]
    if key_uids:
        asked.append((cypher.STEPS_OF_ENTITIES, {"uids": list(key_uids), **bounds}))
    answers = moment.ask(*asked)
    found: dict[str, NoteRow] = {}
    steps: dict[str, EntitySteps] = {}
    own_note, own_entity = names.checker(tenant, "note"), names.checker(tenant, "entity")
    with names.read():
        for (text, _), rows in zip(asked, answers, strict=True):
            for one, name, *rest in rows:
                if text in _OF_NOTES:
                    found[own_note(one, name)] = note_row(name, *rest)
                else:
                    titles, mentions, titling, mentioning = rest
                    steps[own_entity(one, name)] = titles, mentions, titling, mentioning
        walk.add(found.values(), steps, gone=(set(notes) - set(found), set(keys) - set(steps)))
    moment.known.notes.update(found)


def surroundings(
    moment: Moment, ends: Sequence[NoteRow], starts: Sequence[NoteRow], seeds: Sequence[EntityRow], max_hops: int
) -> tuple[list[NoteRow], list[EntityRow]]:
    """Return what lies between: all that the seeds lead to in `max_hops - 1` hops, and what leads to the ends."""
    rows = {row.note_id: row for row in (*starts, *ends)}
    around = {row.key: row for row in seeds}
    hubs = {key for row in ends for key in row.titled}
    for hop in range(max(1, max_hops - 1)):
        keys = {key for row in rows.values() for key in (*row.titled, *row.mentioned)} | hubs
        wanted = {key: key in hubs for key in sorted(keys) if key in hubs or key not in around}
        around |= {row.key: row for row in fetch_rows(moment, (), wanted)[1]}
        if hop < max_hops - 2:
            met = {note for row in around.values() for note in (*row.titling, *row.mentioning)} - set(rows)
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
            found = {names.asked_for(note_uids, row[0], row[1]): note_row(*row[1:]) for row in next(answers)}
            known.notes.update((note, found.get(note)) for note in new_notes)
        if key_uids:
            check, asked = names.checker(tenant, "note"), next(answers)
            named = {names.asked_for(key_uids, row[0], row[1]): _entity(row, check, new_keys[row[1]]) for row in asked}
            known.entities.update((key, named.get(key)) for key in new_keys)
    return (
        [of_note for note in notes if (of_note := known.notes.get(note)) is not None],
        [of_key for key in entities if (of_key := known.entities.get(key)) is not None],
    )


def _lacks(entities: Mapping[str, EntityRow | None], key: str, whole: bool) -> bool:
    row = entities.get(key)
    return key not in entities or (whole and row is not None and not row.whole)


def note_row(note_id: str, document_id: str, title: str, titled: Iterable[str], mentioned: Iterable[str]) -> NoteRow:
    """Return a row; an answer of another shape is noticed here."""
    return NoteRow(note_id, document_id, title, tuple(titled), tuple(mentioned))


def _entity(row: Row, check: Check, whole: bool) -> EntityRow:
    _, key, titles, mentions, titling, mentioning = row
    label = min(row[3] for row in titling) if titling else _commonest((row[3] for row in mentioning), key)
    titled, mentioned = ({check(one, note): title for one, note, title, _ in some} for some in (titling, mentioning))
    return EntityRow(key, label, titles + mentions, titled, mentioned, whole)


def read_shared(rows: Iterable[Row], check: Check) -> list[EntityRow]:
    """Return what several notes name."""
    return [
        EntityRow(check(one, key), title[0] if titles else _commonest(surfaces, key), titles + mentions)
        for one, key, titles, mentions, title, surfaces in rows
    ]


def _commonest(surfaces: Iterable[Iterable[str]], default: str) -> str:
    """Return the commonest of some lists of names, of equally common ones the first in order of text."""
    counts = Counter(surface for some in surfaces for surface in some)
    return min(counts, key=lambda surface: (-counts[surface], surface), default=default)
