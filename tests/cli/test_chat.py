from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

Talk = Callable[..., list[str]]


@pytest.fixture
def talk(cli, store: Path, monkeypatch: pytest.MonkeyPatch) -> Talk:
    """Says lines to `theworld chat` through a pipe and returns what it printed."""
    monkeypatch.setenv("THEWORLD_RETRIEVAL__DEADLINE_MS", "60000")

    def say(*lines: str, options: tuple[str, ...] = ()) -> list[str]:
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines) + "\n"))
        done = cli("chat", "--store", store, *options)
        assert (done.code, done.err) == (0, "")
        assert "\x1b[" not in done.out
        return done.out.splitlines()

    return say


def test_a_follow_up_is_understood(talk: Talk) -> None:
    printed = talk("Tell me about Neil Peart.", "Where was he born?", "/why")
    understood = [line for line in printed if line.startswith("Understood as: ")]
    assert "Neil Peart" in understood[0]
    assert any("Hamilton" in line for line in printed)
    assert any(line.startswith("searched: ") for line in printed)
    assert any("resolve_references" in line for line in printed)


def test_where_nothing_is_enough_the_nearest_passages_are_shown(talk: Talk) -> None:
    printed = talk("Who painted the ZX81 mural of Quendale?", "Who was the drummer of Rush?")
    nearest = printed.index("Nearest passages, not enough to answer")
    assert printed[nearest + 1].startswith("  ")
    assert printed[nearest + 2].strip()
    assert printed.count("Nearest passages, not enough to answer") == 1


def test_sources_are_sentences(talk: Talk) -> None:
    printed = talk("Who was the drummer of Rush?", "/sources")
    listed = printed[printed.index("Sources") :]
    assert any(line.startswith("  [1] ") and "rush.md" in line for line in listed)
    assert any("Its drummer was Neil Peart" in line for line in listed)


def test_a_new_conversation_knows_nothing(talk: Talk) -> None:
    printed = talk("Who was the drummer of Rush?", "/new", "/sources", "Where was he born?")
    assert "A new conversation." in printed
    assert "Nothing was asked yet." in printed
    assert not [line for line in printed if line.startswith("Understood as: ")]


def test_chinese(talk: Talk) -> None:
    printed = talk("/sources", "天坛位于哪里？", "谢谢", "/sources", "/new", "/什么", options=("--language", "zh"))
    assert any("东城区" in line for line in printed)
    assert [line for line in printed if "出处" in line or "问过" in line][:1] == ["还没有问过什么。"]
    assert {"上一个回答没有出处。", "新的对话。", "没有 /什么 这个命令。"} < set(printed)
    thanked = printed[next(i for i, line in enumerate(printed) if line.startswith("不客气")) + 1]
    assert thanked.startswith("模型调用 0 次"), "small talk is not left without an answer"


def test_commands_and_blank_lines(talk: Talk) -> None:
    printed = talk("", "/what", "/help", "/quit", "Who was the drummer of Rush?")
    assert "There is no command /what." in printed
    assert not any("Peart" in line for line in printed), "nothing is asked after /quit"


def test_a_question_that_cannot_be_asked_ends_nothing(talk: Talk) -> None:
    printed = talk("x" * 20_001, "Who was the drummer of Rush?")
    assert any("20,000" in line or "20000" in line for line in printed)
    assert any("Neil Peart" in line for line in printed)
