"""`theworld router`: decisions explained, strategies measured and trained."""

import json

import pytest

from theworld.evaluation.router_training import read_log

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


def test_training_prints_what_it_would_have_done_and_switches_nothing(cli, labelled, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"question": "how are these connected 1", "path": "graph", "success": true}\n', "utf-8")
    out = tmp_path / "weights.json"
    done = cli("router", "train", labelled, "--out", out, "--log", log)
    assert done.code == 0, done.err
    assert "over five folds" in done.out
    assert "from 1 requests on which both agree" in done.out
    assert json.loads(out.read_text("utf-8"))["name"] == "learned-v1"
    assert '"strategy": "rules-v1"' in cli("router", "explain", "who wrote it", "--json").out


def test_a_strategy_is_measured(cli, labelled):
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


def test_too_few_questions_are_said(cli, tmp_path):
    file = tmp_path / "few.tsv"
    file.write_text("# none yet\n", "utf-8")
    for command in ("train", "evaluate"):
        done = cli("router", command, file)
        assert (done.code, "holds no question" in done.err) == (5, True)
    file.write_text("question\thybrid\twho wrote it\n", "utf-8")
    done = cli("router", "train", file, "--out", tmp_path / "w.json")
    assert (done.code, "too few to train on" in done.err) == (5, True)
    assert not (tmp_path / "w.json").exists()


def test_a_log_may_hold_other_ends_of_lines(tmp_path):
    row = {"question": "what\u2028now", "path": "hybrid", "success": True}
    (tmp_path / "log.jsonl").write_text(json.dumps(row, ensure_ascii=False), "utf-8")
    assert [item.question for item in read_log(tmp_path / "log.jsonl")] == ["what\u2028now"]
