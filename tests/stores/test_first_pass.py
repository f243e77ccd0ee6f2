"""Above EXACT_ROWS, sign codes choose what is compared exactly."""

from __future__ import annotations

import numpy as np
import pytest

from theworld.models.protocols import Embedded, FloatArray
from theworld.stores.dense import NumpyDense, space
from theworld.stores.dense.first_pass import SignCodes, rotation, sign_codes
from theworld.testing.conformance.documents import TENANT, feed, gone, put

DIMENSION, NOTES, QUERIES = 192, 6000, 20


def vectors(number: int) -> FloatArray:
    """Return unit vectors in clouds, all of them on one side, as embedders make them."""
    random = np.random.default_rng(3)
    clouds = random.normal(size=(40, DIMENSION)) + 0.8
    made = clouds[random.integers(40, size=number)] + random.normal(size=(number, DIMENSION))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def test_estimates_are_near_and_not_biased() -> None:
    made = vectors(10_000)
    matrix, queries = made[100:], made[:100]
    codes = SignCodes(**sign_codes(matrix))
    errors = np.stack([codes.estimates(query) - matrix @ query for query in queries])
    assert abs(errors.mean()) < 0.005
    assert errors.std() < 0.06


@pytest.mark.parametrize("dimension", [1, 2, 63, 64, 65])
def test_any_dimension_can_be_coded(dimension: int) -> None:
    matrix = np.eye(dimension, dtype=np.float32)
    estimates = SignCodes(**sign_codes(matrix)).estimates(matrix[0])
    assert estimates.shape == (dimension,)
    assert np.isfinite(estimates).all()
    assert rotation(dimension).T @ rotation(dimension) == pytest.approx(np.eye(dimension), abs=1e-5)


def test_equal_vectors_are_all_alike() -> None:
    same = np.tile(vectors(1), (100, 1))
    assert SignCodes(**sign_codes(same)).estimates(same[0]) == pytest.approx(np.ones(100), abs=1e-5)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[NumpyDense, FloatArray, FloatArray]:
    """Return a store of two segments with codes and a small one without, the living vectors, and some queries."""
    store, made = NumpyDense(tmp_path_factory.mktemp("dense"), writable=True), vectors(NOTES * 2 + 100 + QUERIES)
    matrix, queries = made[:-QUERIES], made[-QUERIES:]
    notes = [
        put(f"n{i:05d}#0", vectors={"en": Embedded(row)}, metadata={"tenth": i % 10 == 0})
        for i, row in enumerate(matrix)
    ]
    for start in range(0, len(notes), NOTES):
        feed(store, *notes[start : start + NOTES])
    feed(store, gone("n00000#0"), put("n00001#0", vectors={"en": Embedded(-matrix[1])}))
    matrix[0], matrix[1] = -2, -matrix[1]
    return store, matrix, queries


def test_the_best_are_found_with_exact_scores(
    filled: tuple[NumpyDense, FloatArray, FloatArray], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, matrix, queries = filled
    exact = [store.search("en", query, tenant=TENANT, filters={}, limit=20) for query in queries]
    monkeypatch.setattr(space, "EXACT_ROWS", 1000)
    store.refresh()
    searched = [store.search("en", query, tenant=TENANT, filters={}, limit=20) for query in queries]
    common = sum(len(set(one.hits) & set(other.hits)) for one, other in zip(searched, exact, strict=True))
    assert common >= 0.99 * 20 * QUERIES
    for query, result, other in zip(queries, searched, exact, strict=True):
        scores = [float(matrix[int(hit.note_id[1:6])] @ query) for hit in result.hits]
        assert [hit.score for hit in result.hits] == pytest.approx(scores, abs=1e-5)
        assert scores == sorted(scores, reverse=True)
        assert result.mean == pytest.approx(other.mean, abs=0.1 * other.deviation)
        assert result.deviation == pytest.approx(other.deviation, rel=0.1)


def test_filters_come_before_the_first_pass(
    filled: tuple[NumpyDense, FloatArray, FloatArray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "EXACT_ROWS", 1000)
    store, matrix, queries = filled
    store.refresh()
    for query in queries:
        found = store.search("en", query, tenant=TENANT, filters={"tenth": "true"}, limit=5).hits
        best = np.argsort(-(matrix[::10] @ query))[:5] * 10
        assert [hit.note_id for hit in found] == [f"n{i:05d}#0" for i in best]
