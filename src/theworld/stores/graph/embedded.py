"""The graph projection in the store's folder, mapped from files; or, without a folder, in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from theworld.state import EvidencePath
from theworld.stores.array_folder import ArrayFolder, Arrays, Generation, Key, StringTable
from theworld.stores.graph.columns import Lists, NoteFacts, joined, note_facts
from theworld.stores.graph.entity_graph import EntityGraph, Numbers, PathSearch, find_links, with_weight
from theworld.stores.graph.pagerank import RankingParameters, Walk, WholeWalk
from theworld.stores.protocols import Hit, Link, NoteChange
from theworld.stores.records import Filters, wanted_terms

FORMAT = 5
"""Raised whenever the arrays or the keys change, so that what an older program wrote is built anew."""
_DIGITS = 12
"""Ranks are rounded to this many decimals, so that equal ones tie."""
_MOST_PENDING = 50_000
"""Changes held in memory before all is written anew; in a larger graph an eighth of what it has."""
_NO_ARRAYS = joined(None, {}, RankingParameters())


def written_format(parameters: RankingParameters) -> str:
    """Return what a manifest says of a graph whose edges weigh what these parameters say."""
    weighing = f"{parameters.title_weight!r} {parameters.shared_weight!r} {parameters.fewest} {parameters.most}"
    return f"{FORMAT} with weights {weighing}"


class MappedGraph:
    """Notes and entities. What was applied is joined to the files by `settle`, which a look at it and `close` also do.

    A writer that dies before leaves the last files, and `applied` as it was with them. Thread-safe: queries see whole
    graphs. Readers in other processes see new files after `refresh`.
    """

    def __init__(
        self, folder: Path | None, parameters: RankingParameters | None = None, *, writable: bool = False
    ) -> None:
        """Open the graph in a folder; a reader of one that is missing or damaged sees an empty graph."""
        self._parameters = parameters or RankingParameters()
        form = written_format(self._parameters)
        self._folder = ArrayFolder(folder, "graph", form, writable=writable) if folder is not None else None
        self._saved = Generation()
        self._pending: dict[str, dict[str, NoteFacts | None]] = {}
        self._views: dict[str, Bipartite] = {}
        self.applied = 0
        """Sequence number of the last change applied."""
        self._lock = threading.RLock()
        if self._folder is not None:
            self._take(self._folder.load(self._saved, whole=writable))
            if writable:
                self._folder.remove_unused(self._saved)

    @property
    def outdated(self) -> str:
        """What is wrong when the folder is damaged or holds another format, which a reader cannot build anew."""
        return self._folder.outdated if self._folder is not None else ""

    def apply(self, changes: Iterable[NoteChange], upto: int) -> None:
        """Apply changes and remember `upto`."""
        new = [(change.tenant, change.note_id, note_facts(change)) for change in changes]
        with self._lock:
            for tenant, note_id, facts in new:
                self._pending.setdefault(tenant, {})[note_id] = facts
            self.applied = upto
            if sum(map(len, self._pending.values())) >= max(_MOST_PENDING, self._saved.applied // 8):
                self.settle()

    def settle(self) -> None:
        """Join what was applied to the graph, and write it; nothing to do when there is nothing new."""
        with self._lock:
            if self.applied == self._saved.applied and not self._pending:
                return
            changed: dict[Key, Arrays | None] = {}
            for tenant, changes in self._pending.items():
                arrays = joined(self._saved.arrays.get((tenant,)), changes, self._parameters)
                changed[tenant,] = arrays if len(arrays["document"]) else None
            saved = self._save(self._saved, changed)
            self._pending.clear()
            self._take(saved)

    def _save(self, before: Generation, changed: Mapping[Key, Arrays | None]) -> Generation:
        if self._folder is not None:
            return self._folder.save(before, changed, self.applied)
        arrays = {key: some for key, some in {**before.arrays, **changed}.items() if some is not None}
        return Generation(self.applied, arrays=arrays)

    def _take(self, saved: Generation) -> None:
        self._saved, self.applied = saved, saved.applied
        self._views.clear()

    def refresh(self) -> None:
        """See what another process has written since."""
        with self._lock:
            if self._folder is not None and not self._pending:
                self._take(self._folder.load(self._saved))

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._pending.clear()
            self.applied = 0
            self._take(self._save(Generation(), {}))

    def close(self) -> None:
        """Write what was applied, and let go of the files."""
        with self._lock:
            if self._folder is not None:
                self.settle()
            self._pending.clear()
            self._views.clear()
            self._saved = Generation(self.applied)

    def _graph(self, tenant: str) -> Bipartite:
        with self._lock:
            if self._pending:
                self.settle()
            if tenant not in self._views:
                arrays = self._saved.arrays.get((tenant,), _NO_ARRAYS)
                self._views[tenant] = Bipartite(arrays, self._parameters)
            return self._views[tenant]

    def entities(self, keys: Sequence[str], *, tenant: str) -> dict[str, int]:
        """Return the number of notes naming each known entity key, as their title or in their text."""
        graph = self._graph(tenant)
        rows = graph.keys.find(keys).tolist()
        return {key: graph.named_by(row) for key, row in zip(keys, rows, strict=True) if row >= 0}

    def rank(
        self, *, notes: Mapping[str, float], entities: Mapping[str, float], tenant: str, filters: Filters, limit: int
    ) -> list[Hit]:
        """Return the notes that a walk from the seeds visits most; seeds unknown or without weight are ignored."""
        graph, seeds = self._graph(tenant), dict[int, float]()
        for table, offset, weights in ((graph.note_ids, 0, notes), (graph.keys, len(graph.note_ids), entities)):
            wanted = with_weight(weights)
            rows = table.find(list(wanted)).tolist()
            seeds |= {offset + row: weight for row, weight in zip(rows, wanted.values(), strict=True) if row >= 0}
        if not seeds or limit < 1:
            return []
        starts = np.array(sorted(seeds), np.int64)
        reached = graph.walk.pagerank(starts, np.array([seeds[one] for one in starts.tolist()]), graph.parameters)
        passes = graph.filtered(filters) if filters else None
        among = np.flatnonzero(reached.nodes < len(graph.note_ids))
        ranks, nodes = reached.ranks[among].round(_DIGITS), reached.nodes[among]
        if passes is None and limit < len(ranks):
            largest = ranks >= np.partition(ranks, -limit)[-limit]
            ranks, nodes = ranks[largest], nodes[largest]
        hits: list[Hit] = []
        for place in np.lexsort((nodes, -ranks)):
            if ranks[place] <= 0 or len(hits) == limit:
                break
            note = int(nodes[place])
            if passes is None or passes(note):
                hits.append(Hit(graph.note_ids[note], float(ranks[place])))
        return hits

    def links(self, note_ids: Sequence[str], *, tenant: str) -> list[Link]:
        """Return the links among the given notes, title links first, each pair once per entity."""
        graph = self._graph(tenant)
        return find_links(graph, graph.known(note_ids))

    def paths(
        self, targets: Sequence[str], *, notes: Sequence[str], entities: Sequence[str], tenant: str, max_hops: int = 2
    ) -> list[EvidencePath]:
        """Return the best path from any seed to each target note, shortest first; a hop leads to another note.

        Steps alternate between notes (by title) and entities: `mentions` and `has_title` lead from a note to an entity,
        `mentioned_in` and `title_of` from an entity to a note. A target that cannot be reached is left out.
        """
        graph = self._graph(tenant)
        known = [row for row in graph.keys.find(entities).tolist() if row >= 0]
        search = PathSearch(graph, graph.known(notes), known)
        return search.find(graph.known(targets), max_hops)


class MemoryGraph(MappedGraph):
    """The same in memory: for tests, and for stores whose folder cannot be written."""

    def __init__(self, parameters: RankingParameters | None = None) -> None:
        super().__init__(None, parameters)


_MANY = 64
"""Of more notes than these only those of interest are looked at."""


class Bipartite(EntityGraph):
    """The graph of one tenant at one moment; making it reads nothing."""

    note_ids: StringTable
    titles: Lists
    mentions: Lists

    def __init__(self, arrays: Arrays, parameters: RankingParameters) -> None:
        self.arrays, self.parameters = arrays, parameters
        self.note_ids, self.documents, self.keys, self.texts, self.terms = (
            StringTable(arrays, name) for name in ("notes", "documents", "keys", "texts", "terms")
        )
        self.titled, self.mentioned, self.titles, self.mentions, self.terms_of = (
            Lists(arrays[f"{name}.starts"], arrays[f"{name}.values"])
            for name in ("titled", "mentioned", "titles", "mentions", "term")
        )
        self.label = lambda entity: self.texts[arrays["label"][entity]]
        self.named_by = lambda entity: len(self.titles.array(entity)) + len(self.mentions.array(entity))
        self.document_of = lambda note: self.documents[arrays["document"][note]]
        self.title_of = lambda note: self.texts[arrays["title"][note]]

    def known(self, note_ids: Sequence[str]) -> list[int]:
        """Return the numbers of the notes that exist."""
        return [row for row in self.note_ids.find(note_ids).tolist() if row >= 0]

    def within(self, notes: Numbers, entity: int, among: NDArray[np.int64]) -> list[int]:
        """Return the notes of an entity, of very many only those in `among`."""
        assert isinstance(notes, Lists)
        found = notes.array(entity)
        if len(found) > _MANY:
            places = np.minimum(np.searchsorted(found, among), len(found) - 1)
            return cast(list[int], among[found[places] == among].tolist())
        return cast(list[int], found.tolist())

    def filtered(self, filters: Filters) -> Callable[[int], bool]:
        """Return what tells whether a note passes the filters."""
        wanted = [set(self.terms.find(some).tolist()) - {-1} for some in wanted_terms(filters)]
        return lambda note: all(not some.isdisjoint(self.terms_of[note]) for some in wanted)

    @cached_property
    def walk(self) -> Walk | WholeWalk:
        """Return the random walk over notes (first) and entities."""
        named = (self.arrays[f"walk.{name}"] for name in ("starts", "targets", "weights"))
        starts, targets, weights = map(np.asarray, named)
        if len(targets) > self.parameters.whole:
            return Walk(starts, targets, weights)
        return WholeWalk(starts, targets, weights, len(self.note_ids))
