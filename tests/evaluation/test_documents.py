"""Questions over documents: reading a set, the measures (as the reference scorer has them), causes, command."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from theworld.errors import IngestionError, TheWorldError
from theworld.evaluation.documents.question_set import (
    DocumentAnswer,
    DocumentQuestion,
    QuestionSet,
    load_question_set,
    note_as_shown,
)
from theworld.evaluation.documents.retrievers import RETRIEVERS, Retriever
from theworld.evaluation.documents.rivals import (
    RIVALS,
    ask_floor,
    corpus_texts,
    cut,
    join_paragraphs,
)
from theworld.evaluation.documents.scoring import DocumentsReport, explain_failure, holds_fact, score
from theworld.state import Candidate
from theworld.stores.knowledge_store import KnowledgeStore

SMALL = Path(__file__).parent / "data" / "documents_small"
EXPECTED = json.loads((SMALL / "expected.json").read_text("utf-8"))
"""Shares that the reference scorer gives to results.jsonl and to its own BM25 over this set."""
REFERENCE = Path(__file__).parents[2].parent / "shared" / "data" / "documents"
SETS = sorted(path.parent for path in REFERENCE.glob("*/questions.jsonl"))


def read_answers(file: Path) -> list[DocumentAnswer]:
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [
        DocumentAnswer(r["id"], r["answer"], r["kind"], r["confidence"], tuple(r["files"]), tuple(r["notes"]), 1.0)
        for r in rows
    ]


@pytest.fixture(scope="module")
def small() -> QuestionSet:
    return load_question_set(SMALL)


@pytest.fixture(scope="module")
def report(small: QuestionSet) -> DocumentsReport:
    return DocumentsReport(small, read_answers(SMALL / "results.jsonl"))


def floor_of(questions: QuestionSet) -> DocumentsReport:
    passages = cut(corpus_texts(questions.corpus), join_paragraphs)
    return DocumentsReport(questions, ask_floor(questions, passages, lambda _label, _total: lambda: None))


def shares_of(report: DocumentsReport) -> dict[str, Any]:
    found = report.figures.as_json()["measures"]
    return {name: found[name] for name in found if name != "on the first screen"}


def asked(**fields: Any) -> DocumentQuestion:
    return DocumentQuestion.model_validate({"id": "q", "question": "What?", "kind": "fact", "answers": ["x"]} | fields)


def answered(text: str = "", notes: tuple[str, ...] = (), files: tuple[str, ...] = (), **fields: Any) -> DocumentAnswer:
    given: dict[str, Any] = {"kind": "extractive", "confidence": 0.9, "elapsed_ms": 1.0} | fields
    return DocumentAnswer(id="q", text=text, notes=notes, files=files, **given)


# Reading a set


def test_a_set_is_read(small: QuestionSet) -> None:
    assert (small.name, len(small.questions)) == ("documents_small", 10)
    by_id = {question.id: question for question in small.questions}
    assert by_id["s-03"].needed == (("team lead",), ("doctor's note",))
    assert by_id["s-07"].needed == (("72 小时", "72小时"),)
    assert by_id["s-10"].accepted_files == [{"zh/网关.md", "zh/存储.md"}]
    assert by_id["s-02"].accepted_files == [{"en/leave.md"}]
    assert not by_id["s-09"].answerable
    assert [question.id for question in load_question_set(SMALL, limit=2).questions] == ["s-01", "s-02"]


GOOD = {"id": "a", "question": "What?", "kind": "fact", "answers": ["x"], "files": ["one.md"]}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{oops", "Invalid JSON"),
        ("[]", "object"),
        (json.dumps(GOOD), "repeats the id 'a'"),
        (json.dumps(GOOD | {"id": "b", "kind": "opinion"}), "kind: Input should be 'fact', 'howto', 'two-file'"),
        (json.dumps(GOOD | {"id": ""}), "id: String should have at least 1 character"),
        (json.dumps({"id": "b", "kind": "fact", "answers": ["x"]}), "question: Field required"),
        (json.dumps(GOOD | {"id": "b", "question": "？!"}), "`question` holds no letter or digit"),
        (json.dumps(GOOD | {"id": "b", "answers": []}), "needs `answers`, or `parts`"),
        (json.dumps(GOOD | {"id": "b", "parts": [["x"], []]}), "`parts` without an empty list"),
        (json.dumps(GOOD | {"id": "b", "also": [[], []]}), "`also` has 2 entries for 1 files"),
        (json.dumps(GOOD | {"id": "b", "files": ["two.md"]}), "'two.md' is not in corpus/"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "one.md").write_text("x", "utf-8")
    (tmp_path / "questions.jsonl").write_text(f"{json.dumps(GOOD)}\n\n{line}\n", "utf-8")
    with pytest.raises(IngestionError) as raised:
        load_question_set(tmp_path)
    assert f"{tmp_path / 'questions.jsonl'}, line 3: " in str(raised.value)
    assert said in str(raised.value)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(IngestionError, match=r"has no folder corpus/"):
        load_question_set(tmp_path)
    (tmp_path / "corpus").mkdir()
    with pytest.raises(IngestionError, match=r"questions.jsonl: is missing"):
        load_question_set(tmp_path)
    (tmp_path / "questions.jsonl").write_text("\n", "utf-8")
    with pytest.raises(IngestionError, match="holds nothing"):
        load_question_set(tmp_path)


# Measures


@pytest.mark.parametrize(
    ("text", "string", "held"),
    [
        ("It takes 60 days.", "60", True),
        ("It takes 160 days.", "60", False),
        ("It takes 60.5 days, or 1,60.", "60", False),
        ("It takes 60.", "60", True),
        ("See `make htmllive`.", "make htmllive", True),
        ("See makehtml.", "make", False),
        ("a **very\n  good** one", "Very good", True),
        ("达到 74 °C 即可", "74°C 即可", False),
        ("达到 74°C 即可", "74°C即可", True),
        ("ＡＢＣ１２", "abc12", True),
        ("只 读 状态", "只读", True),
    ],
)
def test_strings_are_held_as_whole_words_and_numbers(text: str, string: str, held: bool) -> None:
    assert holds_fact(asked(answers=[string]), text) is held


def test_every_part_is_needed() -> None:
    question = asked(parts=[["one", "1"], ["two"]])
    assert holds_fact(question, "1 and two")
    assert not holds_fact(question, "one and 1")


def test_long_answers_hold_more_than_the_first_screen_shows() -> None:
    question = asked(answers=["needle"])
    late, early = (score(question, answered("hay " * count + "needle")) for count in (400, 390))
    assert (late["answer contained"], late["on the first screen"]) == (1.0, 0.0)
    assert (early["answer contained"], early["on the first screen"]) == (1.0, 1.0)
    assert score(question, answered("草" * 700 + "needle"))["on the first screen"] == 0.0


def test_measures_agree_with_the_reference_scorer(report: DocumentsReport, small: QuestionSet) -> None:
    assert shares_of(report) == EXPECTED["results"]
    assert shares_of(floor_of(small)) == EXPECTED["floor"]


@pytest.mark.slow
@pytest.mark.skipif(not SETS, reason="the development sets are not there")
@pytest.mark.parametrize("folder", SETS, ids=lambda path: path.name)
def test_measures_agree_on_the_development_sets(folder: Path) -> None:
    spec = importlib.util.spec_from_file_location("reference_scorer", REFERENCE / "score.py")
    assert spec is not None
    assert spec.loader is not None
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    report, questions = floor_of(load_question_set(folder)), reference.read(folder / "questions.jsonl")
    given = {answer.id: asdict(answer) | {"answer": answer.text} for answer in report.answers}
    rows = {name: dict(row) for name, row in given.items()}
    # Some are declined, some unsure, some worse, so that every measure has something to count.
    for number, row in enumerate(rows.values()):
        row["confidence"] = [None, 0.1, 0.3, 0.9][number % 4]
        row["kind"] = "none" if number % 5 == 0 else row["kind"]
        row["files"], row["notes"] = row["files"][number % 3 :], row["notes"][number % 2 :]
        row["answer"] = row["notes"][0]
    changed = [
        DocumentAnswer(r["id"], r["answer"], r["kind"], r["confidence"], tuple(r["files"]), tuple(r["notes"]), 1.0)
        for r in rows.values()
    ]
    members = [file for file, _ in corpus_texts(folder / "corpus")]
    for mine, theirs in ((report, given), (DocumentsReport(report.questions, changed), rows)):
        wanted = reference.measure(questions, theirs, members, 0.3)
        assert shares_of(mine) == {
            name: {"share": round(sum(values) / len(values), 6), "of": len(values)} for name, values in wanted.items()
        }


def test_figures_by_group(report: DocumentsReport) -> None:
    groups = {(name, value): figures for name, value, figures in report.groups()}
    assert [key for key in groups if key[0] != "tag"] == [
        *(("kind", kind) for kind in ("fact", "howto", "two-file", "unanswerable")),
        *(("lang", lang) for lang in ("en", "zh")),
        *(("cross", cross) for cross in ("no", "yes")),
    ]
    assert (groups["kind", "unanswerable"].asked, groups["kind", "unanswerable"].shares) == (
        2,
        {"unanswerable handled": 0.5},
    )
    assert groups["lang", "zh"].shares["answer contained"] == 1.0
    assert groups["tag", "unit"].counts["all files@5"] == 1
    figures = json.loads(json.dumps(report.as_json()))
    assert list(figures["groups"]) == ["kind", "lang", "cross", "tag"]
    assert figures["latency_ms"] == {"p50": 1.0, "p95": 1.0}


# Causes of failures


@pytest.mark.parametrize(
    ("answer", "cause", "note_rank"),
    [
        (answered("y", ("y", "z")), "not retrieved", None),
        (answered("y", ("y", "y", "y", "x")), "retrieved, not chosen", 4),
        (answered("y", ("y", "y", "x")), "chosen, not shown", 3),
        (answered("x", ("x",), confidence=0.2), "silent", 1),
        (answered("", ("y",), kind="none"), "silent", None),
    ],
)
def test_every_failure_has_a_cause(answer: DocumentAnswer, cause: str, note_rank: int | None) -> None:
    failure = explain_failure(asked(files=["a", "b"]), answer)
    assert failure is not None
    assert (failure.cause, failure.note_rank, failure.file_rank) == (cause, note_rank, None)


def test_what_did_not_fail_has_none() -> None:
    assert explain_failure(asked(), answered("x")) is None
    nothing = asked(kind="unanswerable", answers=[])
    assert explain_failure(nothing, answered("", kind="none")) is None
    failure = explain_failure(nothing, answered("y"))
    assert failure is not None
    assert failure.cause == "answered although unanswerable"


def test_failures_of_a_report(report: DocumentsReport) -> None:
    found = {cause: [failure.id for failure in some] for cause, some in report.failures().items()}
    assert found == {
        "retrieved, not chosen": ["s-02"],
        "chosen, not shown": ["s-05", "s-10"],
        "silent": ["s-03", "s-04"],
        "answered although unanswerable": ["s-06"],
    }
    two_files = report.failures()["chosen, not shown"][0]
    assert (two_files.note_rank, two_files.file_rank) == (3, 3)


# Notes, passages and the floor


def test_a_note_is_shown_with_its_place_and_lead() -> None:
    note = Candidate(
        note_id="leave.md#1", document_id="leave.md", title="Leave", section=("Parents",), lead="| A |", text="| 1 |"
    )
    assert note_as_shown(note) == "leave.md › Parents\n| A |\n| 1 |"


def test_files_without_text_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "b.rst").write_text("b", "utf-8")
    (tmp_path / "a.md").write_text("a", "utf-8")
    (tmp_path / "LICENSE").write_text("c", "utf-8")
    (tmp_path / "empty.txt").write_text("", "utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\x00")
    assert corpus_texts(tmp_path) == [("a.md", "a"), ("b.rst", "b")]


# The command

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(cli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return partial(cli, "eval", "documents")


@pytest.mark.slow
def test_documents_are_measured_on_the_graph(command: Run, tmp_path: Path) -> None:
    store, results = tmp_path / "kept.store", tmp_path / "results.jsonl"
    code, out, err = command(SMALL, "--store", store, "--results", results, "--failures")
    assert code == 0, err
    assert "documents_small: 10 questions, per cent" in out
    assert "kind unanswerable" in out
    assert "Failed: " in out
    assert "5 documents written" in err
    assert "Asking documents_small" in err
    again = load_question_set(SMALL)
    written = DocumentsReport(again, read_answers(results))

    code, out, err = command(SMALL, "--store", store, "--json")
    assert code == 0, err
    (found,) = json.loads(out)["sets"]
    assert (found["set"], found["asked"]) == ("documents_small", 10)
    assert (found["ingest"]["documents"], found["ingest"]["unchanged"]) == (0, 5), "the store is reused"
    assert found["measures"] == written.figures.as_json()["measures"], "the same questions give the same answers"
    assert found["measures"]["file recall@10"]["share"] == 1.0
    assert found["measures"]["fact in first 3 notes"]["share"] >= 0.75
    assert all(file.startswith(("en/", "zh/")) for answer in written.answers for file in answer.files)
    assert 0 < found["latency_ms"]["p50"] <= found["latency_ms"]["p95"]


def test_several_sets_end_with_a_row_each(command: Run, tmp_path: Path) -> None:
    other = shutil.copytree(SMALL, tmp_path / "other")
    shutil.rmtree(other / "corpus" / "zh")
    lines = (other / "questions.jsonl").read_text("utf-8").splitlines()[:3]
    (other / "questions.jsonl").write_text("\n".join(lines), "utf-8")
    code, out, err = command(other, SMALL, "--limit", 2, "--store", tmp_path / "stores", "--results", tmp_path / "out")
    assert code == 0, err
    assert out.index("other: 2 questions") < out.index("documents_small: 2 questions") < out.index("All sets, per cent")
    assert {path.name for path in (tmp_path / "stores").iterdir() if path.is_dir()} == {"other", "documents_small"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"other.jsonl", "documents_small.jsonl"}


def test_a_store_of_other_documents_is_refused_untouched(cli: Run, command: Run, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "diary.md").write_text("It rained on Monday.", "utf-8")
    store = tmp_path / "mine.store"
    assert cli("ingest", tmp_path / "elsewhere", "--store", store)[0] == 0
    code, _, err = command(SMALL, "--store", store)
    assert code == 5
    assert "1 of the documents in the store are not in" in err
    assert "'diary.md' for instance" in err
    with KnowledgeStore.open(store) as kept:
        assert {note.document_id for note in kept.iter_notes("default")} == {"diary.md"}


def test_a_set_that_has_moved_keeps_its_store(command: Run, tmp_path: Path) -> None:
    for place in ("before", "after"):
        folder = shutil.copytree(SMALL, tmp_path / place / "small")
        code, _, err = command(folder, "--limit", 1, "--store", tmp_path / "kept.store")
        assert code == 0, err
    with KnowledgeStore.open(tmp_path / "kept.store") as kept:
        corpus = tmp_path / "after" / "small" / "corpus"
        assert all(Path(note.source).is_relative_to(corpus) for note in kept.iter_notes("default"))


def test_a_corpus_without_documents_is_told(command: Run, tmp_path: Path) -> None:
    (tmp_path / "bare" / "corpus").mkdir(parents=True)
    question = {"id": "a", "kind": "unanswerable", "question": "Who?"}
    (tmp_path / "bare" / "questions.jsonl").write_text(json.dumps(question), "utf-8")
    code, out, err = command(tmp_path / "bare")
    assert code == 5
    assert "holds no file that can be read" in err
    assert not out


def test_what_is_wrong_is_told_before_the_work(command: Run, tmp_path: Path) -> None:
    code, _, err = command(tmp_path, "--store", tmp_path / "kept.store")
    assert code == 5
    assert "has no folder corpus/" in err
    code, _, err = command(SMALL, SMALL)
    assert code == 2
    assert "two sets are named" in err
    code, _, err = command(SMALL, "--store", tmp_path / "kept.store", "--results", tmp_path)
    assert code == 2
    assert "Invalid value for --results" in err
    assert not (tmp_path / "kept.store").exists()


def test_a_rival_that_is_not_installed_says_how_to_get_it() -> None:
    absent = Retriever("A rival", RETRIEVERS["langchain"].make, ("no-such-package",))
    with pytest.raises(TheWorldError, match=r"no-such-package not installed. pip install .*\[benchmarks\]"):
        absent.require()


@pytest.mark.slow
def test_rivals_are_measured_or_named(command: Run) -> None:
    code, out, err = command(SMALL, "--compare", "--json")
    assert code == 0, err
    (found,) = json.loads(out)["sets"]
    compared = found["compare"]
    distributions = {name: RETRIEVERS[name].requires if name in RETRIEVERS else () for name in RIVALS}
    installed = [name for name, ones in distributions.items() if all(any(metadata.distributions(name=o)) for o in ones)]
    assert list(compared["rivals"]) == installed
    assert set(compared["left_out"]) == set(RIVALS) - set(installed)
    for reason in compared["left_out"].values():
        assert f"LEFT OUT: {reason}" in err
    floor = compared["rivals"]["bm25"]
    assert {name: floor["measures"][name] for name in EXPECTED["floor"]} == EXPECTED["floor"]
    for name, rival in compared["rivals"].items():
        # LightRAG leaves out what has a cosine below .2, here a passage in another language.
        assert rival["measures"]["file recall@10"]["share"] >= (0.85 if name == "lightrag" else 1.0)
        mean, low, high, p_value = rival["theworld_gain"]["answer contained"]
        assert low <= mean <= high
        assert 0 < p_value <= 1
