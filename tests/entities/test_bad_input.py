"""The Wikidata specification's functions with everything wrong: NIL or a clear error, never anything else."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from typing import Any

import pytest

from hostile_values import HOSTILE, Unsayable
from theworld import JudgeOutput, fallback_zero_candidates, format_candidates, parse_llm_output
from theworld.entities import InvalidMentionError, JudgedEntity, ModelJudge
from theworld.errors import SettingsError
from theworld.testing import FakeChatModel

ITEM = {"id": "Q1", "label": "a"}
REPLY = '{"matched": true, "confidence": 0.9, "selection": {"id": "Q1"}}'
FIELDS = ("id", "label", "description", "aliases", "key_props_excerpt", "url", "display", "page_content", "metadata")
LIMITS = ("max_candidates", "per_candidate_max_bytes", "key_props_max_bytes", "include_aliases", "tasks", "wikidata")
each = pytest.mark.parametrize("bad", HOSTILE.values(), ids=list(HOSTILE))


@each
def test_any_raw_result_gives_small_candidates(bad: Any) -> None:
    for raw in (bad, [bad], [ITEM, bad], *([ITEM | {field: bad}] for field in FIELDS)):
        for found in format_candidates(raw):
            assert len(json.dumps(found, ensure_ascii=False).encode()) <= 1024
    assert format_candidates([bad, ITEM])[-1]["id"] == "Q1"


@each
def test_any_limits_are_used_or_refused(bad: Any) -> None:
    for cfg in (bad, *({name: bad} for name in LIMITS)):
        with suppress(SettingsError):
            assert all(found["id"] == "Q1" for found in format_candidates([ITEM], cfg))


@each
def test_any_reply_and_any_candidates_give_a_judgement(bad: Any) -> None:
    for text, candidates in [
        (bad, [ITEM]),
        (REPLY, bad),
        (REPLY, [bad]),
        *((REPLY, [ITEM | {field: bad}]) for field in FIELDS),
    ]:
        output = JudgeOutput.model_validate(parse_llm_output(text, candidates))
        assert output.matched == (output.selection is not None)
        json.dumps(output.as_dict(), ensure_ascii=False).encode()
    assert parse_llm_output(REPLY, [bad, ITEM])["selection"]["id"] == "Q1"


@each
def test_a_mention_is_text_or_refused(bad: Any) -> None:
    for names in ({"label": bad}, {"label": "a", "type_hint": bad}):
        with suppress(InvalidMentionError):
            assert fallback_zero_candidates(**names)["reason"] == "无候选"
            assert parse_llm_output(REPLY, [ITEM], **names)["matched"]


def test_what_is_no_mention_and_no_limit_is_said() -> None:
    with pytest.raises(InvalidMentionError, match="`label` must be text, not int"):
        fallback_zero_candidates(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidMentionError, match="`model` must be text, not list"):
        parse_llm_output(REPLY, [ITEM], model=[])  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="candidate_limits"):
        format_candidates([ITEM], {"max_candidates": float("nan")})


@each
def test_a_model_is_asked_about_what_json_can_hold(bad: Any) -> None:
    rows = [ITEM, {"id": "Q2", "label": "a"}, {"id": "Q3", "label": "a"} | {"description": bad, "aliases": bad}, bad]
    model = FakeChatModel([REPLY])
    output = ModelJudge(model, sure=1.1).judge(JudgedEntity(label="a" * 100_000), "a", rows)
    assert output.selection is not None
    prompt = model.calls[0][0].content
    start = prompt.index('{"entity"')
    payload, _ = json.JSONDecoder(parse_constant=pytest.fail).raw_decode(prompt[start:])
    assert [item["id"] for item in payload["candidates"]["wikidata"]][:2] == ["Q1", "Q2"]
    assert len(prompt) < 10_000
    assert "\u202e" not in prompt


def test_what_is_left_out_is_logged_under_its_label(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(dict[str, Any]):
        def get(self, *_: Any) -> Any:
            raise RuntimeError("secret")

    with caplog.at_level(logging.WARNING):
        assert format_candidates([Broken(), ITEM], label="\u202e龙") == [
            {"id": "Q1", "url": "https://www.wikidata.org/wiki/Q1", "label": "a", "description": None}
        ]
        assert parse_llm_output(REPLY, [Broken(), Unsayable()])["matched"] is False
    assert "source=wikidata label=龙: an item of type Broken is unusable: RuntimeError" in caplog.text
    assert "secret" not in caplog.text
