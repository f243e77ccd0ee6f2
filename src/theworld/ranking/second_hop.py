"""The conditioned second hop: the question asked again together with a name that a chosen note leads on by.

"Where was the architect of X born?": the note on X is chosen for its words, but nothing in the note on its architect is
like the question, until it is asked as "Where was the architect of X born? Y". So when a note is chosen, the few names
that join it to the best of the others are put behind the question one by one, and a note joined by that name is lifted
by as much as it suits the question with the name better than the question alone: in its vector, and in how well its
tokens cover the question's own words, which their neighbour gives another meaning. It is multi-hop dense retrieval
(Xiong et al., ICLR 2021) with a name in place of the passage, and without training.

Only notes with token vectors are lifted: where an embedder gives none, there is no second hop.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theworld.deadline import Deadline
from theworld.models.protocols import Embedded, TokenVectors
from theworld.state import StageTrace
from theworld.stores.products import inner_products
from theworld.stores.token_codes import TokenCodes, best_cosines

Floats = NDArray[np.float32]

NAMES = 5
"""Names asked after a choice: one costs an embedding (4 to 7 ms); ten bring no more recall than five."""
HOPS = 2
"""Choices after which names are asked; a third brought nothing."""
LEAST_MS = 60.0
"""With less left of the deadline no names are asked: it is about what the embeddings of one choice take."""


@dataclass(frozen=True, slots=True)
class Space:
    """The candidates of one embedding space, and what the question alone is like them."""

    embed: Callable[[str], Embedded]
    cosines: Callable[[Floats, Sequence[int]], Floats]
    """(vector, candidates) -> cosine of each candidate's vector."""
    codes: Mapping[int, TokenCodes]
    """Candidate -> its token vectors; only these candidates are lifted."""
    pooled: Mapping[int, float]
    """Candidate -> cosine with the question alone."""
    importance: Floats
    """(m,) weight of each token of the question in this space."""
    covered: Mapping[int, Floats]
    """Candidate -> (m,) how far it covers each token of the question alone, in [0, 1]."""


class Bridge(NamedTuple):
    """Over which name a candidate was reached."""

    lift: float
    name: str
    source: int
    """The candidate that names it."""


@dataclass(slots=True)
class SecondHop:
    """Asks the names that lead on from chosen notes, and remembers over which one a note was reached."""

    query: str
    links: Mapping[int, Mapping[str, Sequence[int]]]
    """Candidate -> name -> the candidates that it joins to it."""
    spaces: Sequence[Space]
    covered: Callable[[Floats], Floats]
    """Cosines -> coverage in [0, 1], as in the objective."""
    deadline: Deadline
    hops: list[StageTrace] = field(default_factory=list)
    """The names asked after each choice, how long that took, and how many notes they lifted."""
    out_of_time: bool = False
    """Whether names were left unasked because too little of the deadline was left."""
    bridges: dict[int, Bridge] = field(default_factory=dict)
    """Candidate -> the name that lifted it most."""

    def after(self, chosen: int, gain: Floats) -> Floats:
        """Return how much each candidate is lifted by the names in the chosen one, (n,), >= 0.

        `gain` says how good each candidate is by now, -inf for those chosen; names that lead to the best are asked.
        """
        lift = np.zeros(len(gain), dtype=np.float32)
        names = self._names(chosen, gain) if len(self.hops) < HOPS and not self.out_of_time else []
        self.out_of_time |= bool(names) and self.deadline.remaining_ms() < LEAST_MS
        if not names or self.out_of_time:
            return lift
        began = time.perf_counter()
        for space in self.spaces:
            for name, asked in zip(names, self._embed(space, names), strict=True):
                targets = [j for j in self.links[chosen][name] if gain[j] > -np.inf and j in space.codes]
                for j, more in zip(targets, self._lifts(space, asked, targets), strict=True):
                    lift[j] = max(lift[j], more)
                    if more > 0 and (j not in self.bridges or more > self.bridges[j].lift):
                        self.bridges[j] = Bridge(float(more), name, chosen)
        counts = {"names": len(names), "lifted": int((lift > 0).sum())}
        took = (time.perf_counter() - began) * 1000
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

    def _embed(self, space: Space, names: Sequence[str]) -> list[Embedded]:
        texts = [f"{self.query} {name}" for name in names]
        with ThreadPoolExecutor(len(texts), thread_name_prefix="second-hop") as pool:
            return list(pool.map(space.embed, texts))

    def _lifts(self, space: Space, asked: Embedded, targets: Sequence[int]) -> Floats:
        if not targets:
            return np.zeros(0, dtype=np.float32)
        alone = np.array([space.pooled[j] for j in targets], dtype=np.float32)
        lift = np.maximum(space.cosines(asked.vector, targets) - alone, 0.0)
        size, tokens = len(space.importance), asked.tokens
        if tokens is not None and len(tokens.ids) >= size:
            words = TokenVectors(tokens.ids[:size], tokens.vectors[:size])
            rows = self.covered(best_cosines(words, [space.codes[j] for j in targets]))
            before = np.stack([space.covered[j] for j in targets])
            lift += np.maximum(inner_products(rows, space.importance) - inner_products(before, space.importance), 0.0)
        return np.asarray(lift, dtype=np.float32)


def joined_by(links: Sequence[tuple[int, int, str]]) -> dict[int, dict[str, list[int]]]:
    """Return candidate -> name -> the candidates that it joins to it, both ways, from (candidate, candidate, name)."""
    joined: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for one, other, name in links:
        if one != other:
            joined[one][name].append(other)
            joined[other][name].append(one)
    return {one: {name: sorted(set(others)) for name, others in by.items()} for one, by in joined.items()}
