from __future__ import annotations

import json
from pathlib import Path

import pytest

QUERIES = [
    {"_id": "q1", "text": "Who was the drummer of Rush?", "metadata": {"answers": ["Neil Peart"], "type": "person"}},
    {"_id": "q2", "text": "天坛位于哪里？", "metadata": {"answers": ["北京市东城区", "北京"]}},
    {"_id": "q3", "text": "Who built the Old Light?", "metadata": {"answers": ["Ada Grey"]}},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\trush.md\t1\nq2\ttiantan.md\t1\nq3\tlighthouse.md\t1\n"
STAGE_KEYS = ["recall@2", "recall@5", "recall@10", "recall@20", "all@5", "mrr", "ndcg@10"]


@pytest.fixture
def dataset(texts: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "small"
    (folder / "qrels").mkdir(parents=True)
    rows = []
    for name, text in texts.items():
        title, _, body = text.rpartition("# ")[2].partition("\n\n")
        rows.append({"_id": name, "title": title, "text": body.strip()})
    for name, values in (("corpus", rows), ("queries", QUERIES)):
        lines = "\n".join(json.dumps(value, ensure_ascii=False) for value in values)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text(QRELS, encoding="utf-8")
    return folder


def test_retrieval_measures_every_stage(cli, texts: dict[str, str], dataset: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    done = cli("eval", "retrieval", dataset, "--json", file)
    assert done.code == 0, done.err
    found = json.loads(file.read_text(encoding="utf-8"))
    assert list(found) == ["dataset", "n", "stages", "latency_ms", "ingest"]
    assert (found["dataset"], found["n"]) == ("small", 3)
    assert list(found["stages"]) == ["sparse", "dense", "graph", "m3_baseline", "fused", "reranked"]
    assert all(list(values) == STAGE_KEYS for values in found["stages"].values())
    assert found["stages"]["dense"]["recall@5"] == 1.0
    assert found["stages"]["reranked"]["mrr"] == 1.0
    assert 0 < found["latency_ms"]["p50"] <= found["latency_ms"]["p95"]
    assert (found["ingest"]["documents"], found["ingest"]["unchanged"]) == (len(texts), 0)
    assert "reranked over m3_baseline, recall@5: +0.0 95% [+0.0, +0.0], p = 1.0000" in done.out
    assert "person (1): reranked recall@5 100.0, all@5 100.0; recall@5 over m3_baseline +0.0 (one question)" in done.out
    assert "no type (2): reranked recall@5 100.0" in done.out

    again = cli("eval", "retrieval", dataset, "--json", "-", "--limit", 2)
    second = json.loads(again.out)
    assert (second["n"], second["ingest"]["documents"]) == (2, 0), "the store is kept between runs"
    assert second["ingest"]["unchanged"] == len(texts)
    assert Path(second["ingest"]["store"]).is_relative_to(tmp_path / "cache")


def test_answers_are_measured_by_kind(cli, dataset: Path, tmp_path: Path) -> None:
    done = cli("eval", "answers", dataset, "--json", "-", "--store", tmp_path / "mine.store")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert list(found) == ["n", "answered", "em", "f1", "precision_answered", "by_kind"]
    assert found["n"] == 3
    assert sum(values["n"] for kind, values in found["by_kind"].items() if kind != "none") == found["answered"]
    assert found["precision_answered"] > 0
    assert "questions answered" in cli("eval", "answers", dataset, "--store", tmp_path / "mine.store").out


def test_a_store_of_something_else_is_refused(cli, dataset: Path, store: Path, tmp_path: Path) -> None:
    import shutil

    copy = shutil.copytree(store, tmp_path / "copy.store")
    lines = (dataset / "corpus.jsonl").read_text(encoding="utf-8").replace('"rush.md"', '"r"')
    (dataset / "corpus.jsonl").write_text(lines, encoding="utf-8")
    (dataset / "qrels" / "test.tsv").write_text("q2\ttiantan.md\t1\n", encoding="utf-8")
    done = cli("eval", "retrieval", dataset, "--store", copy)
    assert (done.code, done.out) == (5, "")
    assert "1 of the documents in the store are not in small, 'rush.md' for instance" in done.err


def test_what_is_wrong_is_told_before_the_work(cli, dataset: Path, tmp_path: Path) -> None:
    assert cli("eval", "retrieval", dataset, "--json", tmp_path / "no" / "out.json").code == 2
    missing = cli("eval", "answers", tmp_path / "nowhere")
    assert missing.code == 5
    assert "is not a folder" in missing.err
    (dataset / "queries.jsonl").write_text("{oops", encoding="utf-8")
    assert "queries.jsonl, line 1: Invalid JSON" in cli("eval", "retrieval", dataset).err
    assert not (tmp_path / "cache").exists()
