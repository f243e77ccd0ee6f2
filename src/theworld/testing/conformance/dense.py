"""Conformance of dense stores: cosine in several spaces, with token vectors beside."""

from __future__ import annotations

import math

import numpy as np
import pytest

from theworld.errors import ModelMismatchError
from theworld.stores.protocols import DenseStore
from theworld.stores.records import Filters
from theworld.testing.conformance.documents import NONE, TENANT, ProjectionConformance, embedded, feed, gone, put

NOTES = [
    put("a#0", "one", vectors={"en": embedded(1, 0, 0, tokens={7: (1, 0, 0), 9: (0, 1, 0)})}, metadata={"in": "x"}),
    put("b#0", "two", vectors={"en": embedded(0, 1, 0, tokens={7: (0, 0, 1)})}, metadata={"in": "y"}),
    put("c#0", "three", vectors={"en": embedded(-3, 0, 0)}, metadata={"in": ["x", "y"]}),
    put("d#0", "四", vectors={"zh": embedded(0, 1, tokens={7: (0, 1)})}, metadata={"in": "x"}),
    put("e#0", "no vector"),
]
EAST = np.array([1, 0, 0], np.float32)


class DenseConformance(ProjectionConformance[DenseStore]):
    """Subclass it and give the fixture `make`."""

    notes = NOTES

    def found(self, store: DenseStore, filters: Filters = NONE, *, tenant: str = TENANT, limit: int = 9) -> list[str]:
        """Return the ids of the notes nearest to EAST."""
        return [hit.note_id for hit in store.search("en", EAST, tenant=tenant, filters=filters, limit=limit).hits]

    def test_nearest_first_by_cosine(self, filled: DenseStore) -> None:
        result = filled.search("en", EAST * 5, tenant=TENANT, filters={}, limit=9)
        assert [hit.note_id for hit in result.hits] == ["a#0", "b#0", "c#0"]
        assert [hit.score for hit in result.hits] == pytest.approx([1, 0, -1], abs=1e-5)

    def test_the_distribution_is_that_of_all_that_pass(self, filled: DenseStore) -> None:
        result = filled.search("en", EAST, tenant=TENANT, filters={}, limit=1)
        assert len(result.hits) == 1
        assert result.mean == pytest.approx(0, abs=1e-5)
        assert result.deviation == pytest.approx(math.sqrt(2 / 3), abs=1e-5)
        result = filled.search("en", EAST, tenant=TENANT, filters={"in": "y"}, limit=1)
        assert [result.mean, result.deviation] == pytest.approx([-0.5, 0.5], abs=1e-5)

    def test_filters_come_before_the_limit(self, filled: DenseStore) -> None:
        assert self.found(filled, {"in": "y"}, limit=1) == ["b#0"]
        assert self.found(filled, {"in": ["z"]}) == self.found(filled, {"in": []}) == []
        assert self.found(filled, {"document_id": "b"}, limit=1) == ["b#0"]
        assert self.found(filled, {"document_id": ["c", "b", "unknown"]}) == ["b#0", "c#0"]

    def test_spaces_are_apart(self, filled: DenseStore) -> None:
        assert filled.spaces(TENANT) == {"en": 3, "zh": 1}
        north = np.array([0, 1], np.float32)
        assert [hit.note_id for hit in filled.search("zh", north, tenant=TENANT, filters={}, limit=9).hits] == ["d#0"]
        unknown = filled.search("fr", EAST, tenant=TENANT, filters={}, limit=9)
        assert (unknown.hits, unknown.mean, unknown.deviation) == ([], 0.0, 0.0)

    def test_a_vector_of_another_size_is_refused(self, filled: DenseStore) -> None:
        with pytest.raises(ModelMismatchError, match="3"):
            filled.search("en", np.ones(4, np.float32), tenant=TENANT, filters={}, limit=9)
        with pytest.raises(ModelMismatchError, match="3"):
            filled.cosines("en", np.ones(4, np.float32), ["a#0"], TENANT)

    def test_a_space_that_was_emptied_may_come_back_in_another_size(self, filled: DenseStore) -> None:
        feed(filled, *(gone(f"{name}#0") for name in "abc"))
        feed(filled, put("a#0", "x", vectors={"en": embedded(0, 1)}), put("e#0", "x", vectors={"en": embedded(1, 0)}))
        north = np.array([0, 1], np.float32)
        found = filled.search("en", north, tenant=TENANT, filters={}, limit=9).hits
        assert [(hit.note_id, hit.score) for hit in found] == [("a#0", 1.0), ("e#0", 0.0)]
        with pytest.raises(ModelMismatchError, match="2"):
            filled.search("en", EAST, tenant=TENANT, filters={}, limit=9)
        feed(filled, *(put(f"{name}#0", "x", vectors={"en": embedded(1, 0, 0)}) for name in "ae"))
        assert self.found(filled) == ["a#0", "e#0"]

    def test_ties_are_ordered_by_note_id(self, store: DenseStore) -> None:
        feed(store, *(put(f"n{i:02d}#0", "x", vectors={"en": embedded(1, 1, i % 2)}) for i in range(40, 0, -1)))
        even = [f"n{i:02d}#0" for i in range(2, 41, 2)]
        assert self.found(store, limit=20) == even
        assert self.found(store, limit=5) == even[:5]

    def test_tenants_are_apart(self, filled: DenseStore) -> None:
        feed(filled, put("a#0", "x", tenant="other", vectors={"en": embedded(0, 0, 1)}))
        assert self.found(filled)[0] == "a#0"
        assert self.found(filled, tenant="other") == ["a#0"]
        assert self.found(filled, tenant="unknown") == []
        assert filled.token_codes("en", ["b#0"], "other") == [None]
        assert filled.spaces("other") == {"en": 1}
        assert filled.spaces("unknown") == {}

    def test_cosines_of_named_notes(self, filled: DenseStore) -> None:
        found = filled.cosines("en", EAST * 2, ["c#0", "nope", "a#0", "b#0", "d#0", "a#0"], TENANT)
        assert found.dtype == np.float32
        assert found.tolist() == [-1, 0, 1, 0, 0, 1]
        assert filled.cosines("en", EAST, [], TENANT).shape == (0,)
        assert filled.cosines("fr", EAST, ["a#0"], TENANT).tolist() == [0]

    def test_token_codes_come_back_as_they_were(self, filled: DenseStore) -> None:
        found = filled.token_codes("en", ["b#0", "a#0", "c#0", "d#0", "nope"], TENANT)
        assert [some is None for some in found] == [False, False, True, True, True]
        assert found[1] is not None
        assert found[1].ids.tolist() == [7, 9]
        assert NOTES[0].note is not None
        assert np.array_equal(found[1].codes, NOTES[0].note.codes["en"].codes)
        assert found[1].codes.dtype == np.uint8

    def test_idf_counts_notes_with_a_token(self, filled: DenseStore) -> None:
        idf = filled.token_idf("en", [7, 9, 12345, 7])
        expected = [math.log(1 + (3 - df + 0.5) / (df + 0.5)) for df in (2, 1, 0, 2)]
        assert idf.tolist() == pytest.approx(expected, rel=1e-5)
        assert filled.token_idf("zh", [7]).tolist() == pytest.approx([math.log(1 + 0.5 / 1.5)], rel=1e-5)
        assert filled.token_idf("en", []).shape == (0,)

    def test_an_update_replaces_and_a_removal_removes(self, filled: DenseStore) -> None:
        moved = put("a#0", "two", vectors={"en": embedded(0, 0, 1, tokens={9: (1, 0, 0)})})
        feed(filled, moved, gone("c#0"), put("b#0", "in another space", vectors={"zh": embedded(1, 0)}))
        assert self.found(filled) == ["a#0"]
        assert filled.spaces(TENANT) == {"en": 1, "zh": 2}
        assert filled.token_codes("en", ["b#0", "c#0"], TENANT) == [None, None]
        expected = [math.log(1 + (1 - df + 0.5) / (df + 0.5)) for df in (0, 1)]
        assert filled.token_idf("en", [7, 9]).tolist() == pytest.approx(expected, rel=1e-5)

    def test_replay_changes_nothing(self, filled: DenseStore) -> None:
        filled.apply(NOTES, filled.applied)
        feed(filled, *NOTES, gone("unknown#0"), NOTES[0], NOTES[0])
        assert self.found(filled) == ["a#0", "b#0", "c#0"]
        assert filled.spaces(TENANT) == {"en": 3, "zh": 1}
        assert filled.token_idf("en", [7]).tolist() == pytest.approx([math.log(1 + 1.5 / 2.5)], rel=1e-5)

    def test_many_small_batches_end_like_one(self, store: DenseStore) -> None:
        numbers = np.random.default_rng(5)
        expected: dict[str, list[float]] = {}
        for _ in range(60):
            note_id = f"n{numbers.integers(40):02d}#0"
            if numbers.random() < 0.3:
                feed(store, gone(note_id))
                expected.pop(note_id, None)
            else:
                unit = numbers.normal(size=3).tolist()
                feed(store, put(note_id, "x", vectors={"en": embedded(*unit, tokens={1: (1, 0, 0)})}))
                expected[note_id] = unit
        cosines = {note_id: unit[0] / math.hypot(*unit) for note_id, unit in expected.items()}
        hits = store.search("en", EAST, tenant=TENANT, filters={}, limit=99).hits
        assert {hit.note_id: hit.score for hit in hits} == pytest.approx(cosines, abs=1e-5)
        assert store.spaces(TENANT) == {"en": len(expected)}
        count = len(expected)
        assert store.token_idf("en", [1]).tolist() == pytest.approx([math.log(1 + 0.5 / (count + 0.5))], rel=1e-4)
