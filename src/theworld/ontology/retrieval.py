"""What the ontology finds for a question: notes, paths and capabilities, from what it speaks of over K hops.

One tenant's ontology is kept ready for questions: matcher, graph, and the notes that name its elements.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from theworld.deadline import Deadline
from theworld.ontology.descriptions import UNREAD, DescriptionReader, Reading
from theworld.ontology.lookup import Lookup
from theworld.ontology.matching import Matcher, QueryMatches
from theworld.ontology.model import Ref
from theworld.ontology.storing import from_nodes
from theworld.ontology.walking import (
    HOPS,
    Floats,
    Ints,
    OntologyGraph,
    Walk,
    label_of,
    step_words,
    walk,
    word_steps,
    word_way,
)
from theworld.state import EvidencePath, PathStep
from theworld.state.ontology import CandidateCapability, OntologyPath
from theworld.stores.array_folder import places_of, starts_of
from theworld.stores.ledger.graph_tables import GraphEdgeRecord, GraphNodeRecord, GraphTables
from theworld.text import Language

NESTED = 0.4
"""How much a name inside a longer one counts: 交易 in 交易波动."""
MOST_STARTS = 12
DESCRIBED = 0.9
"""How sure a description makes us of what it stands for."""
CAPABILITIES, PATHS = 5, 12
"""How many are told."""
_DIGITS = 9

Start = tuple[int, float]
"""A node that the walk begins at, and how sure we are that the question speaks of it."""


class NamedNotes:
    """Which notes name which elements, and how much that says."""

    def __init__(self, graph: OntologyGraph, links: Sequence[GraphEdgeRecord]) -> None:
        self.ids: tuple[str, ...] = tuple(sorted({link.source[1] for link in links}))
        place = {note: i for i, note in enumerate(self.ids)}
        total, rows = len(self.ids), [list[tuple[int, float]]() for _ in graph.refs]
        for link in links:
            rows[graph.number[link.target]].append((place[link.source[1]], link.weight))
        for row in rows:
            row.sort()
        rarity = [math.log(1 + total / len(row)) / math.log(1 + total) if row else 0.0 for row in rows]
        self._first = starts_of(list(map(len, rows)))
        self._notes = np.array([note for row in rows for note, _ in row], dtype=np.int64)
        self._worth = np.array([weight * rare for row, rare in zip(rows, rarity, strict=True) for _, weight in row])

    def naming(self, nodes: Ints) -> tuple[Ints, Ints, Floats]:
        """Return (position in `nodes`, position in `ids`, worth) of every note that names one of the nodes.

        Worth is the link's weight times ln(1 + N/df) / ln(1 + N), the rarity of the node: 1 for an element that one
        note of N names, little for one in every note.
        """
        which = np.repeat(np.arange(len(nodes)), self._first[nodes + 1] - self._first[nodes])
        rows = places_of(self._first, nodes)
        return which, self._notes[rows], self._worth[rows]


class OntologyIndex:
    """Everything that questions need of one tenant's ontology; never changed after it was made."""

    def __init__(
        self, nodes: Sequence[GraphNodeRecord], edges: Sequence[GraphEdgeRecord], links: Sequence[GraphEdgeRecord]
    ) -> None:
        self.lookup = Lookup(from_nodes(nodes))
        self.matcher = Matcher(self.lookup)
        self.descriptions = DescriptionReader(self.lookup, self.matcher)
        self.graph = OntologyGraph(self.lookup, edges)
        self.notes = NamedNotes(self.graph, links)


