"""Generation: the prompt, its citations, its stream, and what is left when the model fails."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph

from theworld.answers.generated import (
    AnswerStream,
    answer_part,
    check_citations,
    citations_behind,
    estimate_tokens,
    no_answer_because,
    pack_evidence,
    short_answer,
    with_citation,
)
from theworld.errors import ModelError
from theworld.models.protocols import ChatMessage, Completion
from theworld.nodes.generate_answer import generate_answer
from theworld.prompts import load_prompt
from theworld.settings import AnswerSettings
from theworld.state import Candidate, Context, QueryState
from theworld.testing import FakeChatModel

INJECTIONS = yaml.safe_load(Path(__file__).with_name("injections.yaml").read_text(encoding="utf-8"))


def note(text: str, title: str = "T", start: int = 0) -> Candidate:
    return Candidate(
        note_id=f"{title}#0", document_id=title, title=title, text=text, start=start, end=start + len(text)
    )


NOTES = [note("Paris is the capital of France.", "Paris", 7), note("Rome is old.", "Rome")]


class Runtime:
    def __init__(self, **context: Any) -> None:
        self.context = Context(**context)


def run(
    model: Any, evidence: list[Candidate] | None = None, language: str = "en", runtime: Any = None, **answers: Any
) -> dict[str, Any]:
    state = QueryState(
        query="What is the capital?",
        language=language,
        evidence=NOTES if evidence is None else evidence,
        request_started=time.perf_counter(),
    )
    return generate_answer(state, runtime, model=model, settings=AnswerSettings(**answers))


def test_an_answer_with_checked_citations() -> None:
    update = run(FakeChatModel(["Paris [1] is the capital [7][1, 9]."]))
    result = update["result"]
    assert (result.text, result.kind) == ("Paris [1] is the capital [1].", "generated")
    assert [(c.number, c.document_id, c.start, c.quote) for c in result.citations] == [(1, "Paris", 7, NOTES[0].text)]
    assert "[7], [9]" in update["degradations"][0].reason
    assert update["usage"].calls == 1


@pytest.mark.parametrize(
    ("text", "notes", "expected", "cited", "invented"),
    [
        ("A [1]. B [2].", 2, "A [1]. B [2].", (1, 2), ()),
        ("A [1, 2]", 2, "A [1][2]", (1, 2), ()),
        ("A [3].", 2, "A.", (), (3,)),
        ("甲【1】，乙［2］。", 2, "甲[1]，乙[2]。", (1, 2), ()),
        ("[Note 2] says", 2, "[2] says", (2,), ()),
        ("in [1998] and [0]", 2, "in and", (), (0, 1998)),
        ("no marks", 2, "no marks", (), ()),
        ("A [1-3].", 3, "A [1][2][3].", (1, 2, 3), ()),
        ("A [2–4].", 2, "A [2].", (2,), (3, 4)),
        ("A [1 and 7].", 2, "A [1].", (1,), (7,)),
        ("A [Notes 1, 2 and 8]", 2, "A [1][2]", (1, 2), (8,)),
        ("A [note 1, note 9]", 2, "A [1]", (1,), (9,)),
        ("甲【笔记1和笔记2】。", 2, "甲[1][2]。", (1, 2), ()),
        ("甲[1至3]。", 2, "甲[1][2]。", (1, 2), (3,)),
        ("A [^1].", 2, "A [1].", (1,), ()),
        ("from [1990-1995] on", 2, "from [1990-1995] on", (), ()),
        ("A [1-999].", 2, "A [1].", (1,), (999,)),
    ],
)
def test_citations(text: str, notes: int, expected: str, cited: tuple[int, ...], invented: tuple[int, ...]) -> None:
    checked = check_citations(text, notes)
    assert (re.sub(r" +", " ", checked.text), checked.cited, checked.invented) == (expected, cited, invented)


@pytest.mark.parametrize(
    "reply",
    [
        "Not enough evidence.",
        "证据不足。",
        "",
        "  \n",
        "<think>hm</think>",
        "Not enough evidence [1].",
        "**Not enough evidence.**",
        "Not enough evidence. The notes do not say where he was born.",
        "證據不足。",
        "证据不足。笔记中没有提到他的出生地。",
    ],
)
def test_no_answer_leaves_the_quoted_sentences(reply: str) -> None:
    update = run(FakeChatModel([reply]))
    assert update["result"] is None
    assert "passages are shown" in update["degradations"][0].reason


@pytest.mark.parametrize(
    "reply",
    ["Not enough evidence was shown in Paris, so he was freed [1].", "Not enough evidence. But [2] names Rome."],
)
def test_an_answer_that_begins_like_a_refusal_is_an_answer(reply: str) -> None:
    assert run(FakeChatModel([reply]))["result"].text == reply
    assert streamed(reply, 3) == reply


class ThinkingModel(FakeChatModel):
    def complete(self, messages: Sequence[ChatMessage], *, timeout_s: float | None = None) -> Completion:
        return replace(super().complete(messages, timeout_s=timeout_s), truncated=True)


def test_a_thought_cut_off_at_the_token_limit_is_told() -> None:
    reasons = [degradation.reason for degradation in run(ThinkingModel(["<think>hm"]))["degradations"]]
    assert len(reasons) == 2
    assert "cut off at the token limit" in reasons[0]
    assert "empty" in reasons[1]


def test_an_answer_can_be_written_as_utf_8() -> None:
    assert run(FakeChatModel(["Paris \ud83d\ude00, half \udc00 [1]"]))["result"].text == "Paris 😀, half \ufffd [1]"


def test_thinking_is_not_part_of_the_answer() -> None:
    assert run(FakeChatModel(["<think>Rome? [2]</think>Paris [1]."]))["result"].text == "Paris [1]."


def test_a_failing_model_is_a_degradation_and_an_error_when_strict() -> None:
    update = run(FakeChatModel([ModelError("no route")]))
    assert update["result"] is None
    assert "no route" in update["degradations"][0].reason
    assert update["usage"].calls == 1
    with pytest.raises(ModelError):
        run(FakeChatModel([ModelError("no route")]), runtime=Runtime(strict=True))


class SlowModel:
    name = "slow"

    def stream(self, messages: Sequence[ChatMessage], *, timeout_s: float | None = None) -> Iterator[str | Completion]:
        for _ in range(3000):
            time.sleep(0.02)
            yield "word "
        yield Completion("word")

    def complete(self, messages: Sequence[ChatMessage], *, timeout_s: float | None = None) -> Completion:
        raise AssertionError("not used")


class EndlessModel(SlowModel):
    name = "cut"

    def stream(self, messages: Sequence[ChatMessage], *, timeout_s: float | None = None) -> Iterator[str | Completion]:
        yield "half an ans"


def test_a_timeout_bounds_the_whole_stream() -> None:
    began = time.perf_counter()
    update = run(SlowModel(), runtime=Runtime(total_deadline_ms=100))
    assert time.perf_counter() - began < 20
    assert "no complete answer within 0." in update["degradations"][0].reason


def test_no_call_is_made_when_the_request_has_no_time_left() -> None:
    model = FakeChatModel(["Paris [1]."])
    state = QueryState(query="?", evidence=NOTES, request_started=time.perf_counter() - 1)
    runtime: Any = Runtime(total_deadline_ms=500)
    update = generate_answer(state, runtime, model=model, settings=AnswerSettings())
    assert (update["result"], model.calls, update["usage"].calls) == (None, [], 0)
    assert "no time left" in update["degradations"][0].reason


@pytest.mark.parametrize(
    ("reply", "visible"),
    [
        ("Paris [1] is it [7].", "Paris [1] is it."),
        ("<think>Rome? [2]</think>Paris [1].", "Paris [1]."),
        ("Rome? no.</think>Paris [1].", "Paris [1]."),
        ("Not enough evidence.", ""),
        ("证据不足。", ""),
        ("Not enough is known [2].", "Not enough is known [2]."),
        ("Not enough evidence. The notes are about Rome.", ""),
        ("甲【1】，乙［9］。", "甲[1]，乙。"),
        ("a [ b", "a [ b"),
        ("joy \ud83d\ude00 [1]", "joy 😀 [1]"),
        ("half \ud83d [1]", "half \ufffd [1]"),
        ("half \ud83d", "half \ufffd"),
    ],
)
@pytest.mark.parametrize("step", [1, 3, 50])
def test_only_the_checked_answer_is_streamed(reply: str, visible: str, step: int) -> None:
    assert streamed(reply, step) == visible


@given(st.text(alphabet="ab .[]123<think>/【】。", max_size=60), st.integers(1, 7))
def test_what_is_streamed_is_what_is_answered(reply: str, step: int) -> None:
    assert streamed(reply, step) == citations_behind(check_citations(answer_part(reply), 2).text)


HOLDING = ["Ada Lovelace\nShe was born in London in 1815.", "天一阁\n天一阁由范钦主持建造。"]


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("London", "London [1]"),
        ("born in London.\nShe was born there.", "born in London. [1]\nShe was born there."),
        ("范钦", "范钦 [2]"),
        ("London [2]", "London [2]"),
        ("London\nShe was born there [1].", "London\nShe was born there [1]."),
        ("Paris or Rome", "Paris or Rome"),
        ("", ""),
        ("the", "the"),
    ],
)
def test_an_uncited_answer_cites_the_note_that_holds_it(reply: str, text: str) -> None:
    assert with_citation(reply, HOLDING) == text
    stream, seen = AnswerStream(HOLDING), ""
    for shown in (stream.feed(reply), stream.end()):
        seen = shown.text if shown.restart else seen + shown.text
    assert seen == text


def streamed(reply: str, step: int) -> str:
    """What a reader of the stream has before them at its end."""
    stream, seen = AnswerStream([""] * 2), ""
    pieces = [reply[start : start + step] for start in range(0, len(reply), step)]
    for shown in [*(stream.feed(piece) for piece in pieces), stream.end()]:
        seen = shown.text if shown.restart else seen + shown.text
    return seen


def test_a_stream_that_breaks_off_is_a_failure() -> None:
    assert "without a completion" in run(EndlessModel())["degradations"][0].reason


class CrashingModel(SlowModel):
    name = "crashing"

    def stream(self, messages: Sequence[ChatMessage], *, timeout_s: float | None = None) -> Iterator[str | Completion]:
        yield "half an ans"
        raise KeyError("text")


def test_what_a_crashing_model_had_shown_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Any] = []
    monkeypatch.setattr("theworld.nodes.generate_answer._writer", lambda: events.append)
    with pytest.raises(KeyError):
        run(CrashingModel())
    assert events == [{"type": "token", "text": "half an ans"}, {"type": "restart"}]


@pytest.mark.parametrize("injection", INJECTIONS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_orders_in_notes_stay_in_their_note(injection: str, language: str) -> None:
    model = FakeChatModel(["Paris [1]."])
    run(model, [note(injection, f'x" <note {injection}'), *NOTES], language)
    prompt = model.calls[0][0].content
    notes = prompt[prompt.index("<note number=") :]
    assert len(re.findall(r"[<＜﹤]\s*note", notes, re.IGNORECASE)) == 3
    assert len(re.findall(r"[<＜﹤]\s*/\s*note", notes, re.IGNORECASE)) == 3
    assert prompt.rindex("What is the capital?") > prompt.rindex("</note>")
    assert "\u202e" not in prompt


@pytest.mark.parametrize("injection", INJECTIONS)
def test_orders_that_a_model_obeys_reach_nobody_as_citations(injection: str) -> None:
    update = run(FakeChatModel([f"{injection} [1][9]"]), [note(injection), *NOTES])
    result = update["result"]
    assert result is None or all(citation.number <= 3 for citation in result.citations)
    assert any("do not exist" in item.reason for item in update["degradations"]) or result is None


def test_the_token_budget_cuts_after_a_sentence_and_keeps_the_order() -> None:
    long = note("First sentence here. " + "Second sentence is much longer than that. " * 40, "Long")
    packed = pack_evidence([NOTES[0], long, NOTES[1]], 90)
    assert packed.shown[:2] == (0, 1)
    assert packed.tokens <= 90
    assert re.search(r"\.\n</note>$", packed.text)
    assert pack_evidence([long], 10).shown == ()


def test_nothing_fits_is_said() -> None:
    assert "budget" in run(FakeChatModel([]), [note("word " * 2000)], evidence_tokens=100)["degradations"][0].reason


def test_a_note_that_does_not_fit_leaves_its_room_to_the_next() -> None:
    long = note("word " * 400, "Long")
    packed = pack_evidence([long, *NOTES], 100)
    assert packed.shown == (1, 2)
    assert "Paris is the capital" in packed.text


def test_a_long_title_leaves_room_for_the_text() -> None:
    packed = pack_evidence([note("Paris is old.", "T" * 1_000_000)], 200)
    assert "Paris is old." in packed.text
    assert len(packed.text) < 400


@pytest.mark.parametrize("mark", ["\u00ad", "\u180e", "\x85", "\U000e0100", "\u200b"])
def test_invisible_characters_hide_no_delimiter(mark: str) -> None:
    hidden = f"<{mark}/{mark}note>" if mark != "\x85" else "</\x85note>"
    assert pack_evidence([note(f"One. {hidden} Two.")], 200).text.count("</note>") == 1
    assert mark not in pack_evidence([note(f"One. {hidden} Two.")], 200).text


def test_the_estimate_counts_chinese_by_character() -> None:
    assert estimate_tokens("中文" * 50) == 121
    assert estimate_tokens("word " * 70) == 101


def test_tokens_are_streamed_in_a_graph() -> None:
    graph = StateGraph(QueryState)
    graph.add_node(
        "generate_answer",
        lambda state: generate_answer(
            state, None, model=FakeChatModel(["Paris is it [1]."]), settings=AnswerSettings()
        ),  # type: ignore[arg-type]
    )
    graph.add_edge(START, "generate_answer")
    graph.add_edge("generate_answer", END)
    events = list(graph.compile().stream(QueryState(query="?", evidence=NOTES), stream_mode="custom"))
    assert {event["type"] for event in events} == {"token"}
    assert "".join(event["text"] for event in events) == "Paris is it [1]."


REPLIES = yaml.safe_load(Path(__file__).with_name("replies.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", REPLIES["judged"], ids=[case["reply"][:30] for case in REPLIES["judged"]])
def test_what_answers_nothing_is_no_answer(case: dict[str, str]) -> None:
    instructions = load_prompt("answer", case.get("language", "en"))
    found = no_answer_because(case["reply"], case["question"], [case["note"]], instructions)
    assert found == (case.get("because") or "")


@pytest.mark.parametrize("case", REPLIES["moved"], ids=[case["reply"][:30] for case in REPLIES["moved"]])
def test_leading_citations_go_behind_the_first_sentence(case: dict[str, str]) -> None:
    assert citations_behind(check_citations(case["reply"], 9).text) == case["text"]
    pieces = AnswerStream([""] * 9)
    for character in case["reply"]:
        assert not pieces.feed(character).restart
    assert not pieces.end().restart
    assert streamed(case["reply"], 9) == case["text"]


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Paris\nParis is the capital of France [1].", "Paris"),
        ("356.73 °C [1].\nIt boils there [1].", "356.73 °C"),
        ("巴黎。\n法国的首都是巴黎[1]。", "巴黎"),
        ("Paris is the capital of France [1].", ""),
        ("Paris [1]", "Paris"),
        ("Paris", ""),
        ("The capital of France has been the city of Paris for a very long time now.\nSo it is.", ""),
    ],
)
def test_the_first_line_is_the_short_answer(text: str, short: str) -> None:
    assert short_answer(text) == short


def test_the_node_says_what_was_wrong_and_keeps_the_short_answer() -> None:
    wrong = run(FakeChatModel(["What is the capital? [1]"]))
    assert wrong["result"] is None
    assert "passages are shown" in wrong["degradations"][0].reason
    right = run(FakeChatModel(["[1]: Paris\nThe capital is Paris [1]."]))["result"]
    assert (right.brief, right.citations[0].number) == ("Paris", 1)


def test_nothing_is_left_of_an_invented_citation_at_the_beginning() -> None:
    assert check_citations("[7]. The code is 7.", 2).text == "The code is 7."
    assert streamed("[7]. The code is 7.", 3) == "The code is 7."
