from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from theworld.evaluation.datasets import Dataset
from theworld.stores.ledger.evaluations import Query

# The measures of quality that only benchmarks need are tested here.
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))


@pytest.fixture
def dataset_of() -> Callable[[Sequence[Query]], Dataset]:
    def make(queries: Sequence[Query]) -> Dataset:
        return Dataset("small", Path("corpus.jsonl"), frozenset("abc"), "0", tuple(queries))

    return make
