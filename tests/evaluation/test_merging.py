from __future__ import annotations

import json
from pathlib import Path

import pytest
from quality_measures.merging import merge_datasets

from theworld.evaluation.datasets import Dataset, load_dataset
from theworld.stores.ledger.evaluations import Query


def make(folder: Path, name: str, documents: dict[str, tuple[str, str]], gold: dict[str, str]) -> Dataset:
    place = folder / name
    (place / "qrels").mkdir(parents=True)
    rows = [{"_id": key, "title": title, "text": text} for key, (title, text) in documents.items()]
    (place / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (place / "queries.jsonl").write_text("\n".join(json.dumps({"_id": q, "text": f"{q}?"}) for q in gold), "utf-8")
    (place / "qrels" / "test.tsv").write_text("".join(f"{q}\t{d}\t1\n" for q, d in gold.items()), "utf-8")
    return load_dataset(place)


def test_texts_become_one_and_ids_are_kept_apart(tmp_path: Path) -> None:
    first = make(tmp_path, "first", {"1": ("Rush", "A band."), "2": ("Lundy", "An island.")}, {"q": "1"})
    second = make(tmp_path, "second", {"1": ("Lundy", "An island."), "2": ("Ada", "A name.")}, {"q": "1", "r": "2"})
    whole, parts = merge_datasets([first, second], tmp_path / "merged")
    rows = {row["_id"]: row["title"] for row in map(json.loads, whole.corpus.read_text("utf-8").splitlines())}
    assert rows == {"1": "Rush", "2": "Lundy", "second:2": "Ada"}
    assert whole.document_ids == frozenset(rows)
    assert [part.name for part in parts] == ["first", "second"]
    assert [dict(query.grades) for part in parts for query in part.queries] == [{"1": 1}, {"2": 1}, {"second:2": 1}]
    assert {part.fingerprint for part in parts} == {whole.fingerprint}
    assert [query.text for query in whole.queries] == ["q?", "q?", "r?"]


def test_an_id_that_looks_like_a_renamed_one_stays_its_own(tmp_path: Path) -> None:
    first = make(tmp_path, "a", {"1": ("Rush", "A band."), "b:1": ("Ada", "A name.")}, {"q": "b:1"})
    second = make(tmp_path, "b", {"1": ("Lundy", "An island.")}, {"q": "1"})
    whole, parts = merge_datasets([first, second], tmp_path / "merged")
    rows = {row["_id"]: row["title"] for row in map(json.loads, whole.corpus.read_text("utf-8").splitlines())}
    assert rows == {"1": "Rush", "b:1": "Ada", "b:b:1": "Lundy"}
    assert [dict(query.grades) for part in parts for query in part.queries] == [{"b:1": 1}, {"b:b:1": 1}]


def test_the_same_sets_give_the_same_corpus_file(tmp_path: Path) -> None:
    sets = [make(tmp_path, name, {"1": (name, "x")}, {"q": "1"}) for name in ("a", "b")]
    once, _ = merge_datasets(sets, tmp_path / "merged")
    before = once.corpus.stat().st_mtime_ns
    again, _ = merge_datasets(sets, tmp_path / "merged")
    assert (again.fingerprint, again.corpus.stat().st_mtime_ns) == (once.fingerprint, before)
    assert [file.name for file in once.corpus.parent.iterdir()] == ["corpus.jsonl"]
    assert len(list((tmp_path / "merged").iterdir())) == 1


def test_two_sets_are_the_least(tmp_path: Path) -> None:
    one = Dataset("one", tmp_path / "corpus.jsonl", frozenset(), "0", (Query("q", "?"),))
    with pytest.raises(ValueError, match="at least two sets of different names, got one"):
        merge_datasets([one])
    with pytest.raises(ValueError, match="got one, one"):
        merge_datasets([one, one])