class OntologyIndexes:
    """The index of every tenant, read when first asked for and again when the graph has changed. Thread-safe."""

    def __init__(self, tables: GraphTables) -> None:
        self._tables = tables
        self._lock = threading.Lock()
        self._version = -1
        self._tenants: frozenset[str] = frozenset()
        """Those that have an ontology: what is kept does not grow with tenants that are merely asked for."""
        self._of: dict[str, OntologyIndex | None] = {}

    def surely_none(self) -> bool:
        """Tell, without waiting for a server, whether the store has no ontology at all."""
        return not self._tables.remote and self._tables.version() == 0

    def of(self, tenant: str) -> OntologyIndex | None:
        """Return a tenant's index, None when it has no ontology (then it costs one small look)."""
        version = self._tables.version()
        if version == 0:
            return None
        with self._lock:
            if version != self._version:
                self._of, self._tenants, self._version = {}, frozenset(self._tables.tenants()), version
            if tenant not in self._tenants:
                return None
            if tenant not in self._of:
                graph = self._tables.whole(tenant)
                self._of[tenant] = OntologyIndex(*graph) if graph.elements else None
            return self._of[tenant]


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found; everything is ordered best first."""

    notes: tuple[tuple[str, float], ...] = ()
    paths: tuple[OntologyPath, ...] = ()
    note_paths: tuple[EvidencePath, ...] = ()
    capabilities: tuple[CandidateCapability, ...] = ()


class _Sums:
    """Sums over the walks for notes or nodes, and the walk and node that were the strongest reason for each."""

    def __init__(self, size: int) -> None:
        self.total = np.zeros(size)
        self.best = np.zeros(size)
        self.walk = np.zeros(size, dtype=np.int64)
        self.node = np.zeros(size, dtype=np.int64)

    def add(self, places: Ints, values: Floats, nodes: Ints, walk: int) -> None:
        """Take in what one walk says of places, each of them once."""
        self.total[places] += values
        better = values > self.best[places]
        self.best[places[better]] = values[better]
        self.walk[places[better]] = walk
        self.node[places[better]] = nodes[better]

    def ranked(self) -> list[int]:
        """Return the places with something to them, best first; ties by place."""
        known = np.flatnonzero(self.total > 0)
        order: list[int] = known[np.lexsort((known, -np.round(self.total[known], _DIGITS)))].tolist()
        return order


def starting_nodes(index: OntologyIndex, matches: QueryMatches, reading: Reading = UNREAD) -> tuple[Start, ...]:
    """Return where to begin: what the question names or describes, surest first."""
    scores: dict[int, float] = {}
    named = [(match.ref, match.score) for match in matches.matches]
    named += [(match.ref, match.score * NESTED) for match in matches.nested]
    named += [(Ref("EntitySample", id_), DESCRIBED) for one in reading.described for id_ in one.samples]
    for ref, score in named:
        node = index.graph.number[ref]
        scores[node] = max(scores.get(node, 0.0), score)
    order = sorted(scores, key=lambda node: (-scores[node], node))[:MOST_STARTS]
    return tuple((node, scores[node]) for node in order)


def find(
    index: OntologyIndex,
    matches: QueryMatches,
    language: Language,
    *,
    reading: Reading = UNREAD,
    hops: int = HOPS,
    limit: int = 100,
    deadline: Deadline | None = None,
) -> Findings:
    """Return notes, paths and capabilities for what was matched in a question and what it describes.

    A note's score is the sum, over the starts, of its strongest reason from each: a note that has to do with several
    things the question speaks of comes before one that has much to do with one. Raises DeadlineExceededError.
    """
    starts = starting_nodes(index, matches, reading)
    named = index.matcher.named_relations(matches)
    walks = [walk(index.graph, start, hops, named=named, deadline=deadline) for start, _ in starts]
    notes, reached = _Sums(len(index.notes.ids)), _Sums(len(index.graph.refs))
    for number, (one, (_, score)) in enumerate(zip(walks, starts, strict=True)):
        strengths = one.strengths * score
        reached.add(one.nodes, strengths, one.nodes, number)
        # For every note the strongest of the elements it names; ties go to the first.
        which, named_in, worth = index.notes.naming(one.nodes)
        values = strengths[which] * worth
        order = np.lexsort((which, -values, named_in))
        found, first = np.unique(named_in[order], return_index=True)
        best = order[first]
        notes.add(found, values[best], one.nodes[which[best]], number)
    ranked, nodes = notes.ranked()[:limit], reached.ranked()
    note_paths, named_in_words = list[EvidencePath](), str(step_words()["named_in"][language])
    for note in ranked[:PATHS]:
        node, note_id = int(notes.node[note]), index.notes.ids[note]
        last = PathStep(source=label_of(index.graph, node, language), relation=named_in_words, target=note_id)
        steps = (*word_way(walks[int(notes.walk[note])].way_to(node), index.graph, language), last)
        weight = round(float(notes.best[note]), _DIGITS)
        note_paths.append(EvidencePath(note_id=note_id, steps=steps, weight=weight, text=word_steps(steps)))
    return Findings(
        notes=tuple((index.notes.ids[note], round(float(notes.total[note]), _DIGITS)) for note in ranked),
        paths=tuple(_paths(index, walks, reached, nodes, language)),
        note_paths=tuple(note_paths),
        capabilities=tuple(_capabilities(index, walks, reached, nodes, language)),
    )


def _paths(
    index: OntologyIndex, walks: Sequence[Walk], reached: _Sums, nodes: Sequence[int], language: Language
) -> Iterator[OntologyPath]:
    """Yield the ways to what several starts lead to most strongly, without the starts themselves."""
    own = {one.start for one in walks}
    for node in [node for node in nodes if node not in own][:PATHS]:
        one, ref = walks[int(reached.walk[node])], index.graph.refs[node]
        steps = word_way(one.way_to(node), index.graph, language)
        label = label_of(index.graph, node, language)
        weight = round(float(one.strengths[np.searchsorted(one.nodes, node)]), _DIGITS)
        text = word_steps(steps)
        yield OntologyPath(kind=ref.kind, key=ref.key, label=label, steps=steps, weight=weight, text=text)


def _capabilities(
    index: OntologyIndex, walks: Sequence[Walk], reached: _Sums, nodes: Sequence[int], language: Language
) -> Iterator[CandidateCapability]:
    for node in [node for node in nodes if index.graph.refs[node].kind == "Capability"][:CAPABILITIES]:
        capability = index.lookup.capabilities[index.graph.refs[node].key]
        way = walks[int(reached.walk[node])].way_to(node)
        yield CandidateCapability(
            key=capability.id,
            label=capability.labels.preferred(language),
            description=capability.description.of(language),
            score=round(float(reached.total[node]), _DIGITS),
            path=word_steps(word_way(way, index.graph, language)),
        )
