"""The graph as a picture, drawn from itself: `python benchmarks/graph_picture.py docs/architecture.md`."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from theworld.graph import Resources, build_graph
from theworld.models.registry import Models
from theworld.settings import Settings

BEGIN, END = "<!-- graph: drawn by `make docs` -->\n", "<!-- /graph -->"


def draw() -> str:
    """Return the whole graph, generation included, as a mermaid flowchart. Needs no store and no model."""
    store: Any = SimpleNamespace(refresh=None, sparse=None, dense=None, graph=None)
    chat: Any = SimpleNamespace(complete=None)
    parts: dict[str, Any] = {"strategy": None, "database": SimpleNamespace(view=None), "history": None, "limit": 1}
    parts |= {"reranker": None, "resolver": None, "knowledge": None, "judge": None, "ontology": None}
    resources = Resources(settings=Settings(), store=store, models=Models({}, {}, chat), **parts)
    picture: str = build_graph(resources).get_graph().draw_mermaid()
    return picture


def put_into(text: str) -> str:
    """Return the text with the picture between its marks; ValueError when it has no marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the text has no {BEGIN.strip()} ... {END} to put the picture into")
    return f"{before}{BEGIN}```mermaid\n{draw()}```\n{END}{after}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(put_into(path.read_text("utf-8")), "utf-8")
