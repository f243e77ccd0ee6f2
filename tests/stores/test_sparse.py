"""What is particular to the tantivy projection."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from made_documents import assert_congruent, make_document
from theworld.errors import StoreError
from theworld.stores.files import Sums, sums_of
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.protocols import Hit
from theworld.stores.sparse import TantivySparse, embedded
from theworld.testing.conformance.documents import TENANT, feed, gone, put

QUERIES = ("river science", "科学 电影 鲁迅", "Marie Curie Warsaw", "Paper 4")


def found(store: TantivySparse, query: str = "word") -> list[str]:
    return [hit.note_id for hit in store.search(query, tenant=TENANT, filters={}, limit=100)]


def search(store: KnowledgeStore, query: str) -> list[Hit]:
    return store.sparse.search(query, tenant=TENANT, filters={}, limit=50)


def test_a_crash_between_commit_and_remembering_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise OSError("power cut")

    notes = [put(f"n{i}#0", "word") for i in range(5)]
    store = TantivySparse(tmp_path, writable=True)
    feed(store, *notes[:2])
    with monkeypatch.context() as patched:
        patched.setattr(embedded, "write_atomically", crash)
        with pytest.raises(OSError, match="power cut"):
            feed(store, *notes[2:], gone("n0#0"))
    store.close()
    again = TantivySparse(tmp_path, writable=True)
    assert again.applied == 2
    feed(again, *notes[2:], gone("n0#0"))
    assert found(again) == ["n1#0", "n2#0", "n3#0", "n4#0"]
    again.close()


def test_a_reader_sees_a_commit_after_refresh_and_cannot_write(tmp_path: Path) -> None:
    reader = TantivySparse(tmp_path)
    assert (reader.applied, found(reader)) == (0, [])
    writer = TantivySparse(tmp_path, writable=True)
    feed(writer, put("a#0", "word"))
    assert found(reader) == []
    reader.refresh()
    assert (reader.applied, found(reader)) == (1, ["a#0"])
    writer.renew([put("b#0", "word")], 7)
    assert found(reader) == ["a#0"]
    reader.refresh()
    assert (reader.applied, found(reader)) == (7, ["b#0"])
    for write in (reader.clear, lambda: feed(reader, put("c#0", "word"))):
        with pytest.raises(StoreError, match="reading"):
            write()
    writer.close()


def test_replaced_notes_are_counted_until_it_is_renewed(tmp_path: Path) -> None:
    store = TantivySparse(tmp_path, writable=True)
    notes = [put(f"n{i}#0", "word") for i in range(4)]
    feed(store, *notes)
    assert store.replaced == 0
    feed(store, put("n0#0", "other"))
    assert store.replaced == 1
    store.renew([put("n0#0", "other"), *notes[1:]], 9)
    assert (store.replaced, store.applied) == (0, 9)
    assert found(store) == ["n1#0", "n2#0", "n3#0"]
    store.close()


def test_scores_do_not_depend_on_how_the_store_was_written(tmp_path: Path) -> None:
    final = [make_document(number, version=2) for number in range(12)]
    results = []
    for name, steps in {"at once": [final], "in steps": [[make_document(n) for n in range(12)], final]}.items():
        with KnowledgeStore.open(tmp_path / name, create=True) as store:
            for documents in steps:
                store.put(documents)
                store.catch_up()
            assert_congruent(store)
            results.append([search(store, query) for query in QUERIES])
    assert results[0] == results[1]
    assert all(results[0])


@pytest.mark.parametrize("anyway", [1000, 0])
def test_one_deleted_document_leaves_no_trace_in_the_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anyway: int
) -> None:
    monkeypatch.setattr(embedded, "RENEWED_ANYWAY", anyway)
    monkeypatch.setattr(embedded, "RENEWED_FOR_EACH", 0)
    results = []
    for name, removed in {"never there": [], "deleted": ["doc-00012"]}.items():
        with KnowledgeStore.open(tmp_path / name, create=True) as store:
            store.put([make_document(number) for number in range(12 + len(removed))])
            store.catch_up()
            store.delete(removed, tenant=TENANT)
            store.catch_up()
            results.append([hit for query in QUERIES for hit in search(store, query)])
            if anyway == 0:  # dear, so that it is left to `theworld sync`
                store.renew_sparse()
                results[-1] = [hit for query in QUERIES for hit in search(store, query)]
    assert results[0] == results[1]


def test_many_replaced_notes_pay_for_indexing_all_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "RENEWED_ANYWAY", 0)
    monkeypatch.setattr(embedded, "RENEWED_FOR_EACH", 2)
    store = TantivySparse(tmp_path, writable=True)
    feed(store, *[put(f"n{i}#0", "word") for i in range(6)])
    for times, worth in [(1, False), (2, False), (3, True)]:
        feed(store, put(f"n{times}#0", "word again"))
        assert store.worth_renewing is worth
    store.close()


def test_a_reader_that_comes_as_the_index_is_replaced_looks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = TantivySparse(tmp_path, writable=True)
    feed(writer, put("n0#0", "word"))
    stale = [embedded.read_json(tmp_path / "applied.json")]
    writer.renew([put("n0#0", "word"), put("n1#0", "word")], 2)
    plainly = embedded.read_json
    monkeypatch.setattr(embedded, "read_json", lambda path: stale.pop() if stale else plainly(path))
    reader = TantivySparse(tmp_path)
    assert (reader.applied, found(reader)) == (2, ["n0#0", "n1#0"])
    reader.close()
    writer.close()


def test_a_segment_that_is_merged_away_while_it_is_summed_is_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = ["a segment gone by now"]

    def sums(files: Iterable[Path], known: Sums) -> Sums:
        if merged:
            raise FileNotFoundError(merged.pop())
        return sums_of(files, known)

    monkeypatch.setattr(embedded, "sums_of", sums)
    store = TantivySparse(tmp_path, writable=True)
    feed(store, put("n0#0", "word"))
    assert not merged
    assert TantivySparse(tmp_path).applied == 1
    store.close()


def test_a_tenant_alone_in_the_index_gets_the_hits_it_gets_beside_another(tmp_path: Path) -> None:
    words = ("river", "science", "paper", "word")
    notes = [put(f"n{i:03}#0", " ".join(words[(i * k) % 4] for k in range(1, 3 + i % 7))) for i in range(200)]
    alone, beside = (TantivySparse(tmp_path / name, writable=True) for name in ("alone", "beside"))
    feed(alone, *notes, put("other#0", "paper"))
    feed(beside, *notes, put("other#0", "paper", tenant="other"))
    for query in (*words, "river science", "paper word word"):
        with_other = [
            hit for hit in alone.search(query, tenant=TENANT, filters={}, limit=250) if hit.note_id != "other#0"
        ]
        assert with_other == beside.search(query, tenant=TENANT, filters={}, limit=250)
    assert alone.search("river", tenant="\ud800", filters={}, limit=5) == []
