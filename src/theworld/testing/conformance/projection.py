"""What all projections have in common: they remember how far they came."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import pytest

from theworld.stores.protocols import NoteChange, Projection
from theworld.testing.conformance.documents import feed, put

P = TypeVar("P", bound=Projection)


class ProjectionConformance(Generic[P]):
    """Base of the suites; a subclass gives the fixture `make`."""

    durable = True
    """Whether what was applied outlives the object; False for projections in memory."""

    @pytest.fixture
    def make(self) -> Callable[[], P]:
        """Return what opens the projection; to be given by the subclass."""
        raise TypeError("a conformance suite needs the fixture `make`")

    @pytest.fixture
    def store(self, make: Callable[[], P]) -> Iterator[P]:
        """Return an empty projection."""
        store = make()
        yield store
        store.close()

    def test_it_remembers_how_far_it_came(self, store: P) -> None:
        assert store.applied == 0
        store.apply([put("a#0", "one")], 5)
        assert store.applied == 5
        store.apply([], 9)
        assert store.applied == 9

    def test_it_remembers_after_it_was_opened_again(self, make: Callable[[], P]) -> None:
        store = make()
        store.apply([put("a#0", "one")], 5)
        store.close()
        again = make()
        assert again.applied == (5 if self.durable else 0)
        again.close()

    def test_clearing_forgets_everything(self, store: P) -> None:
        feed(store, put("a#0", "one"))
        store.clear()
        assert store.applied == 0

    def test_a_failing_batch_leaves_it_as_it_was(self, store: P) -> None:
        def changes() -> Iterator[NoteChange]:
            yield put("a#0", "one")
            raise RuntimeError("the ledger went away")

        with pytest.raises(RuntimeError, match="went away"):
            store.apply(changes(), 7)
        assert store.applied == 0
        feed(store, put("a#0", "one"))
        assert store.applied == 1
