"""The graph projection on a Neo4j server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from neo4j import Transaction

from theworld.errors import EngineUnavailableError, StoreError
from theworld.settings import GraphSettings
from theworld.state import EvidencePath
from theworld.stores.engine_access import RemoteProjection, sendable_terms
from theworld.stores.graph import neo4j_fetching as fetching
from theworld.stores.graph import neo4j_queries as cypher
from theworld.stores.graph.columns import note_facts
from theworld.stores.graph.entity_graph import PathSearch, find_links, with_weight
from theworld.stores.graph.neighbourhood import AT_ONCE, BoundedWalk, Neighbourhood
from theworld.stores.graph.neo4j_client import Neo4jClient
from theworld.stores.graph.pagerank import RankingParameters
from theworld.stores.protocols import Hit, Link, NoteChange
from theworld.stores.records import Filters

T = TypeVar("T")

LONGEST_LIST = 2000
"""Notes of one entity that are looked at, by id: bounds the work at hubs."""
_DIGITS = 12
_KEPT_ROWS = 200_000
_CLEARED_AT_ONCE = 5000
_TRIES = 5
"""How often a call begins anew because the graph has changed under it."""


class Neo4jGraph(RemoteProjection):
    """Notes and entities on a server; thread-safe, one pool of connections.

    Ranking, links and paths fetch the part of the graph they need, never more, and then compute what the embedded twin
    computes. Rows are kept as long as the graph stays the same. Nothing is sent before it is needed.
    """

    def __init__(self, settings: GraphSettings, ledger: str, *, writable: bool = False) -> None:
        """Use the server of the settings for the ledger with this identity."""
        self._client = Neo4jClient(settings)
        super().__init__("graph", self._client.where, writable=writable)
        self.version = self._client.version
        self._ledger = f"{settings.prefix}-{ledger}"
        self._names = fetching.Names(self._ledger, self._client.where)
        self._parameters = RankingParameters()
        self._bounds = {"most": self._parameters.most, "longest": LONGEST_LIST, "at_once": AT_ONCE}
        self._prepared = self._warm = False
        self._fetched: dict[str, fetching.Fetched] = {}

    def _read_applied(self) -> int:
        applied = self._read_state()[0]
        if not self._warm:  # the server plans the queries before a question needs them
            self._warm = True
            some = {"ledger": "", "uids": [""], "rows": [], "known": [], "wanted": [], **self._bounds}
            self._client.warm_up(*((text, some) for text in cypher.QUERIES))
        return applied

    def _read_state(self) -> tuple[int, bool]:
        with self._names.read():
            return fetching.read_state(self._client.read((cypher.STATE, {"ledger": self._ledger}))[0])

    def apply(self, changes: Iterable[NoteChange], upto: int) -> None:
        """Apply changes and remember `upto`, in one transaction."""
        removed, rows = self._batch(changes)
        touched = [*removed, *(row["facts"]["uid"] for row in rows)]

        def work(transaction: Transaction) -> None:
            locked = transaction.run(cypher.LOCK_STATE, given={"ledger": self._ledger, "format": cypher.FORMAT})
            applied = locked.values()[0][0]
            if applied != expected:
                raise StoreError(
                    f"another process has written to the graph: it stands at {applied}, not {expected}.",
                    where=self.where,
                    remedy="Run one writer at a time; what is missing is written by the next `theworld sync`.",
                )
            loose = transaction.run(cypher.DETACH, given={"uids": touched}).values()[0][0]
            for text, name, some in (
                (cypher.REMOVE_NOTES, "uids", removed),
                (cypher.PUT_NOTES, "rows", rows),
                (cypher.REMOVE_ORPHANS, "uids", loose),
            ):
                if some:
                    transaction.run(text, given={name: some}).consume()
            state = {"ledger": self._ledger, "applied": upto, "format": cypher.FORMAT, "clearing": False}
            transaction.run(cypher.SET_STATE, given=state).consume()

        with self._lock:
            self._prepare()
            expected, self._applied = self.applied, None
            self._client.write(work)
            self._applied = upto

    def _batch(self, changes: Iterable[NoteChange]) -> tuple[list[str], list[dict[str, Any]]]:
        """Return the notes that go, and the rows of those put; of several changes of one note the last counts."""
        removed: list[str] = []
        rows: list[dict[str, Any]] = []
        latest = {(change.tenant, change.note_id): change for change in changes}
        for change in latest.values():
            note, facts = self.key_of(change), note_facts(change)
            if facts is None:
                removed.append(note)
                continue
            titles: dict[str, list[str]] = {}
            mentions: dict[str, list[str]] = {}
            for key, name in facts.names:
                titles.setdefault(key, []).append(name)
            for key, surface in facts.mentions:
                if key not in titles:
                    mentions.setdefault(key, []).append(surface)
            named = {"uid": note, "ledger": self._ledger, "id": change.note_id, "document": facts.document_id}
            more = {"title": facts.title, "terms": sorted(facts.terms), "sequence": change.sequence}
            uids = {key: self._names.uid(change.tenant, "entity", key) for key in (*titles, *mentions)}
            titled = [[uids[key], key, min(names)] for key, names in titles.items()]
            mentioned = [[uids[key], key, surfaces] for key, surfaces in mentions.items()]
            rows.append({"facts": named | more, "titled": titled, "mentioned": mentioned})
        return removed, rows

    def _prepare(self) -> None:
        """Make constraints and indexes, and end a clearing that was interrupted, once."""
        self._check_writable()
        if self._prepared:
            return
        for statement in cypher.SCHEMA:
            self._client.run_alone((statement, {}))
        if self._read_state()[1]:
            self._empty()
        self._prepared = True

    def _empty(self) -> None:
        """Remove all nodes, many small transactions long; an interrupted one is gone on with by the next writer."""
        self._applied = None
        state = {"ledger": self._ledger, "applied": 0, "format": cypher.FORMAT}
        self._client.run_alone((cypher.SET_STATE, state | {"clearing": True}))
        batch = {"ledger": self._ledger, "batch": _CLEARED_AT_ONCE}
        while self._client.run_alone((cypher.CLEAR, batch))[0][0]:
            pass
        self._client.run_alone((cypher.SET_STATE, state | {"clearing": False}))
        self._applied = 0

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._prepare()
            self._empty()

    def drop(self) -> None:
        """Remove everything of this ledger from the server."""
        with self._lock:
            self.clear()
            self._client.run_alone((cypher.REMOVE_STATE, {"ledger": self._ledger}))
            self._applied = None

    def key_of(self, change: NoteChange) -> str:
        """Return the key of a note's node."""
        return self._names.uid(change.tenant, "note", change.note_id)

    def held(self) -> Iterator[tuple[str, int]]:
        """Yield key and sequence number of all notes."""
        after = ""
        while True:
            page = {"ledger": self._ledger, "after": after, "limit": _CLEARED_AT_ONCE}
            rows = self._client.read((cypher.HELD, page))[0]
            if not rows:
                return
            with self._names.read():
                held = [(str(one), int(sequence)) for one, sequence in rows]
            yield from held
            after = held[-1][0]

    def entities(self, keys: Sequence[str], *, tenant: str) -> dict[str, int]:
        """Return the number of notes naming each known entity key, as their title or in their text."""
        wanted = self._names.uids(tenant, "entity", keys)
        rows = self._client.read((cypher.NAMED_BY, {"uids": list(wanted)}))[0]
        with self._names.read():
            counts = {self._names.asked_for(wanted, row[0], row[1]): int(row[2]) for row in rows}
        return {key: counts[key] for key in keys if key in counts}

    def rank(
        self, *, notes: Mapping[str, float], entities: Mapping[str, float], tenant: str, filters: Filters, limit: int
    ) -> list[Hit]:
        """Return the notes that a walk from the seeds visits most; seeds unknown or without weight are ignored."""
        seeds, keys = with_weight(notes), with_weight(entities)
        if not (seeds or keys) or limit < 1:
            return []
        ranked, unseen = self._at_one_moment(tenant, lambda moment: fetching.walk_from(moment, seeds, keys))
        rounded = {note: round(rank, _DIGITS) for note, rank in ranked.items()}
        best = sorted((note for note in rounded if rounded[note] > 0), key=lambda note: (-rounded[note], note))
        if filters or not unseen.isdisjoint(best[:limit]):
            # Those that pass the filters, in their order, asking for some at a time.
            wanted, size, passing = sendable_terms(filters), max(10 * limit, 200), list[str]()
            while best and all(wanted) and len(passing) < limit:
                some = self._names.uids(tenant, "note", best[:size])
                rows = self._client.read((cypher.PASSING, {"uids": list(some), "wanted": wanted}))[0]
                with self._names.read():
                    passed = {row[0] for row in rows}
                passing += [note for one, note in some.items() if one in passed]
                best = best[size:]
            best = passing
        return [Hit(note, rounded[note]) for note in best[:limit]]

    def links(self, note_ids: Sequence[str], *, tenant: str) -> list[Link]:
        """Return the links among the given notes, title links first, each pair once per entity."""
        uids = self._names.uids(tenant, "note", note_ids)
        if len(uids) < 2:
            return []
        asked = {"uids": list(uids)}
        found, shared = self._client.read((cypher.NOTES, asked), (cypher.SHARED, asked | self._bounds))
        with self._names.read():
            rows = [fetching.note_row(self._names.asked_for(uids, one, name), *rest) for one, name, *rest in found]
            entities = fetching.read_shared(shared, self._names.checker(tenant, "entity"))
        graph = Neighbourhood(rows, entities, self._parameters)
        return find_links(graph, [graph.note_of[row.note_id] for row in rows])

    def paths(
        self, targets: Sequence[str], *, notes: Sequence[str], entities: Sequence[str], tenant: str, max_hops: int = 2
    ) -> list[EvidencePath]:
        """Return the best path from any seed to each target note, shortest first; a hop leads to another note.

        At an entity that more than LONGEST_LIST notes name, only the first of them by id are seen.
        """

        def work(moment: fetching.Moment) -> list[EvidencePath]:
            rows, seeds = fetching.fetch_rows(moment, dict.fromkeys((*targets, *notes)), dict.fromkeys(entities, True))
            by_id = {row.note_id: row for row in rows}
            ends = [by_id[note] for note in targets if note in by_id]
            starts = [by_id[note] for note in notes if note in by_id]
            if not ends or not (starts or seeds):
                return []
            all_notes, all_entities = fetching.surroundings(moment, ends, starts, seeds, max_hops)
            graph = Neighbourhood(all_notes, all_entities, self._parameters)
            search = PathSearch(
                graph, [graph.note_of[row.note_id] for row in starts], [graph.entity_of[row.key] for row in seeds]
            )
            return search.find([graph.note_of[row.note_id] for row in ends], max_hops)

        return self._at_one_moment(tenant, work)

    def _at_one_moment(self, tenant: str, work: Callable[[fetching.Moment], T]) -> T:
        """Do work on one state of the graph; begin anew when the graph has changed meanwhile."""
        for _ in range(_TRIES):
            known = self._fetched.get(tenant)
            if known is None or len(known.notes) + len(known.entities) + known.walk.size > _KEPT_ROWS:
                known = self._fetched[tenant] = fetching.Fetched(BoundedWalk(self._parameters))
            try:
                return work(fetching.Moment(self._client, self._names, tenant, known, self._bounds))
            except fetching.ChangedError:
                self._fetched.pop(tenant, None)
        raise EngineUnavailableError("the graph changes faster than it can be read.", where=self.where)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
        self._fetched.clear()
