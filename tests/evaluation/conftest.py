from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from theworld.evaluation.datasets import Dataset, Query


@pytest.fixture
def dataset_of() -> Callable[[Sequence[Query]], Dataset]:
    def make(queries: Sequence[Query]) -> Dataset:
        return Dataset("small", Path("corpus.jsonl"), frozenset("abc"), "0", tuple(queries))

    return make
