from __future__ import annotations

import json
from pathlib import Path

import pytest

from theworld.errors import IngestionError
from theworld.evaluation.datasets import load_dataset

CORPUS = [{"_id": "d1", "title": "Rush", "text": "A band."}, {"_id": "d2", "title": "梵文", "text": "歐洲。"}]
QUERIES = [
    {"_id": "q1", "text": "Which band?", "metadata": {"answers": ["Rush"], "type": "bridge"}},
    {"_id": "q2", "text": "哪裡？", "metadata": {"answers": "歐洲"}},
    {"_id": "q3", "text": "No gold?"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td2\t1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus.jsonl").write_text("\n".join(json.dumps(each) for each in CORPUS), encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text("\n".join(json.dumps(each) for each in QUERIES) + "\n\n", encoding="utf-8")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(QRELS, encoding="utf-8")
    return tmp_path


def test_a_folder_is_read(folder: Path) -> None:
    dataset = load_dataset(folder)
    assert (dataset.name, dataset.corpus) == (folder.name, folder / "corpus.jsonl")
    assert dataset.document_ids == {"d1", "d2"}
    first, second, third = dataset.queries
    assert (first.answers, first.type, first.grades) == (("Rush",), "bridge", {"d1": 2})
    assert (second.text, second.answers, second.grades) == ("哪裡？", ("歐洲",), {"d2": 1})
    assert (third.answers, third.grades) == ((), {})


def test_qrels_may_lie_beside_and_have_the_columns_of_trec(folder: Path) -> None:
    (folder / "qrels" / "test.tsv").unlink()
    (folder / "qrels.tsv").write_text("q1\t0\td1\t1\n", encoding="utf-8")
    assert load_dataset(folder).queries[0].grades == {"d1": 1}


def test_the_fingerprint_changes_with_the_corpus_only(folder: Path) -> None:
    before = load_dataset(folder).fingerprint
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\n", encoding="utf-8")
    assert load_dataset(folder).fingerprint == before
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('\n{"_id": "d3", "text": "new"}')
    assert load_dataset(folder).fingerprint != before


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("corpus.jsonl", "", "corpus.jsonl: holds nothing"),
        ("corpus.jsonl", '{"_id": "d1", "text": "x"}\n{oops', "corpus.jsonl, line 2: Invalid JSON: key must"),
        ("corpus.jsonl", "[1]", "corpus.jsonl, line 1: Input should be an object"),
        ("corpus.jsonl", '{"_id": 7, "text": "x"}', "line 1: _id: Input should be a valid string"),
        ("corpus.jsonl", '{"_id": "d1"}', "line 1: text: Field required"),
        ("corpus.jsonl", '{"_id":"a","text":"x"}\n\n{"_id":"a","text":"y"}', "line 3: repeats the id 'a'"),
        ("queries.jsonl", '{"_id":"q1","text":"x","metadata":{"answers":[1]}}', "line 1: metadata.answers.0: Input"),
        ("queries.jsonl", '{"_id":"q1","text":"x","metadata":[1]}', "line 1: metadata: Input should be an object"),
        ("qrels/test.tsv", "q1\td1", "test.tsv, line 1: has 2 columns"),
        ("qrels/test.tsv", "q1\td1\tyes", "line 1: has the score 'yes'"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq9\td1\t1", "line 2: names the query 'q9'"),
        ("qrels/test.tsv", "q1\td9\t1", "line 1: names the document 'd9'"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(folder: Path, name: str, content: str, message: str) -> None:
    (folder / name).write_text(content, encoding="utf-8")
    if name == "queries.jsonl":
        (folder / "qrels" / "test.tsv").write_text("q1\td1\t1\n", encoding="utf-8")
    with pytest.raises(IngestionError) as caught:
        load_dataset(folder)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(IngestionError, match=f"{name}: is missing"):
        load_dataset(folder)


def test_missing_qrels_and_folders_and_wrong_encodings_are_named(folder: Path) -> None:
    with pytest.raises(IngestionError, match="is not a folder"):
        load_dataset(folder / "nowhere")
    (folder / "queries.jsonl").write_bytes('{"_id":"q","text":"歐"}'.encode("utf-16"))
    with pytest.raises(IngestionError, match=r"queries.jsonl: cannot be read.*UTF-8"):
        load_dataset(folder)
    (folder / "qrels" / "test.tsv").unlink()
    (folder / "queries.jsonl").write_text('{"_id":"q","text":"x"}', encoding="utf-8")
    with pytest.raises(IngestionError, match="has no qrels"):
        load_dataset(folder)
