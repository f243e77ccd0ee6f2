"""The architecture page's picture is the compiled graph."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "architecture.md"
DRAWER = runpy.run_path(str(ROOT / "benchmarks" / "graph_picture.py"))
draw, put_into = DRAWER["draw"], DRAWER["put_into"]


def test_the_page_shows_the_graph_as_it_is():
    text = DOCUMENT.read_text("utf-8")
    assert put_into(text) == text, "the graph has changed: run `make docs`"
    assert "generate_answer" in draw()


def test_a_text_without_marks_is_refused():
    with pytest.raises(ValueError, match="to put the picture into"):
        put_into("# no marks")
