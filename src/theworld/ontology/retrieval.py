"""What the ontology finds for a question: notes, paths and capabilities, from what it speaks of over K hops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theworld.deadline import Deadline
from theworld.ontology.index import OntologyIndex
from theworld.ontology.model import Ref
from theworld.ontology.questions.descriptions import UNREAD, Reading
from theworld.ontology.questions.names import QueryMatches
from theworld.ontology.walking import HOPS, Floats, Ints, Walk, walk
from theworld.ontology.wording import label_of, step_words, word_steps, word_way
from theworld.state import EvidencePath, PathStep
from theworld.state.ontology import CandidateCapability, OntologyPath
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


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found; everything is ordered best first."""

    starts: tuple[Start, ...] = ()
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
    walks: list[Walk] = []
    notes, reached = _Sums(len(index.notes.ids)), _Sums(len(index.graph.refs))
    for number, (start, score) in enumerate(starts):
        one = walk(index.graph, start, hops, named=named, deadline=deadline)
        walks.append(one)
        strengths = one.strengths * score
        reached.add(one.nodes, strengths, one.nodes, number)
        notes.add(*_strongest_of_notes(index, one.nodes, strengths), number)
    ranked = notes.ranked()[:limit]
    return Findings(
        starts=starts,
        notes=tuple((index.notes.ids[note], round(float(notes.total[note]), _DIGITS)) for note in ranked),
        paths=tuple(_paths(index, walks, reached, language)),
        note_paths=tuple(_note_path(index, walks, notes, note, language) for note in ranked[:PATHS]),
        capabilities=tuple(_capabilities(index, walks, reached, language)),
    )


def _strongest_of_notes(index: OntologyIndex, nodes: Ints, strengths: Floats) -> tuple[Ints, Floats, Ints]:
    """Return (note, value, node): for every note the strongest of the elements it names; ties go to the first."""
    which, notes, worth = index.notes.naming(nodes)
    values = strengths[which] * worth
    order = np.lexsort((which, -values, notes))
    found, first = np.unique(notes[order], return_index=True)
    best = order[first]
    return found, values[best], nodes[which[best]]


def _paths(index: OntologyIndex, walks: Sequence[Walk], reached: _Sums, language: Language) -> list[OntologyPath]:
    """Return the ways to what several starts lead to most strongly, without the starts themselves."""
    own = {one.start for one in walks}
    found = []
    for node in [node for node in reached.ranked() if node not in own][:PATHS]:
        one, ref = walks[int(reached.walk[node])], index.graph.refs[node]
        steps = word_way(one.way_to(node), index.graph, language)
        label = label_of(index.graph, node, language)
        weight = round(float(one.strengths[np.searchsorted(one.nodes, node)]), _DIGITS)
        text = word_steps(steps)
        found.append(OntologyPath(kind=ref.kind, key=ref.key, label=label, steps=steps, weight=weight, text=text))
    return found


def _note_path(
    index: OntologyIndex, walks: Sequence[Walk], notes: _Sums, note: int, language: Language
) -> EvidencePath:
    value, number, node = float(notes.best[note]), int(notes.walk[note]), int(notes.node[note])
    label, note_id = label_of(index.graph, node, language), index.notes.ids[note]
    last = PathStep(source=label, relation=str(step_words()["named_in"][language]), target=note_id)
    steps = (*word_way(walks[number].way_to(node), index.graph, language), last)
    return EvidencePath(note_id=note_id, steps=steps, weight=round(value, _DIGITS), text=word_steps(steps))


def _capabilities(
    index: OntologyIndex, walks: Sequence[Walk], reached: _Sums, language: Language
) -> list[CandidateCapability]:
    scores = {node: round(float(reached.total[node]), _DIGITS) for node in index.graph.capabilities.tolist()}
    found = []
    for node in sorted((n for n in scores if scores[n] > 0), key=lambda n: (-scores[n], n))[:CAPABILITIES]:
        capability = index.lookup.capabilities[index.graph.refs[node].key]
        way = walks[int(reached.walk[node])].way_to(node)
        found.append(
            CandidateCapability(
                key=capability.id,
                label=capability.labels.preferred(language),
                description=capability.description.of(language),
                score=scores[node],
                path=word_steps(word_way(way, index.graph, language)),
            )
        )
    return found
