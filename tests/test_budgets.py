"""The source stays within budgets.toml; the figures count what they say."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SIZE = runpy.run_path(str(ROOT / "benchmarks" / "source_size.py"))
TEXT = (ROOT / "budgets.toml").read_text("utf-8")
BUDGETS = tomllib.loads(TEXT)


@pytest.fixture(scope="module")
def figures() -> dict[str, dict[str, float]]:
    return SIZE["measured"](BUDGETS)


def test_no_figure_is_above_its_budget(figures: dict[str, dict[str, float]]) -> None:
    assert not (problems := SIZE["over_budget"](figures, BUDGETS)), "\n".join(problems)


def test_the_folders_of_the_language_part_exist() -> None:
    missing = SIZE["missing_folders"](BUDGETS)
    assert not missing, f"name in budgets.toml where these have moved: {missing}"


def test_a_figure_above_its_budget_or_without_one_is_named(figures: dict[str, dict[str, float]]) -> None:
    budgets = tomllib.loads(TEXT)
    budgets["language"]["words"] = figures["language"]["words"] - 1
    del budgets["lines"]["text"]
    problems = SIZE["over_budget"](figures, budgets)
    (words,) = (problem for problem in problems if problem.startswith("language.words is "))
    assert "delete or merge" in words
    (text,) = (problem for problem in problems if problem.startswith("lines.text is "))
    assert "has no budget" in text


def test_an_update_only_lowers_and_keeps_reasons() -> None:
    text = "[source]\nlines = 10  # because\npatterns = 5\n[lines]\nold = 3\nsql = 4\n"
    figures = {"source": {"lines": 8, "patterns": 7}, "lines": {"sql": 6, "text": 2}}
    assert SIZE["updated"](text, figures) == "[source]\nlines = 8  # because\npatterns = 5\n[lines]\nsql = 4\n"
    regrouped = "[source]\nlines = 8  # because\npatterns = 5\n[lines]\nsql = 6\ntext = 2\n"
    assert SIZE["updated"](text, figures, regroup=True) == regrouped


def test_what_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text('import re\nA = re.compile("a")\nB = frozenset("one two 三".split())\nre.escape("c")\n', "utf-8")
    tangled = tmp_path / "tangled.py"
    tangled.write_text(f"def plain(x): return x{' or x' * 20}\ndef tangled(x): return x{' and x' * 21}\n", "utf-8")
    assert (SIZE["_tangled"](tangled), SIZE["_functions"](tangled)) == (1, 2)
    assert (SIZE["_lines"](file), SIZE["_patterns"](file), SIZE["_code_words"](file)) == (4, 1, 3)
    assert SIZE["_words"]({"from": ["New York", "上海"], "to": {"x": 1}}) == 7


def test_a_chain_follows_what_a_package_hands_on(tmp_path: Path) -> None:
    sources = {
        "nodes.ask": "from theworld.answers import best",
        "answers": "from theworld.answers.choosing import best",
        "answers.choosing": "from theworld.text import tokens",
        "text": "",
        "text.tokens": "",
        "stores": "",
    }
    files = {}
    for name, text in sources.items():
        files[name] = tmp_path / name / "__init__.py" if name in {"answers", "text"} else tmp_path / f"{name}.py"
        files[name].parent.mkdir(exist_ok=True)
        files[name].write_text(text, "utf-8")
    language = {name: file for name, file in files.items() if name.startswith(("answers", "text"))}
    assert SIZE["longest_chain"](files, language) == ["nodes.ask", "answers.choosing", "text.tokens"]
