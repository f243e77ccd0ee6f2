"""The demo: how its answers are judged, what is printed, and the whole of it."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from theworld.cli.demo import Turn, how_found, show_turn
from theworld.demo import DemoBranch, DemoQuestion, load_questions
from theworld.state import Answer, Candidate, ChannelHit, EvidencePath, Passage, PathStep, QueryOutput, Sureness

DOCUMENT, OTHER = "en/guide.md", "en/other.md"


def passage(text: str, document: str = DOCUMENT, number: int = 1) -> Passage:
    note = f"{document}#0"
    return Passage(
        number=number, document_id=document, note_id=note, place="Peart › 1420", text=text, start=0, end=len(text)
    )


def output(*passages: Passage, short: str = "", sureness: Sureness = "likely", kind: str = "extractive") -> QueryOutput:
    text = "\n\n".join(filter(None, [short, *(f"{p.place} [{p.number}]\n{p.text}" for p in passages)]))
    result = Answer(text=text, short=short, passages=passages, sureness=sureness)
    cited = [one.citation for one in passages]
    return QueryOutput.model_validate({"answer": text, "kind": kind, "result": result, "citations": cited})


def asked(
    branch: DemoBranch = "entity", *answers: str, whole: list[str] | None = None, cites: str = DOCUMENT
) -> DemoQuestion:
    documents = [cites] if answers or whole else []
    facts = {"id": "q", "language": "en", "question": "?", "whole": whole or [], "documents": documents}
    return DemoQuestion.model_validate({**facts, "branch": branch, "answers": answers})


SILENCE = QueryOutput(answer="There is not enough evidence.", kind="none")
STEPS = ["1. Open", "2. Close"]


@pytest.mark.parametrize(
    ("question", "answered", "missing"),
    [
        (asked("entity", "Peart", "Neil Peart"), output(passage("It was he."), short="Neil Peart"), []),
        (asked("entity", "1420"), output(passage("It was built in 1420.")), []),
        (asked("entity", "1420"), output(passage("始建于1420年")), []),
        (asked("entity", "420年"), output(passage("始建于1420年")), ["420年"]),
        (asked("entity", "1420"), output(passage("14201")), ["1420"]),
        (asked("entity", "Peart"), output(passage("It was he.")), ["Peart"]),
        (asked("entity", "1420"), output(passage("Long ago."), passage("In 1420.", OTHER, 2)), ["1420"]),
        (asked("entity", "1420", cites=OTHER), output(passage("In 1420.")), ["1420", "en/other.md cited"]),
        (asked("entity", "evidence"), SILENCE, ["evidence", "en/guide.md cited"]),
        (asked("how-to", whole=STEPS), output(passage("1. Open\n2. Close")), []),
        (
            asked("how-to", whole=STEPS),
            output(passage("1. Open"), passage("2. Close", number=2)),
            ["in one passage: 1. Open, 2. Close"],
        ),
        (asked("no-evidence"), SILENCE, []),
        (asked("no-evidence"), output(passage("Berlin"), sureness="unsure"), []),
        (asked("no-evidence"), output(passage("Berlin")), ["not enough evidence, or unsure"]),
        (asked("tenant"), SILENCE, []),
        (asked("tenant"), output(passage("Berlin"), sureness="unsure"), ["not enough evidence, or unsure"]),
    ],
)
def test_what_an_answer_must_show_and_cite(question: DemoQuestion, answered: QueryOutput, missing: list[str]) -> None:
    assert Turn(question, answered, 1.0).missing == missing


@pytest.mark.parametrize(
    ("understood", "is_right"), [("郭守敬出生在哪里？", True), ("他出生在哪里（郭守敬）？", False)]
)
def test_a_follow_up_must_be_understood_by_itself(understood: str, is_right: bool) -> None:
    question = asked("entity", "1231年").model_copy(update={"standalone": ["郭守敬出生", "郭守敬的出生"]})
    turn = Turn(question, output(passage("1231年生于邢台")).model_copy(update={"query": understood}), 1.0)
    assert turn.missing == ([] if is_right else ["understood as 郭守敬出生 or 郭守敬的出生"])


def test_a_turn_is_printed_with_its_lines_how_sure_and_how_found() -> None:
    found = {"graph": ChannelHit(rank=3, score=0.1), "sparse": ChannelHit(rank=1, score=2.0)}
    note = Candidate(note_id=f"{DOCUMENT}#0", document_id=DOCUMENT, text="1. Open\n   it", channels=found)
    path = EvidencePath(
        note_id=note.note_id, steps=(PathStep(source="A", relation="mentions", target="B"),), text="A → B"
    )
    answered = output(passage("1. Open\n   it")).model_copy(update={"candidates": [note], "paths": [path]})
    assert how_found(answered) == "found by words (rank 1), the graph (rank 3); A → B"
    chinese = answered.model_copy(update={"question": "哪一年？"})
    assert how_found(chinese) == "检索依据：词语（第 1 位）、图谱（第 3 位）; A → B"
    out = Console(file=io.StringIO(), highlight=False, markup=False, soft_wrap=True)
    show_turn(out, Turn(asked("how-to", whole=["2. Close"]), answered, 7.0))
    assert out.file.getvalue().splitlines() == [  # type: ignore[attr-defined]
        "     Peart › 1420 [1]",
        "     1. Open",
        "        it",
        "   ✗ likely · extractive · confidence 0.00 · 0 LLM calls · 7 ms",
        "     expected: in one passage: 2. Close",
        "     found by words (rank 1), the graph (rank 3); A → B",
    ]


def test_a_long_line_is_wrapped_beside_its_margin_on_a_terminal() -> None:
    out = Console(file=io.StringIO(), force_terminal=True, no_color=True, width=40, highlight=False, soft_wrap=True)
    show_turn(out, Turn(asked("entity", "word"), output(passage("word " * 30)), 7.0))
    lines = [line for line in out.file.getvalue().splitlines() if "word" in line]  # type: ignore[attr-defined]
    assert len(lines) > 3
    assert all(
        line.lstrip("\x1b[0123456789m").startswith("     word") or line.startswith("     word") for line in lines
    )


@pytest.mark.slow
def test_the_demo_gives_every_expected_answer_twice(cli, tmp_path: Path) -> None:
    first = cli("demo", "--store", tmp_path / "demo.store")
    assert re.findall(r"(?m)^  (\S.*) Expected: ", first.out) == [], first.out[-3000:]
    again = cli("demo", "--store", tmp_path / "demo.store")
    assert first.code == again.code == 0
    assert "0 documents written" in again.out, "the store is reused"
    for question in load_questions():
        assert question.question in first.out
    assert "A conversation in one thread (en)" in first.out
    assert "A conversation in one thread (zh)" in first.out
    assert "answers as expected, 0 LLM calls." in first.out


@pytest.mark.slow
def test_a_wrong_answer_is_an_exit_code(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no passage is ever evidence enough, passages are missing."""
    monkeypatch.setenv("THEWORLD_ANSWERS__MIN_EVIDENCE", "1")
    done = cli("demo", "--store", tmp_path / "demo.store")
    assert done.code == 1
    assert "✗" in done.out
    assert "Expected: " in done.out
