from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from theworld.errors import ModelError
from theworld.models.protocols import Embedded
from theworld.models.registry import CachedEmbedder


class Counting:
    """Counts its calls; each query waits until it is let go."""

    name, dimension = "counting", 2

    def __init__(self, failures: int = 0) -> None:
        self.asked: list[str] = []
        self.may_answer = threading.Event()
        self._failures = failures

    def embed_query(self, text: str) -> Embedded:
        self.asked.append(text)
        self.may_answer.wait(5)
        if len(self.asked) <= self._failures:
            raise ModelError("no")
        return Embedded(np.array([len(text), 0.0], dtype=np.float32))

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        return [self.embed_query(text) for text in texts]


def test_one_computation_serves_everyone_who_asks_at_the_same_time() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner)
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(cached.embed_query, "same") for _ in range(8)]
        inner.may_answer.set()
        found = [future.result() for future in waiting]
    assert inner.asked == ["same"]
    assert all(item is found[0] for item in found)


def test_different_queries_do_not_wait_for_each_other() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner)
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(cached.embed_query, text) for text in ("a", "bb")]
        while len(inner.asked) < 2:
            threading.Event().wait(0.005)
        inner.may_answer.set()
        assert [future.result().vector[0] for future in futures] == [1.0, 2.0]


def test_a_failure_reaches_all_and_is_tried_again() -> None:
    inner = Counting(failures=1)
    cached = CachedEmbedder(inner)
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(cached.embed_query, "x") for _ in range(4)]
        while not inner.asked:
            threading.Event().wait(0.005)
        threading.Event().wait(0.05)
        inner.may_answer.set()
        assert all(isinstance(future.exception(), ModelError) for future in waiting)
    assert cached.embed_query("x").vector[0] == 1.0
    assert len(inner.asked) == 2


def test_the_least_recently_asked_is_forgotten() -> None:
    inner = Counting()
    inner.may_answer.set()
    cached = CachedEmbedder(inner, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed_query(text)
    assert inner.asked == ["a", "b", "c", "b"]


def test_shared_vectors_cannot_be_changed() -> None:
    inner = Counting()
    inner.may_answer.set()
    vector = CachedEmbedder(inner).embed_query("a").vector
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 5.0


def test_the_rest_passes_through() -> None:
    inner = Counting()
    inner.may_answer.set()
    cached = CachedEmbedder(inner)
    assert (cached.name, cached.dimension) == ("counting", 2)
    assert len(cached.embed_passages(["a", "a"])) == 2
    assert inner.asked == ["a", "a"]
