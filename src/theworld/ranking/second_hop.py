"""The conditioned second hop: what the chosen notes leave open of the question, asked of a name that they lead on by.

"Where was the architect of X born?": the note on X is chosen for its words, but nothing in the note on its architect is
like the question. So when a note is chosen, the words of the question that the chosen notes hold are left out, and the
few names that join the note to the best of the others are put in front of the rest one by one: "Y Where was born". A
note is lifted by how far it stands out among the candidates for the best of these queries, half by its vector and half
by how much of the query its token vectors cover. It is multi-hop dense retrieval (Xiong et al., ICLR 2021) with a name
in place of the passage, and without training.

Only notes with token vectors are lifted: where an embedder gives none, there is no second hop.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from theworld.deadline import Deadline
from theworld.models.protocols import Embedded
from theworld.questions import Question
from theworld.ranking.greedy_cover import Floats
from theworld.state import StageTrace
from theworld.text.tokens import function_words, token_set

NAMES = 3
"""Names asked after a choice: one costs an embedding (4 to 7 ms); ten bring no more recall than three."""
HOPS = 2
"""Choices after which names are asked; a third brought nothing."""
LEAST_MS = 60.0
"""With less left of the deadline no names are asked: it is about what the embeddings of one choice take."""


class Space(NamedTuple):
    """The candidates of one embedding space."""

    embed: Callable[[str], Embedded]
    """A query's vector and token vectors."""
    similarities: Callable[[Sequence[Embedded], Sequence[int]], Floats]
    """(queries, candidates) -> (2, queries, candidates): cosines of vectors, and shares of tokens that are covered."""
    notes: Set[int]
    """Its candidates; only these are lifted."""


class Bridge(NamedTuple):
    """Over which name a candidate was reached."""

    lift: float
    name: str
    source: int
    """The candidate that names it."""


@dataclass(slots=True)
class SecondHop:
    """Asks the names that lead on from chosen notes, and remembers over which one a note was reached."""

    question: Question
    texts: Sequence[str]
    """Title and text of each candidate."""
    links: Mapping[int, Mapping[str, Sequence[int]]]
    """Candidate -> name -> the candidates that it joins to it."""
    spaces: Sequence[Space]
    deadline: Deadline
    hops: list[StageTrace] = field(default_factory=list)
    """The names asked after each choice, how long that took, and how many notes were reached over them."""
    out_of_time: bool = False
    """Whether names were left unasked because too little of the deadline was left."""
    bridges: dict[int, Bridge] = field(default_factory=dict)
    """Candidate -> the name that joins it to a chosen note and lifted it most."""
    held: set[str] = field(default_factory=set)
    """Index tokens of the notes chosen so far."""

    def after(self, chosen: int, gain: Floats) -> Floats:
        """Return how much each candidate is lifted by the names in the chosen one, (n,), in standard deviations >= 0.

        `gain` says how good each candidate is by now, -inf for those chosen; names that lead to the best are asked.
        """
        lift = np.zeros(len(gain), dtype=np.float32)
        if not self.links or self.out_of_time or len(self.hops) == HOPS:
            return lift
        self.held |= token_set(self.texts[chosen])
        names = self._names(chosen, gain)
        self.out_of_time = bool(names) and self.deadline.remaining_ms() < LEAST_MS
        if not names or self.out_of_time:
            return lift
        began, reached = time.perf_counter(), set[int]()
        rest = rest_of(self.question, self.held)
        with ThreadPoolExecutor(len(names), thread_name_prefix="second-hop") as pool:
            for space in self.spaces:
                left = [j for j in sorted(space.notes) if gain[j] > -np.inf]
                if not left:
                    continue
                queries = list(pool.map(space.embed, [f"{name} {rest}" for name in names]))
                found = space.similarities(queries, left)
                mean, deviation = found.mean(axis=2, keepdims=True), found.std(axis=2, keepdims=True)
                standing: Floats = np.maximum(((found - mean) / np.maximum(deviation, 1e-6)).mean(axis=0), 0.0)
                for name, apart in zip(names, standing, strict=True):
                    lift[left] = np.maximum(lift[left], apart)
                    joined = set(self.links[chosen][name])
                    for j, more in zip(left, apart.tolist(), strict=True):
                        if j in joined and more > 0:
                            reached.add(j)
                            if j not in self.bridges or more > self.bridges[j].lift:
                                self.bridges[j] = Bridge(more, name, chosen)
        took = (time.perf_counter() - began) * 1000
        counts = {"names": len(names), "lifted": len(reached)}
        stage = f"second_hop_{len(self.hops) + 1}"
        self.hops.append(StageTrace(stage=stage, elapsed_ms=took, counts=counts, notes=tuple(names)))
        return lift

    def reached(self, candidate: int) -> tuple[int, str | None]:
        """Return by how many hops a candidate was reached, and over which name; (1, None) from the question itself."""
        hops, bridge = 1, self.bridges.get(candidate)
        name, seen = bridge.name if bridge else None, {candidate}
        while bridge is not None and bridge.source not in seen:
            seen.add(bridge.source)
            hops, bridge = hops + 1, self.bridges.get(bridge.source)
        return hops, name

    def _names(self, chosen: int, gain: Floats) -> list[str]:
        """Return the names that lead on to the best candidates, best first, but none that was asked before."""
        before = {name for hop in self.hops for name in hop.notes}
        best = {
            name: max(float(gain[j]) for j in joined)
            for name, joined in self.links.get(chosen, {}).items()
            if name not in before
        }
        return [name for name in sorted(best, key=lambda name: (-best[name], name)) if best[name] > -np.inf][:NAMES]


def rest_of(question: Question, held: Set[str]) -> str:
    """Return a question's text without the words that are among index tokens of notes; function words stay."""
    units, text, dropped = question.units, question.text, set[int]()
    held = held - function_words()
    for i, unit in enumerate(units):
        if unit.value.casefold() in held:  # short names in capitals stay so among units
            dropped.add(i)
        if i and units[i - 1].end == unit.start and units[i - 1].value + unit.value in held:  # a pair of characters
            dropped |= {i - 1, i}
    kept, end = [], 0
    for i in sorted(dropped):
        kept.append(text[end : units[i].start])
        end = units[i].end
    return " ".join(" ".join([*kept, text[end:]]).split())


def joined_by(links: Sequence[tuple[int, int, str]]) -> dict[int, dict[str, list[int]]]:
    """Return candidate -> name -> the candidates that it joins to it, both ways, from (candidate, candidate, name)."""
    joined: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for one, other, name in links:
        if one != other:
            joined[one][name].append(other)
            joined[other][name].append(one)
    return {one: {name: sorted(set(others)) for name, others in by.items()} for one, by in joined.items()}
