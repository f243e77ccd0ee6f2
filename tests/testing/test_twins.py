"""The kits that compare twins and look for leaks notice what they are there for."""

from __future__ import annotations

from pathlib import Path

import pytest

from theworld.stores.graph import MemoryGraph, RankingParameters
from theworld.stores.protocols import Hit
from theworld.stores.sparse import TantivySparse
from theworld.testing.conformance.leaks import leaks_of_graph, leaks_of_sparse
from theworld.testing.conformance.twins import assert_graph_twins, assert_same_ranking, assert_sparse_twins


class Leaking(TantivySparse):
    """Forgets the tenant now and then."""

    def search(self, query, *, tenant, filters, limit):
        return super().search(query, tenant="default" if "words" in query else tenant, filters=filters, limit=limit)


class Unordered(TantivySparse):
    def search(self, query, *, tenant, filters, limit):
        return [
            Hit(hit.note_id, hit.score * (1.01 if "#1" in hit.note_id else 1.0))
            for hit in super().search(query, tenant=tenant, filters=filters, limit=limit)
        ]


def test_equal_twins_agree_and_others_are_told_apart(tmp_path: Path) -> None:
    stores = [TantivySparse(tmp_path / name, writable=True) for name in "abc"]
    assert_sparse_twins(stores[0], stores[1], seed=4)
    with pytest.raises(AssertionError):
        assert_sparse_twins(stores[2], Unordered(tmp_path / "d", writable=True), seed=4)
    assert_graph_twins(MemoryGraph(), MemoryGraph(), seed=4, tolerance=1e-12)
    with pytest.raises(AssertionError):
        assert_graph_twins(MemoryGraph(), MemoryGraph(RankingParameters(shared_weight=0.21)), seed=4)


def test_only_ties_may_stand_in_another_order() -> None:
    one, swapped = [Hit("a", 2.0), Hit("b", 1.0), Hit("c", 1.0)], [Hit("a", 2.0), Hit("c", 1.0), Hit("b", 1.0)]
    assert_same_ranking(one, swapped, tolerance=1e-6)
    assert_same_ranking(one, [*one[:2], Hit("cut off in the other", 1.0)], tolerance=1e-6)
    with pytest.raises(AssertionError):
        assert_same_ranking(one, [Hit("b", 2.0), Hit("a", 1.0), Hit("c", 1.0)], tolerance=1e-6)


@pytest.mark.slow
def test_the_embedded_twins_show_nothing_of_another_tenant(tmp_path: Path) -> None:
    assert leaks_of_sparse(TantivySparse(tmp_path / "s", writable=True), operations=10_000, seed=1) == []
    assert leaks_of_graph(MemoryGraph(), operations=10_000, seed=1) == []


def test_a_leak_is_found(tmp_path: Path) -> None:
    assert leaks_of_sparse(Leaking(tmp_path, writable=True), operations=500, seed=1)
