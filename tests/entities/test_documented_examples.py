"""The Wikidata specification's cases, one by one, with positional arguments as its signatures have them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from theworld import JudgeOutput, fallback_zero_candidates, format_candidates, parse_llm_output
from theworld.entities import ModelJudge
from theworld.graph.edges import after_entity_search
from theworld.nodes.disambiguate_entities import accept_no_candidates, find_entity_candidates, judge_entities
from theworld.state import QueryState
from theworld.testing.fakes import FakeChatModel

SETTINGS = {
    "tasks": {
        "l2_disambiguation": {
            "candidate_limits": {
                "wikidata": {
                    "max_candidates": 2,
                    "per_candidate_max_bytes": 1024,
                    "key_props_max_bytes": 512,
                    "include_aliases": True,
                }
            }
        }
    }
}
TEXT = """Result Q7259:
Label: Ada Lovelace
Description: English mathematician (1815–1852)
Aliases: Augusta Ada King, Countess of Lovelace
instance of: human
country of citizenship: United Kingdom of Great Britain and Ireland
occupation: mathematician, programmer
date of birth: 1815-12-10
date of death: 1852-11-27
eye color: brown"""
KEYS = {"id", "url", "label", "description", "aliases", "key_props_excerpt"}
OUTPUT_KEYS = ["source", "entity", "matched", "confidence", "reason", "selection", "model"]


@pytest.mark.parametrize("cfg", [{}, SETTINGS, {"settings": SETTINGS}, SETTINGS["tasks"], {"max_candidates": 2}])
def test_happy_path_text(cfg: dict[str, Any]) -> None:
    (found,) = format_candidates([{"page_content": TEXT}], cfg)
    assert set(found) == KEYS
    assert found["url"] == "https://www.wikidata.org/wiki/Q7259"
    assert found["aliases"] == ["Augusta Ada King", "Countess of Lovelace"]
    assert "eye color" not in found["key_props_excerpt"]
    assert found["key_props_excerpt"].startswith("instance of: human; country of citizenship: United Kingdom")


def candidates() -> list[dict[str, Any]]:
    return format_candidates([{"page_content": TEXT}, {"id": "Q11641", "label": "Ada", "description": "language"}], {})


@pytest.mark.parametrize(
    "reply",
    [
        {"matched": True, "confidence": 0.9, "reason": "same person", "selection": candidates()[0]},
        {"choices": {"wikidata": {"candidate": candidates()[0], "reason": "same person", "confidence": 0.9}}},
        {"wikidata_qid": "Q7259", "reason": "same person", "confidence": 0.9},
        {"wikidata_uri": "https://www.wikidata.org/wiki/Q7259", "reason": "same person", "confidence": 0.9},
    ],
)
def test_both_structures_and_both_ways_back(reply: dict[str, Any]) -> None:
    result = parse_llm_output(json.dumps(reply, ensure_ascii=False), candidates())
    assert list(result) == OUTPUT_KEYS
    assert (result["source"], result["matched"], result["confidence"]) == ("wikidata", True, 0.9)
    assert result["reason"] == "same person"
    assert result["selection"] == candidates()[0]
    assert JudgeOutput.model_validate(result).as_dict() == result


def test_defaults_and_bounds() -> None:
    for stated, kept in ((7, 1.0), (-2, 0.0), (None, 0.0), ("0.4", 0.4)):
        reply = {"matched": True, "confidence": stated, "reason": "", "selection": {"id": "Q7259"}}
        result = parse_llm_output(json.dumps(reply), candidates())
        assert result["confidence"] == kept
        assert result["reason"]


def test_what_is_no_json() -> None:
    result = parse_llm_output("sorry", candidates())
    assert (result["matched"], result["confidence"], result["reason"], result["selection"]) == (
        False,
        0.0,
        "输出解析失败",
        None,
    )


def test_zero_candidates() -> None:
    result = fallback_zero_candidates("Ada", None)
    assert (result["matched"], result["confidence"], result["reason"], result["selection"]) == (
        False,
        0.0,
        "无候选",
        None,
    )
    assert fallback_zero_candidates("Ada", "person")["entity"] == {"label": "Ada", "type_hint": "person"}


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
