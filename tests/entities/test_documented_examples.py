"""The Wikidata specification's flow, and the example of the project's page; its cases are in tests/seeds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from theworld.entities import ModelJudge
from theworld.graph.edges import after_entity_search
from theworld.nodes.disambiguate_entities import accept_no_candidates, find_entity_candidates, judge_entities
from theworld.state import QueryState
from theworld.testing import FakeChatModel


@pytest.mark.parametrize("rows", [[], [{"id": "Q7259", "label": "Ada Lovelace", "description": "mathematician"}]])
def test_the_flow_asks_a_model_exactly_when_there_are_candidates(rows: list[dict[str, Any]]) -> None:
    class Search:
        def search(self, label: str, language: str, limit: int) -> Sequence[Mapping[str, Any]]:
            return rows

    reply = {"matched": True, "confidence": 0.8, "reason": "same", "selection": {"id": "Q7259"}}
    model = FakeChatModel([json.dumps(reply)])
    judge = ModelJudge(model, sure=1.1)
    state = QueryState(question="Who was Ada Lovelace?", query="Who was Ada Lovelace?")
    state = state.model_copy(update=find_entity_candidates(state, None, knowledge=Search()))  # type: ignore[arg-type]
    following = after_entity_search(state)
    if following == "judge_entities":
        update = judge_entities(state, None, judge=judge)  # type: ignore[arg-type]
    else:
        update = accept_no_candidates(state, None)  # type: ignore[arg-type]
    (judgement,) = update["judgements"]
    assert (following, len(model.calls), judgement.matched, judgement.model) == (
        ("judge_entities", 1, True, "fake-chat") if rows else ("accept_no_candidates", 0, False, None)
    )
    if rows:
        prompt = model.calls[0][0].content
        payload, _ = json.JSONDecoder().raw_decode(prompt[prompt.index('{"entity"') :])
        assert [item["id"] for item in payload["candidates"]["wikidata"]] == ["Q7259"]


def test_the_judge_outside_the_graph_as_the_page_shows_it(capsys):
    page = (Path(__file__).resolve().parents[2] / "docs" / "wikidata.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (example,) = [code for code in examples if "DeterministicJudge()" in code]
    exec(example, {})
    assert "Q308" in capsys.readouterr().out
