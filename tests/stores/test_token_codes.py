"""Token codes: what comes back of a cosine, for any shape, and that the codes never change unnoticed."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.models.protocols import TokenVectors
from theworld.stores.token_codes import (
    CODE_BITS,
    CODE_BYTES,
    TokenCodes,
    best_cosines,
    directions,
    encode_tokens,
    pack_tokens,
    unpack_tokens,
)


def made_tokens(count: int, dimension: int, seed: int, largest_id: int = 30_000) -> TokenVectors:
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return TokenVectors(random.integers(0, largest_id, count).astype(np.int32), np.rint(rows * 127).astype(np.int8))


def near(tokens: TokenVectors, noise: float, seed: int) -> TokenVectors:
    rows = tokens.vectors / 127 + noise * made_tokens(*tokens.vectors.shape, seed).vectors / 127
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return TokenVectors(tokens.ids, np.rint(rows * 127).astype(np.int8))


@given(
    st.integers(0, 40),
    st.sampled_from([1, 2, 8, 64, 384, 768]),
    st.integers(0, 2**32),
    st.sampled_from([500, 60_000, 250_000]),
)
def test_any_shape_is_coded_and_survives_packing(count: int, dimension: int, seed: int, largest_id: int) -> None:
    tokens = made_tokens(count, dimension, seed, largest_id)
    codes = encode_tokens(tokens)
    assert codes.codes.shape == (count, CODE_BYTES)
    assert codes.ids.tolist() == tokens.ids.tolist()
    again = unpack_tokens(*pack_tokens(codes))
    assert again.ids.tolist() == tokens.ids.tolist()
    assert np.array_equal(again.codes, codes.codes)
    width = 2 if max(tokens.ids, default=0) < 1 << 16 else 4
    assert sum(map(len, pack_tokens(codes))) == count * (CODE_BYTES + width)


@given(st.sampled_from([16, 64, 200, 384, 768]), st.floats(0, 3), st.integers(0, 2**32))
def test_the_error_of_a_cosine_is_bounded(dimension: int, noise: float, seed: int) -> None:
    kept = made_tokens(40, dimension, seed)
    query = near(kept, noise, seed + 1)
    notes = [TokenCodes(np.zeros(1, np.uint16), row[None]) for row in encode_tokens(kept).codes]
    exact = kept.vectors.astype(float) @ query.vectors.T / 127**2
    error = best_cosines(query, notes) - exact
    assert np.sqrt(np.mean(error**2)) < 0.13
    assert abs(error.mean()) < 0.05


def test_the_best_token_of_each_note_counts() -> None:
    kept = made_tokens(9, 384, 1)
    codes = encode_tokens(kept)
    notes = [TokenCodes(codes.ids[some], codes.codes[some]) for some in (slice(0, 4), slice(4, 5), slice(5, 9))]
    best = best_cosines(kept, notes)
    assert best.shape == (3, 9)
    assert best.argmax(axis=0).tolist() == [0, 0, 0, 0, 1, 2, 2, 2, 2]
    assert best.max(axis=0) == pytest.approx(np.ones(9), abs=0.1)
    assert best.max() <= 1


def test_the_work_on_other_notes_changes_nothing() -> None:
    query = made_tokens(5, 384, 2)
    notes = [encode_tokens(near(made_tokens(n, 384, n), 0.5, n)) for n in (1, 30, 7)]
    together = best_cosines(query, notes)
    alone = np.concatenate([best_cosines(query, [note]) for note in notes])
    assert together == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize("dimension", [1, 2, 8, 207, 208, 384, 1024])
def test_directions_are_orthonormal_in_blocks(dimension: int) -> None:
    found = directions(dimension).astype(float)
    assert found.shape == (dimension, CODE_BITS)
    for start in range(0, CODE_BITS, dimension):
        block = found[:, start : start + dimension]
        assert np.allclose(block.T @ block, np.eye(block.shape[1]), atol=1e-5)


def test_codes_are_those_of_earlier_versions() -> None:
    """When this fails, stores on disk would be misread: raise SCHEMA_VERSION and the dense FORMAT, then the digest."""
    numbers = np.frombuffer(hashlib.shake_256(b"vectors").digest(20 * 384), np.int8).reshape(20, 384)
    codes = encode_tokens(TokenVectors(np.arange(20, dtype=np.int32), numbers)).codes
    assert hashlib.sha256(codes.tobytes()).hexdigest()[:16] == "8c453f12b7fc3510"
