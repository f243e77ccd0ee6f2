"""What docs/library.md names can be imported from where it says, and its examples run."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import theworld

DOCUMENT = (Path(__file__).resolve().parents[1] / "docs" / "library.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
ROWS = [line.strip("|").split("|") for line in DOCUMENT.splitlines() if line.startswith("|")][2:]
PUBLIC = [(module, name) for _, module, name in ROWS if "`theworld." in module]


def quoted(text: str) -> list[str]:
    return re.findall(r"`(\w[\w.]*)`", text)


@pytest.mark.parametrize(("modules", "names"), PUBLIC)
def test_every_name_is_where_it_says(modules: str, names: str) -> None:
    groups = names.split(";")
    places = quoted(modules)
    assert len(groups) == len(places)
    for place, group in zip(places, groups, strict=True):
        module = importlib.import_module(place)
        assert quoted(group)
        for name in quoted(group):
            assert hasattr(module, name), f"{place}.{name}"
            assert getattr(theworld, name, getattr(module, name)) is getattr(module, name)


def test_the_files_of_the_structure_are_there() -> None:
    files = next(module for _, module, _ in ROWS if "its files" in module)
    assert quoted(files) == ["errors", "schema", "json_extractor", "engine", "sync"]
    for file in quoted(files):
        importlib.import_module(f"theworld.structure.{file}")


@pytest.mark.parametrize("code", EXAMPLES)
def test_every_example_runs(code: str) -> None:
    exec(compile(code, "docs/library.md", "exec"), {"__name__": "example"})
