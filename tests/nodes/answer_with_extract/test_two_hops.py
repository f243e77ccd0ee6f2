"""Chinese questions over two or three notes, from the table beside this file: extracts follow the chain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from theworld.cli.ingesting import ingest_paths
from theworld.graph import build_graph, open_resources
from theworld.settings import Settings

TABLE = yaml.safe_load(Path(__file__).with_name("two_hops.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("two-hops")
    for title, text in TABLE["notes"].items():
        (folder / f"{title}.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")
    # Entities answer most of these; at this confidence none does.
    settings = Settings(
        store=folder / "store",
        answers={"min_confidence": 1.0},
        retrieval={"deadline_ms": 60_000},
    )
    ingest_paths([folder], settings)
    with open_resources(settings) as resources:
        yield build_graph(resources)


@pytest.mark.slow
@pytest.mark.parametrize(("question", "gold"), TABLE["questions"])
def test_the_second_hop_is_quoted(graph: Any, question: str, gold: str) -> None:
    found = graph.invoke({"question": question})
    assert found["kind"] == "extractive"
    assert gold in found["answer"]
    assert len(found["citations"]) <= 3
