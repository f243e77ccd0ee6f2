"""The embedded twins do what every twin must."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from theworld.stores.dense import NumpyDense
from theworld.stores.graph import MappedGraph, MemoryGraph
from theworld.stores.sparse import TantivySparse
from theworld.testing.conformance import DenseConformance, GraphConformance, SparseConformance


class TestTantivySparse(SparseConformance):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Callable[[], TantivySparse]:
        return lambda: TantivySparse(tmp_path / "sparse", writable=True)


class TestNumpyDense(DenseConformance):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Callable[[], NumpyDense]:
        return lambda: NumpyDense(tmp_path / "dense", writable=True)


class TestMappedGraph(GraphConformance):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Callable[[], MappedGraph]:
        return lambda: MappedGraph(tmp_path / "graph", writable=True)


class TestMemoryGraph(GraphConformance):
    durable = False

    @pytest.fixture
    def make(self) -> Callable[[], MemoryGraph]:
        return MemoryGraph
