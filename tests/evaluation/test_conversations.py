"""Conversations and rewritings measured: the figures of a small set, its files checked, the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from theworld.cli.app import run
from theworld.errors import IngestionError
from theworld.evaluation.conversations import load_rewritings, load_threads, measure_threads, token_f1

THREAD = {
    "id": "t1",
    "lang": "en",
    "turns": [
        {"question": "Who was the commander of Apollo 11?", "reply": "Neil Armstrong.", "refers": "none"},
        {
            "question": "Where was he born?",
            "reply": "In Ohio.",
            "refers": "pronoun",
            "standalone": "Where was Neil Armstrong born?",
            "standalone_must_contain": ["Armstrong", ["born", "birth"]],
            "answers": ["Ohio"],
            "files": ["moon.md"],
        },
        {"question": "Tell me a joke", "reply": "No.", "refers": "none", "answers": ["x"]},
        {"question": "And that?", "reply": "-", "refers": "pronoun", "standalone_must_contain": ["never said"]},
    ],
}
ROWS = [
    {"history": ["Who wrote Emma?", "Jane Austen."], "current": "Where was she born?",
     "rewrite": "Where was Jane Austen born?"},
    {"history": ["Emma", "A novel."], "current": "What is Rome?", "rewrite": "What is Rome?"},
]  # fmt: skip


def write(file: Path, rows: list[Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def test_rewritings_of_threads_by_kind_and_language(tmp_path: Path) -> None:
    write(tmp_path / "threads.jsonl", [THREAD])
    documents, threads = load_threads(tmp_path)
    steps: list[None] = []
    figures = {one.group: one for one in measure_threads(threads, documents, None, lambda: steps.append(None))}
    assert list(figures) == ["all", "lang en", "refers none", "refers pronoun"]
    assert (figures["all"].asked, len(steps)) == (4, 4)
    assert figures["all"].shares == {"left untouched": 1.0, "stand-alone right": 0.5}


@pytest.mark.slow
def test_threads_over_documents_are_asked_both_ways(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turns = [{**turn, "answers": turn.get("answers") or ["Armstrong"]} for turn in THREAD["turns"][:2]]
    thanks = {"question": "Thanks!", "reply": "You are welcome.", "refers": "none"}  # nothing to be judged by
    write(tmp_path / "threads.jsonl", [{**THREAD, "turns": [*turns, thanks]}])
    text = "# Moon\n\nNeil Armstrong commanded Apollo 11. Neil Armstrong was born in Wapakoneta, Ohio.\n"
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "moon.md").write_text(text, encoding="utf-8")
    results = tmp_path / "results.jsonl"
    assert run(["eval", "threads", str(tmp_path), "--json", "--results", str(results)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [json.loads(row)["id"] for row in results.read_text("utf-8").splitlines()] == ["t1#1", "t1#2"]
    assert all(one["id"] in {"t1#1", "t1#2"} for some in found["failures"].values() for one in some)
    (first, *_) = found["groups"]
    assert first["stand-alone right"] == 1.0
    assert first["file recall@5, as typed"] == first["file recall@5, as a person made it stand alone"] == 1.0
    assert first["answer contained, as typed"] >= 0.5
    write(tmp_path / "threads.jsonl", [{**THREAD, "turns": [{**turns[0], "reply": "Alexei Leonov."}, turns[1]]}])
    for options, right in (([], 0.0), (["--own-answers"], 1.0)):  # of whom the history speaks, he is
        assert run(["eval", "threads", str(tmp_path), "--json", *options]) == 0
        groups = {one["group"]: one for one in json.loads(capsys.readouterr().out)["groups"]}
        assert groups["refers pronoun"]["stand-alone right"] == right


def test_failed_turns_are_answers_that_were_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "threads.jsonl", [THREAD])
    for option in ("--failures", "--own-answers"):
        assert run(["eval", "threads", str(tmp_path), "--rewriting-only", option]) == 2
        assert "--rewriting-only" in capsys.readouterr().err


def test_references_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "rows.jsonl", ROWS)
    assert run(["eval", "references", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n"], found["exact, as typed"], found["exact, rewritten"]) == (2, 0.5, 1.0)
    assert (found["touched"], found["made worse, all"], found["untouched kept"]) == (0.5, 0.0, 1.0)
    assert found["F1, as typed"] < found["F1, rewritten"] == 1.0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "holds nothing"),
        ([{"id": "a", "turns": []}], r"threads\.jsonl, line 1: turns"),
        ([THREAD, {"id": "a", "turns": [{"question": "q"}]}], r"threads\.jsonl, line 2: turns\.0\.reply"),
    ],
)
def test_wrong_threads_are_named(tmp_path: Path, rows: list[Any], message: str) -> None:
    write(tmp_path / "threads.jsonl", rows)
    with pytest.raises(IngestionError, match=message):
        load_threads(tmp_path)


def test_wrong_rewritings_are_named(tmp_path: Path) -> None:
    with pytest.raises(IngestionError, match=r"rows\.jsonl, line 1: rewrite"):
        load_rewritings(write(tmp_path / "rows.jsonl", [{"history": [], "current": "q"}]))


@pytest.mark.parametrize(
    ("ours", "theirs", "f1"),
    [("a b", "a b", 1.0), ("a", "b", 0.0), ("a b", "a c", 0.5), ("北京", "北方", 0.5), ("Ann's dog", "ann dog", 1.0)],
)
def test_f1_of_words_and_characters(ours: str, theirs: str, f1: float) -> None:
    assert token_f1(ours, theirs) == f1
