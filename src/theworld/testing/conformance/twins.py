"""Congruence of two twins: the same changes, the same queries, the same answers up to ties.

    assert_sparse_twins(TantivySparse(folder, writable=True), MySparse(...), seed=1)
    assert_dense_twins(NumpyDense(folder, writable=True), MyDense(...), seed=1)
    assert_graph_twins(MemoryGraph(), MyGraph(...), seed=1)

Both get random puts, updates and deletes of several tenants, in Chinese and English, with metadata; then random
queries with random filters are asked of both.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from theworld.models.protocols import Embedded, FloatArray, TokenVectors
from theworld.stores.protocols import DenseStore, GraphStore, Hit, NoteChange, Projection, SparseStore
from theworld.testing.conformance.documents import feed, gone, put

TENANTS = ("default", "other", "租户")
_WORDS = (
    "river mountain city battle film song born play science island company music novel bridge harbour "
    "河流 山脉 城市 战争 电影 歌曲 出生 科学 岛屿 公司 音乐 小说 桥梁 港口 诺贝尔文学奖"
).split()
_NAMES = [f"{first} {last}" for first in ("Ann", "Bo", "Cy", "Di", "Ed") for last in ("Reed", "Stone", "Hill")]
_NAMES += [f"{first}{last}" for first in "王李张刘" for last in ("小明", "建国", "海燕")]
BATCHES, BATCH = 6, 40
QUERIES = 60
SPACES = {"en": 24, "模型/zh:1": 16}
"""Dimension of the vectors by space."""
_VOCABULARY = 50


class RandomNotes:
    """A stream of random changes, and what they leave behind."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.notes: dict[tuple[str, str], NoteChange] = {}

    def change(self) -> NoteChange:
        """Return the next change: a put, an update or, one time in five, a removal."""
        chance = self._random
        tenant, note_id = chance.choice(TENANTS), f"doc{chance.randrange(60):02d}#{chance.randrange(2)}"
        if chance.random() < 0.2:
            self.notes.pop((tenant, note_id), None)
            return gone(note_id, tenant=tenant)
        number = note_id.split("#", maxsplit=1)[0]
        change = put(
            note_id,
            " ".join(chance.choices(_WORDS, k=chance.randint(1, 60))),
            title=chance.choice((*_NAMES, f"Title {number}")),
            section=chance.choices(_WORDS, k=chance.choice((0, 0, 1, 3))),
            lead=" ".join(chance.choices(_WORDS, k=chance.choice((0, 0, 4)))),
            aliases=chance.sample(_NAMES, k=chance.choice((0, 0, 1))),
            tenant=tenant,
            metadata={"year": chance.randint(2000, 2003), "tags": chance.sample(["a", "b", "历史"], k=2)},
            names=chance.choices(_NAMES, k=chance.randint(0, 5)),
            vectors={
                space: self._embedded(space) for space in chance.sample(list(SPACES), k=chance.choice((0, 1, 1, 2)))
            },
        )
        self.notes[tenant, note_id] = change
        return change

    def _embedded(self, space: str) -> Embedded:
        chance, count = self._random, self._random.choice((0, 3, 9))
        if not count:
            return Embedded(self.vector(space))
        numbers = [[chance.randint(-127, 127) for _ in range(SPACES[space])] for _ in range(count)]
        ids = [chance.randrange(_VOCABULARY) for _ in range(count)]
        return Embedded(self.vector(space), TokenVectors(np.array(ids, np.int32), np.array(numbers, np.int8)))

    def vector(self, space: str) -> FloatArray:
        """Return a vector, sometimes one that others have too, so that there are ties."""
        chance = self._random
        if chance.random() < 0.3:
            return np.asarray(np.eye(SPACES[space])[chance.randrange(3)], np.float32)
        return np.array([chance.gauss(0, 1) for _ in range(SPACES[space])], np.float32)

    def filters(self) -> dict[str, Any]:
        """Return filters as a query may have them, often none."""
        chance = self._random
        return chance.choice(
            [
                {},
                {},
                {"year": str(chance.randint(2000, 2004))},
                {"tags": chance.sample(["a", "b", "历史", "none"], k=2)},
                {"tags": "历史", "year": ["2001", "2002"]},
                {"document_id": [note.partition("#")[0] for _, note in chance.sample(sorted(self.notes), k=3)]},
            ]
        )

    def queries(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield (tenant, query, filters)."""
        chance = self._random
        for _ in range(QUERIES):
            words = chance.choices(_WORDS, k=chance.randint(1, 6)) + chance.choices(_NAMES, k=chance.randint(0, 1))
            yield chance.choice(TENANTS), " ".join(words), self.filters()

    def seeds(self, tenant: str) -> tuple[dict[str, float], dict[str, float]]:
        """Return weighted notes and entity keys to begin a walk at."""
        chance = self._random
        ids = sorted(note for owner, note in self.notes if owner == tenant)
        notes = {note: chance.uniform(0.1, 2) for note in chance.sample(ids, k=min(3, len(ids)))}
        return notes, {name.lower(): chance.uniform(0.1, 2) for name in chance.sample(_NAMES, k=chance.choice((0, 2)))}


def assert_same_ranking(one: Sequence[Hit], other: Sequence[Hit], *, tolerance: float, what: object = "") -> None:
    """Compare two lists: the same scores within the tolerance, and the same notes but for the order of ties."""
    assert len(one) == len(other), what
    for first, second in zip(one, other, strict=True):
        assert first.score == pytest.approx(second.score, abs=tolerance), what
    scores = {hit.note_id: hit.score for hit in other}
    last = one[-1].score if one else 0.0
    for hit in one:
        # A note that only one of them lists ties with the last: the cut went through a tie.
        assert scores.get(hit.note_id, last) == pytest.approx(hit.score, abs=2 * tolerance), what


def _fill(stores: Sequence[Projection], notes: RandomNotes) -> None:
    for _ in range(BATCHES):
        batch = [notes.change() for _ in range(BATCH)]
        for store in stores:
            feed(store, *batch)


def assert_sparse_twins(one: SparseStore, other: SparseStore, *, seed: int) -> None:
    """Compare two sparse stores; both are built anew after the updates, which still count in their frequencies."""
    notes = RandomNotes(seed)
    _fill((one, other), notes)
    final = list(notes.notes.values())
    for store in (one, other):
        store.renew(final, store.applied)
    for tenant, query, filters in notes.queries():
        lists = [store.search(query, tenant=tenant, filters=filters, limit=10) for store in (one, other)]
        assert_same_ranking(*lists, tolerance=2e-4, what=(tenant, query, filters))


def assert_dense_twins(one: DenseStore, other: DenseStore, *, seed: int, tolerance: float = 1e-5) -> None:
    """Compare two dense stores; `tolerance` is how far a cosine may be off."""
    notes = RandomNotes(seed)
    _fill((one, other), notes)
    for tenant, _, filters in notes.queries():
        assert one.spaces(tenant) == other.spaces(tenant)
        ids = [note for owner, note in notes.notes if owner == tenant]
        for space in (*SPACES, "unknown"):
            vector = notes.vector(space if space in SPACES else "en")
            found = [store.search(space, vector, tenant=tenant, filters=filters, limit=10) for store in (one, other)]
            assert_same_ranking(found[0].hits, found[1].hits, tolerance=tolerance, what=(tenant, space, filters))
            spread = [(result.mean, result.deviation) for result in found]
            assert spread[0] == pytest.approx(spread[1], abs=tolerance)
            asked = [*ids[:30], "unknown#0"]
            cosines = [store.cosines(space, vector, asked, tenant) for store in (one, other)]
            assert cosines[0] == pytest.approx(cosines[1], abs=tolerance)
            for first, second in zip(*(store.token_codes(space, asked, tenant) for store in (one, other)), strict=True):
                assert (first is None) == (second is None)
                if first is not None and second is not None:
                    assert np.array_equal(first.ids, second.ids)
                    assert np.array_equal(first.codes, second.codes)
            idf = [store.token_idf(space, range(_VOCABULARY + 5)) for store in (one, other)]
            assert idf[0] == pytest.approx(idf[1], rel=1e-5)


def assert_graph_twins(one: GraphStore, other: GraphStore, *, seed: int, tolerance: float = 1e-4) -> None:
    """Compare two graph stores; `tolerance` is how far a rank may be off."""
    notes = RandomNotes(seed)
    _fill((one, other), notes)
    for tenant, _, filters in notes.queries():
        seeds, entities = notes.seeds(tenant)
        ids = sorted(note for owner, note in notes.notes if owner == tenant)
        keys = [name.lower() for name in _NAMES]
        assert one.entities(keys, tenant=tenant) == other.entities(keys, tenant=tenant)
        assert one.links(ids[:30], tenant=tenant) == other.links(ids[:30], tenant=tenant)
        lists = [
            store.rank(notes=seeds, entities=entities, tenant=tenant, filters=filters, limit=10)
            for store in (one, other)
        ]
        assert_same_ranking(*lists, tolerance=tolerance, what=(tenant, seeds, entities, filters))
        paths = [
            store.paths(ids[:20], notes=list(seeds), entities=list(entities), tenant=tenant) for store in (one, other)
        ]
        assert paths[0] == paths[1], (tenant, seeds, entities)
