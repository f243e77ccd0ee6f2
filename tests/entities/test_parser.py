"""The Wikidata specification: both raw shapes, byte limits, every reply a judge may give."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from hostile_values import HOSTILE
from theworld import JudgeOutput, format_candidates, parse_llm_output
from theworld.errors import SettingsError

LANGCHAIN = (
    "Result Q42:\nLabel: Douglas Adams\nDescription: English author and humorist\nAliases: Douglas Noel Adams, DNA\n"
    "instance of: human\ncountry of citizenship: United Kingdom\noccupation: playwright, novelist\n"
    "date of birth: 1952-03-11\nnative language: English"
)
SEARCH = {"id": "Q42", "label": "Douglas Adams", "description": "English author", "concepturi": "http://x/entity/Q42"}
CANDIDATE = {
    "id": "Q42",
    "url": "https://www.wikidata.org/wiki/Q42",
    "label": "Douglas Adams",
    "description": "English author",
}


@pytest.mark.parametrize(
    "raw",
    [
        LANGCHAIN,
        [{"page_content": LANGCHAIN}],
        [{"source": "wikidata", "result": LANGCHAIN}],
        {"search": [SEARCH]},
        [{"qid": "Q42", "label": "Douglas Adams", "text": "no block"}],
        [{"id": "Q42", "label": "Douglas Adams", "text": LANGCHAIN.replace("Douglas Adams", "another")}],
        [Document(page_content=LANGCHAIN)],
        [Document(page_content=LANGCHAIN.split("\n", 1)[1], metadata={"source": "https://www.wikidata.org/wiki/Q42"})],
    ],
)
def test_langchain_in_every_wrapping(raw: Any) -> None:
    found = format_candidates(raw)
    assert [(item["id"], item["label"]) for item in found] == [("Q42", "Douglas Adams")]


@pytest.mark.parametrize(
    "aliases", [["DNA", "Bop Ad"], "DNA，Bop Ad", [{"language": "en", "value": "DNA"}, {"value": "Bop Ad"}]]
)
def test_aliases_in_every_form(aliases: Any) -> None:
    assert format_candidates([SEARCH | {"aliases": aliases}])[0]["aliases"] == ["DNA", "Bop Ad"]


def test_several_results_in_one_text_and_duplicates() -> None:
    text = f"{LANGCHAIN}\n\nResult Q1:\nLabel: universe\n\nResult Q42:\nLabel: again"
    assert [item["id"] for item in format_candidates([text], {"max_candidates": 5})] == ["Q42", "Q1"]


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        "No good Wikidata Search Result was found",
        ["No good Wikidata Search Result was found"],
        [{"id": "P31", "label": "instance of"}],
        [{"label": "no id"}],
        [{"id": "Q42x"}],
        [3, None, object(), [], b"Q42"],
        7,
    ],
)
def test_zero_candidates(raw: Any) -> None:
    assert format_candidates(raw) == []


def test_an_unusable_item_is_logged_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    assert format_candidates([HOSTILE["no dict"], SEARCH]) == [CANDIDATE]
    assert "source=wikidata" in caplog.text


def test_cycles_long_labels_and_bidi_marks() -> None:
    cyclic: dict[str, Any] = {"id": "Q1", "label": "\u202eevil\u202c " + "x" * 1_000_000, "description": "d" * 5000}
    cyclic["aliases"] = [cyclic, "alias"]
    found = format_candidates([cyclic])[0]
    assert len(json.dumps(found, ensure_ascii=False).encode()) <= 1024
    assert "\u202e" not in found["label"]


@pytest.mark.parametrize("text", ["实", "e", '"', "😀", "\\"])
def test_limits_count_utf8_bytes(text: str) -> None:
    item = {
        "id": "Q1",
        "label": text * 50,
        "description": text * 900,
        "aliases": [text * 40] * 9,
        "key_props_excerpt": text * 3000,
    }
    found = format_candidates([item])[0]
    assert len(json.dumps(found, ensure_ascii=False).encode()) <= 1024
    assert len(found.get("key_props_excerpt", "").encode()) <= 512
    assert len(found.get("aliases", [])) <= 5


def test_an_endless_label_and_description_leave_room_for_facts() -> None:
    long = {
        "id": "Q1",
        "label": "l" * 5000,
        "description": "d" * 5000,
        "key_props_excerpt": "f" * 400,
        "aliases": ["a"],
    }
    found = format_candidates([long])[0]
    assert len(found["label"].encode()) == len(found["description"].encode()) == 256
    assert len(found["key_props_excerpt"].encode()) > 300
    short = format_candidates([long | {"label": "l"}])[0]
    assert len(short["description"].encode()) > 400
    assert (short["key_props_excerpt"], short["aliases"]) == ("f" * 400, ["a"])


@pytest.mark.parametrize("text", ['"', "\\", "实"])
def test_what_fits_of_a_long_label_is_kept(text: str) -> None:
    found = format_candidates([{"id": "Q1", "label": text * 20_000}])[0]
    assert 1000 <= len(json.dumps(found, ensure_ascii=False).encode()) <= 1024
    assert found["label"].startswith(text * 100)


def test_an_id_has_ascii_digits() -> None:
    assert format_candidates([{"id": "Q4２"}, {"page_content": "Result Q4２:\nLabel: x"}]) == []


def test_settings_by_their_documented_names() -> None:
    nested = {"tasks": {"l2_disambiguation": {"candidate_limits": {"wikidata": {"max_candidates": 1}}}}}
    items = [{"id": f"Q{number}", "label": "x"} for number in range(1, 9)]
    assert len(format_candidates(items)) == 2
    assert len(format_candidates(items, nested)) == 1
    assert "aliases" not in format_candidates([LANGCHAIN], {"include_aliases": False})[0]
    with pytest.raises(SettingsError, match="max_candidates"):
        format_candidates(items, {"max_candidates": "many"})


REPLIES = [
    ('{"matched": true, "confidence": 0.9, "reason": "ok", "selection": {"id": "Q42"}}', True, 0.9, "ok"),
    ('{"matched": true, "selection": "Q42"}', True, 0.0, "已选择候选"),
    ('{"choices": {"wikidata": {"candidate": {"id": "Q42"}, "reason": "r", "confidence": 0.7}}}', True, 0.7, "r"),
    ('{"wikidata_qid": "Q42", "confidence": 2}', True, 1.0, "已选择候选"),
    ('{"wikidata_uri": "http://www.wikidata.org/entity/Q42", "confidence": -1}', True, 0.0, "已选择候选"),
    ('```json\n{"matched": true, "confidence": "80%", "selection": {"id": "Q42"},}\n```', True, 0.8, "已选择候选"),
    ('<think>{"matched": false}</think>{"matched": true, "selection": {"url": "/wiki/Q42"}}', True, 0.0, "已选择候选"),
    ('{"matched": false, "confidence": 0.8, "reason": "none", "selection": null}', False, 0.8, "none"),
    ('{"matched": false, "selection": {"id": "Q42"}}', False, 0.0, "未匹配到合适候选"),
    ('{"matched": "false", "selection": {"id": "Q42"}}', False, 0.0, "未匹配到合适候选"),
    ('{"matched": "否", "reason": "r", "selection": {"id": "Q42"}}', False, 0.0, "r"),
    ('{"matched": 0, "selection": {"id": "Q42"}}', False, 0.0, "未匹配到合适候选"),
    ('{"matched": "True", "confidence": "９０％", "selection": {"id": "Q42"}}', True, 0.9, "已选择候选"),
    ('{"matched": null, "selection": {"id": "Q42"}}', True, 0.0, "已选择候选"),
    ('{"wikidata_uri": "https://www.wikidata.org/wiki/Q42?uselang=zh#P31"}', True, 0.0, "已选择候选"),
    ('{"choices": {"wikidata": {"candidate": null, "confidence": NaN}}}', False, 0.0, "未匹配到合适候选"),
    ('{"wikidata_qid": "q42", "confidence": "０．９"}', True, 0.9, "已选择候选"),
    ('{"wikidata_uri": "<https://www.wikidata.org/wiki/Special:EntityData/Q42.json>"}', True, 0.0, "已选择候选"),
    ('{"matched": true, "selection": [{"id": "Q42"}]}', True, 0.0, "已选择候选"),
    ('{"wikidata_qid": "Q42 or Q43"}', False, 0.0, "未匹配到合适候选"),
    ('{"matched": true, "confidence": 1, "selection": {"id": "Q999"}}', False, 0.0, "所选实体 Q999 不在候选中"),
    ("{}", False, 0.0, "未匹配到合适候选"),
    ("I think it is Q42.", False, 0.0, "输出解析失败"),
    ("", False, 0.0, "输出解析失败"),
    ("[1, 2]", False, 0.0, "输出解析失败"),
]


@pytest.mark.parametrize(("text", "matched", "confidence", "reason"), REPLIES)
def test_replies(text: str, matched: bool, confidence: float, reason: str) -> None:
    output = parse_llm_output(text, [CANDIDATE], label="Adams", type_hint="person", model="m")
    assert (output["matched"], output["confidence"], output["reason"]) == (matched, confidence, reason)
    assert output["entity"] == {"label": "Adams", "type_hint": "person"}
    assert output["model"] == "m"
    assert (output["selection"] or {}).get("label") == ("Douglas Adams" if matched else None)
    JudgeOutput.model_validate(output)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["matched", "selection", "choices", "wikidata", "candidate", "id"]), inner)
    ),
    max_leaves=8,
)


@given(st.text(max_size=60) | JSON.map(json.dumps) | JSON)
def test_any_reply_gives_a_judgement(reply: Any) -> None:
    output = JudgeOutput.model_validate(parse_llm_output(reply, [CANDIDATE]))
    assert 0 <= output.confidence <= 1
    assert output.matched == (output.selection is not None)


@given(st.lists(JSON, max_size=4) | JSON)
def test_any_raw_result_gives_candidates_within_limits(raw: Any) -> None:
    for item in format_candidates(raw):
        assert len(json.dumps(item, ensure_ascii=False).encode()) <= 1024
