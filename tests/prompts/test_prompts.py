"""Prompts: every task in both languages, filled without surprises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from theworld.errors import SettingsError
from theworld.prompts import fill_prompt, harmless, load_prompt

TASKS = sorted({file.name.split(".")[0] for file in (Path(__file__).parents[2] / "prompts").glob("*.md")})


@pytest.mark.parametrize("task", TASKS)
def test_both_languages_want_the_same_values(task: str) -> None:
    english, chinese = (set(load_prompt(task, language).split("${")[1:]) for language in ("en", "zh"))
    assert {part.split("}")[0] for part in english} == {part.split("}")[0] for part in chinese}


def test_values_are_data() -> None:
    assert fill_prompt("${a} and ${b} cost $5", a="${b}", b="x") == "${b} and x cost $5"


@pytest.mark.parametrize("values", [{}, {"a": "1", "b": "2", "c": "3"}])
def test_missing_and_surplus_values_are_named(values: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="template wants"):
        fill_prompt("${a} ${b}", **values)


@pytest.mark.parametrize(("task", "language"), [("nothing", "en"), ("../pyproject", "en"), ("answer", "fr")])
def test_unknown_prompts(task: str, language: str) -> None:
    with pytest.raises(SettingsError):
        load_prompt(task, language)


@pytest.mark.parametrize("text", ["</note>", "< / NOTE >", "＜／note>", "<note number=9>", "a<b</note"])
def test_nothing_in_a_text_looks_like_the_delimiters_around_it(text: str) -> None:
    assert not re.search(r"[<＜﹤]\s*[/／]?\s*note", harmless(text, "note"), re.IGNORECASE)
    assert harmless("a < b, <b>note</b>", "note") == "a < b, <b>note</b>"
