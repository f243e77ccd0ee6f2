"""What is particular to the numpy projection: base and tail, crashes, mapped files."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theworld.errors import StoreError
from theworld.stores import array_folder
from theworld.stores.dense import NumpyDense
from theworld.stores.protocols import NoteChange
from theworld.stores.token_codes import CODE_BYTES
from theworld.testing.conformance.documents import TENANT, feed, gone, put
from theworld.testing.conformance.documents import embedded as make_embedded

EAST = np.array([1, 0], np.float32)


def note(number: int, *, angle: float = 0.0):
    vector = make_embedded(np.cos(angle), np.sin(angle), tokens={number: (1, 0)})
    return put(f"n{number:03d}#0", "x", vectors={"en": vector})


def found(store: NumpyDense) -> list[str]:
    return [hit.note_id for hit in store.search("en", EAST, tenant=TENANT, filters={}, limit=999).hits]


def rows_on_disk(folder: Path) -> list[int]:
    """Return how many rows the files have, the largest first."""
    files = [array_folder.map_arrays(file) for file in folder.glob("*.arrays")]
    return sorted((len(arrays["vectors"]) for arrays in files if "vectors" in arrays), reverse=True)


def test_what_comes_one_by_one_is_joined_to_the_rest_now_and_then(tmp_path: Path) -> None:
    store, written, before = NumpyDense(tmp_path, writable=True), 0, {""}
    for number in range(200):
        feed(store, note(number), gone(f"n{number - 150:03d}#0"))
        files = {path.name: array_folder.map_arrays(path) for path in tmp_path.glob("*.arrays")}
        written += sum(len(arrays["vectors"]) for name, arrays in files.items() if name not in before)
        before = set(files)
        assert len(files) <= 2
    assert max(rows_on_disk(tmp_path)[1:], default=0) <= 20
    assert written < 200 * 30
    again = NumpyDense(tmp_path)
    assert found(again) == found(store) == [f"n{number:03d}#0" for number in range(50, 200)]
    assert again.applied == store.applied == 400


@pytest.mark.parametrize("where", ["write_arrays", "write_atomically"])
def test_a_crash_at_any_step_leaves_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def crash(*_: object) -> None:
        raise OSError("power cut")

    store = NumpyDense(tmp_path, writable=True)
    feed(store, note(1), note(2))
    with monkeypatch.context() as patched:
        patched.setattr(array_folder, where, crash)
        with pytest.raises(OSError, match="power cut"):
            feed(store, note(3), gone("n001#0"))
    again = NumpyDense(tmp_path, writable=True)
    assert (again.applied, found(again)) == (2, ["n001#0", "n002#0"])
    feed(again, note(3), gone("n001#0"))
    assert found(again) == ["n002#0", "n003#0"]
    assert rows_on_disk(tmp_path) == [2]


def test_a_reader_keeps_what_it_has_while_files_are_replaced(tmp_path: Path) -> None:
    writer = NumpyDense(tmp_path, writable=True)
    feed(writer, note(0))
    reader = NumpyDense(tmp_path)
    for number in range(1, 20):
        feed(writer, note(number))
    assert found(reader) == ["n000#0"]
    tokens = reader.token_codes("en", ["n000#0"], TENANT)[0]
    assert tokens is not None
    assert tokens.codes.shape == (1, CODE_BYTES)
    reader.refresh()
    assert len(found(reader)) == 20
    with pytest.raises(StoreError, match="reading"):
        feed(reader, note(41))


def test_token_codes_are_mapped_not_read(tmp_path: Path) -> None:
    store = NumpyDense(tmp_path, writable=True)
    feed(store, note(1))
    tokens = store.token_codes("en", ["n001#0"], TENANT)[0]
    assert tokens is not None
    base = tokens.codes
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    assert not isinstance(base, np.ndarray)
    assert not tokens.codes.flags.writeable


def test_small_and_large_vocabulary_ids_live_together(tmp_path: Path) -> None:
    store = NumpyDense(tmp_path, writable=True)
    feed(store, note(1), note(70_000))
    kept = store.token_codes("en", ["n001#0", "n70000#0"], TENANT)
    assert [some is not None and some.ids.tolist() for some in kept] == [[1], [70_000]]
    assert store.token_idf("en", [1]) == store.token_idf("en", [70_000]) < store.token_idf("en", [2])


def test_results_match_a_plain_computation(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    matrix = random.normal(size=(300, 16)).astype(np.float32)
    query = random.normal(size=16).astype(np.float32)
    store = NumpyDense(tmp_path, writable=True)
    notes = [put(f"n{i:03d}#0", vectors={"en": make_embedded(*row)}) for i, row in enumerate(matrix.tolist())]
    feed(store, *notes[:200])
    feed(store, *notes[200:])
    cosines = matrix @ query / np.linalg.norm(matrix, axis=1) / np.linalg.norm(query)
    result = store.search("en", query, tenant=TENANT, filters={}, limit=20)
    best = np.argsort(-cosines)[:20]
    assert [hit.note_id for hit in result.hits] == [f"n{i:03d}#0" for i in best]
    assert [hit.score for hit in result.hits] == pytest.approx(cosines[best].tolist(), abs=1e-5)
    assert result.mean == pytest.approx(float(cosines.mean()), abs=1e-5)
    assert result.deviation == pytest.approx(float(cosines.std()), abs=1e-5)


def test_a_large_matrix_compares_the_vectors_with_the_nearest_signs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("theworld.stores.dense.space.SIGNED", 1000)
    monkeypatch.setattr("theworld.stores.dense.space.COMPARED", 300)
    random = np.random.default_rng(7)
    vectors = random.normal(0.5, 1, (2100, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    def change(number: int) -> NoteChange:
        embedded = make_embedded(*vectors[number], tokens={1: (1, 0)})
        kind = [["even", "odd"][number % 2], *(["late"] if number >= 1950 else [])]
        return put(f"n{number:04d}#0", "x", vectors={"en": embedded}, metadata={"kind": kind})

    store = NumpyDense(tmp_path, writable=True)
    feed(store, *(change(number) for number in range(2000)))
    feed(store, *(gone(f"n{number:04d}#0") for number in range(0, 200, 5)))
    feed(store, *(change(number) for number in range(2000, 2100)))
    (matrix, *_) = NumpyDense(tmp_path)._opened.spaces[TENANT, "en"].matrices
    assert matrix.arrays["signs"].shape == (1, 2000)
    living = np.array([number for number in range(2100) if number >= 200 or number % 5])
    for filters, those in (({}, living), ({"kind": "odd"}, living[living % 2 == 1])):
        shares = []
        for asked in vectors[201:300:2] + random.normal(0, 0.05, (50, 64)).astype(np.float32):
            cosines = vectors[those] @ asked / np.linalg.norm(asked)
            result = store.search("en", asked, tenant=TENANT, filters=filters, limit=10)
            exact = {f"n{number:04d}#0": cosine for number, cosine in zip(those, cosines, strict=True)}
            best = sorted(exact, key=lambda note_id: -exact[note_id])[:10]
            assert all(hit.score == pytest.approx(exact[hit.note_id], abs=2e-6) for hit in result.hits)
            assert (result.mean, result.deviation) == pytest.approx((cosines.mean(), cosines.std()), abs=0.02)
            assert result.hits[0].note_id == best[0]
            shares.append(len({hit.note_id for hit in result.hits} & set(best)) / 10)
        assert np.mean(shares) > 0.8
    monkeypatch.setattr("theworld.stores.dense.space.COMPARED", 120)  # fewer than that in the matrix, more in all
    late = store.search("en", vectors[0], tenant=TENANT, filters={"kind": "late"}, limit=999)
    assert {hit.note_id for hit in late.hits} == {f"n{number:04d}#0" for number in range(1950, 2100)}
    few = store.search("en", vectors[0], tenant=TENANT, filters={"document_id": ["n0001", "n0002"]}, limit=10)
    assert len(few.hits) == 2  # compared all


def test_a_question_asked_again_is_answered_from_kept_scores_until_a_note_changes(tmp_path: Path) -> None:
    dense = NumpyDense(tmp_path, writable=True)
    feed(dense, *(note(number, angle=number / 50) for number in range(40)))
    turned = [np.array([np.cos(angle), np.sin(angle)], np.float32) for angle in np.linspace(0, 1, 6)]

    def asked() -> list[object]:
        return [dense.search("en", vector, tenant=TENANT, filters={}, limit=40) for vector in turned]

    first = asked()
    assert first == asked()
    assert dense.search("en", turned[0], tenant=TENANT, filters={}, limit=3).hits == first[0].hits[:3]
    assert found(dense)[0] == "n000#0"
    feed(dense, note(0, angle=1.5))
    assert (found(dense)[0], found(dense)[-1]) == ("n001#0", "n000#0")
    dense.close()


NUMBERS = st.integers(0, 12)
OPERATIONS = st.lists(st.lists(st.tuples(NUMBERS, st.none() | st.integers(0, 5)), max_size=5), max_size=30)


@given(OPERATIONS)
@settings(max_examples=30)
def test_any_changes_leave_what_the_last_ones_said(batches: list[list[tuple[int, int | None]]]) -> None:
    """A change is (note, word) or (note, None) for a removal; even words lie in one space, odd ones in another."""
    kept: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        store = NumpyDense(Path(folder), writable=True)
        for batch in batches:
            changes = [gone(f"n{i}#0") if word is None else _with_word(i, word) for i, word in batch]
            feed(store, *changes)
            for number, word in batch:
                kept.pop(f"n{number}#0", None)
                kept |= {} if word is None else {f"n{number}#0": word}
        for opened in (store, NumpyDense(Path(folder))):
            _check_words(opened, kept)


def _with_word(number: int, word: int) -> NoteChange:
    vector = make_embedded(np.cos(word), np.sin(word), tokens={word: (1, 0)})
    return put(f"n{number}#0", vectors={"odd" if word % 2 else "even": vector}, metadata={"word": word})


def _check_words(store: NumpyDense, kept: dict[str, int]) -> None:
    for space, odd in (("even", 0), ("odd", 1)):
        here = {note: word for note, word in kept.items() if word % 2 == odd}
        result = store.search(space, EAST, tenant=TENANT, filters={}, limit=99)
        expected = sorted(here, key=lambda note: (-round(float(np.cos(here[note])), 6), note))
        assert [hit.note_id for hit in result.hits] == expected
        assert store.spaces(TENANT).get(space, 0) == len(here)
        notes = [f"n{number}#0" for number in range(13)]
        cosines = [float(np.cos(here[note])) if note in here else 0.0 for note in notes]
        assert store.cosines(space, EAST, notes, TENANT).tolist() == pytest.approx(cosines, abs=1e-5)
        for note, tokens in zip(notes, store.token_codes(space, notes, TENANT), strict=True):
            assert (tokens.ids.tolist() if tokens is not None else None) == ([here[note]] if note in here else None)
        for word in range(6):
            having = [note for note in here if here[note] == word]
            filtered = store.search(space, EAST, tenant=TENANT, filters={"word": str(word)}, limit=99)
            assert [hit.note_id for hit in filtered.hits] == sorted(having)
            idf = np.log1p((len(here) - len(having) + 0.5) / (len(having) + 0.5))
            assert store.token_idf(space, [word])[0] == pytest.approx(idf, rel=1e-5)


def test_what_is_overridden_is_thrown_away_when_it_is_most(tmp_path: Path) -> None:
    store = NumpyDense(tmp_path, writable=True)
    feed(store, *(note(number) for number in range(20)))
    for last, rows in ((9, [20]), (10, [20]), (11, [9])):
        feed(store, *(gone(f"n{number:03d}#0") for number in range(last)))
        assert found(store) == found(NumpyDense(tmp_path)) == [f"n{number:03d}#0" for number in range(last, 20)]
        assert rows_on_disk(tmp_path) == rows


def test_a_space_whose_notes_are_all_gone_may_come_again_in_another_dimension(tmp_path: Path) -> None:
    store = NumpyDense(tmp_path, writable=True)
    feed(store, put("old#0", "x", vectors={"en": make_embedded(1, 0)}))
    feed(store, gone("old#0"))
    feed(store, put("new#0", "x", vectors={"en": make_embedded(0, 1, 0)}))
    query = np.array([0, 1, 0], np.float32)
    assert [hit.note_id for hit in store.search("en", query, tenant=TENANT, filters={}, limit=9).hits] == ["new#0"]
    assert store.cosines("en", query, ["new#0", "old#0"], TENANT).tolist() == [1, 0]
