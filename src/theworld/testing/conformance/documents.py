"""Notes to feed a projection with, and what all projections have in common: they remember how far they came."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

from theworld.models.protocols import Embedded, TokenVectors
from theworld.state import Mention
from theworld.stores.protocols import NoteChange, Projection
from theworld.stores.records import Filters, NoteRecord
from theworld.stores.token_codes import encode_tokens
from theworld.text import detect_language, entity_key

TENANT = "default"
NONE: Filters = {}
"""Filters that everything passes."""
P = TypeVar("P", bound=Projection)


def put(
    note_id: str,
    text: str = "",
    *,
    title: str = "",
    aliases: Sequence[str] = (),
    tenant: str = TENANT,
    metadata: Mapping[str, Any] | None = None,
    names: Sequence[str] = (),
    vectors: Mapping[str, Embedded] | None = None,
    section: Sequence[str] = (),
    lead: str = "",
) -> NoteChange:
    """Return a note to be put, as the ledger gives it; `names` become mentions, the id up to `#` is its document."""
    mentions = tuple(Mention(surface=name, key=entity_key(name)) for name in names)
    language = detect_language(text)
    given = vectors or {}
    codes = {space: encode_tokens(one.tokens) for space, one in given.items() if one.tokens is not None}
    plain = {space: Embedded(one.vector) for space, one in given.items()}
    note = NoteRecord(
        note_id, 0, text, 0, len(text), language, tuple(section),
        lead=lead, mentions=mentions, vectors=plain, codes=codes,
    )  # fmt: skip
    document = note_id.split("#", maxsplit=1)[0]
    return NoteChange(0, tenant, note_id, document, title, tuple(aliases), metadata or {}, note)


def gone(note_id: str, *, tenant: str = TENANT) -> NoteChange:
    """Return a note to be removed."""
    return NoteChange(0, tenant, note_id, note_id.split("#", maxsplit=1)[0])


def embedded(*numbers: float, tokens: Mapping[int, Sequence[float]] | None = None) -> Embedded:
    """Return a vector with token vectors by vocabulary id (components in [-1, 1])."""
    vector = np.array(numbers, np.float32)
    if tokens is None:
        return Embedded(vector)
    units = np.array([[round(127 * x) for x in unit] for unit in tokens.values()], np.int8)
    return Embedded(vector, TokenVectors(np.array(list(tokens), np.int32), units.reshape(len(tokens), -1)))


def feed(projection: Projection, *changes: NoteChange) -> None:
    """Apply changes after the last one applied."""
    projection.apply(changes, projection.applied + len(changes))


_ALIKE_METADATA: tuple[dict[str, str], ...] = ({"a=b": "c"}, {"a": "b=c"}, {"a\\": "=c"}, {"a\\=": "c"}, {"a=": "=c"})
"""Metadata that a careless `key=value` would take for one another."""


class ProjectionConformance(Generic[P]):
    """Base of the suites; a subclass gives the fixture `make`."""

    durable = True
    """Whether what was applied outlives the object; False for projections in memory."""
    notes: Sequence[NoteChange]
    """What the fixture `filled` holds."""

    @pytest.fixture
    def store(self, make: Callable[[], P]) -> Iterator[P]:
        """Return an empty projection."""
        store = make()
        yield store
        store.close()

    @pytest.fixture
    def filled(self, store: P) -> P:
        """Return a projection with notes in Chinese and English."""
        feed(store, *self.notes)
        return store

    def found(self, store: P, *, filters: Filters = NONE) -> list[str]:
        """Return the ids of the notes that the suite's own query finds: some of `notes`, and what speaks of a river."""
        raise NotImplementedError

    def test_it_remembers_how_far_it_came(self, make: Callable[[], P]) -> None:
        store = make()
        assert store.applied == 0
        store.apply([put("a#0", "one")], 5)
        assert store.applied == 5
        store.apply([], 9)
        assert store.applied == 9
        store.close()
        again = make()
        assert again.applied == (9 if self.durable else 0)
        again.close()

    def test_cleared_it_finds_nothing_and_can_be_filled_again(self, filled: P) -> None:
        before = self.found(filled)
        filled.clear()
        assert filled.applied == 0
        assert self.found(filled) == []
        feed(filled, *self.notes)
        assert self.found(filled) == before != []

    def test_a_key_with_an_equals_sign_is_a_key_of_its_own(self, store: P) -> None:
        said: dict[str, Any] = {"text": "river", "names": ["River"], "vectors": {"en": embedded(1, 0, 0)}}
        feed(store, *(put(f"n{i}#0", metadata=one, **said) for i, one in enumerate(_ALIKE_METADATA)))
        for i, one in enumerate(_ALIKE_METADATA):
            assert self.found(store, filters=one) == [f"n{i}#0"]

    def test_a_failing_batch_leaves_it_as_it_was(self, store: P) -> None:
        def changes() -> Iterator[NoteChange]:
            yield put("a#0", "one")
            raise RuntimeError("the ledger went away")

        with pytest.raises(RuntimeError, match="went away"):
            store.apply(changes(), 7)
        assert store.applied == 0
        feed(store, put("a#0", "one"))
        assert store.applied == 1
