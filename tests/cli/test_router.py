"""`theworld router`: decisions explained, and measured."""

import json

import pytest

QUESTIONS = "".join(
    f"{intent}\t{path}\t{question} {i}\n"
    for i in range(12)
    for intent, path, question in [
        ("question", "hybrid", "who wrote book"),
        ("relation", "graph", "how are these connected"),
        ("smalltalk", "none", "hello"),
    ]
)


@pytest.fixture
def labelled(tmp_path):
    file = tmp_path / "questions.tsv"
    file.write_text(QUESTIONS, "utf-8")
    return file


def test_a_decision_is_explained(cli):
    done = cli("router", "explain", "how are A and B connected?")
    assert done.code == 0
    assert done.out.startswith("graph ")
    assert "because relation words" in done.out
    assert json.loads(cli("router", "explain", "谢谢", "--json").out)["path"] == "none"


def test_decisions_are_measured(cli, labelled):
    done = cli("router", "evaluate", labelled)
    assert done.code == 0
    assert "held back en" in done.out


def test_wrong_files_and_dates_are_said(cli, tmp_path):
    file = tmp_path / "bad.tsv"
    file.write_text("nonsense\n", "utf-8")
    done = cli("router", "evaluate", file)
    assert (done.code, "line 1" in done.err) == (5, True)
    assert cli("router", "explain", "x", "--now", "yesterday").code == 2
    assert cli("router", "explain", "?").code == 2
    file.write_bytes(b"\xff\xfe")
    for arguments in ([file], [tmp_path / "none.tsv"], [tmp_path]):
        done = cli("router", "evaluate", *arguments)
        assert (done.code, str(arguments[0]) in done.err) == (5, True)


def test_a_file_without_questions_is_said(cli, tmp_path):
    file = tmp_path / "few.tsv"
    file.write_text("# none yet\n", "utf-8")
    done = cli("router", "evaluate", file)
    assert (done.code, "holds no question" in done.err) == (5, True)
