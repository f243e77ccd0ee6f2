from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.entities import format_candidates
from theworld.wikidata import as_candidate, read_item

NAMES = {"Q5": "human", "Q145": "United Kingdom", "Q82594": "computer scientist"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def test_an_entry_in_english(entities: dict[str, Any]) -> None:
    candidate = as_candidate(read_item(entities["Q7251"]), "en", lambda ids: NAMES)
    assert candidate["label"] == "Alan Turing"
    assert candidate["description"] == "English computer scientist (1912–1954)"
    assert candidate["aliases"] == ["Turing", "Alan Mathison Turing", "艾伦·图灵", "艾倫·圖靈", "图灵"]
    assert candidate["key_props_excerpt"] == (
        "instance of: human; country of citizenship: United Kingdom; occupation: computer scientist; "
        "date of birth: 1912-06-23; date of death: 1954-06-07"
    )


def test_an_entry_in_chinese(entities: dict[str, Any]) -> None:
    candidate = as_candidate(read_item(entities["Q1048"]), "zh", lambda ids: {"Q5": "人类"})
    assert candidate["label"] == "尤利乌斯·凯撒"
    assert candidate["description"] == "Roman general and dictator"
    assert candidate["key_props_excerpt"] == "性质: 人类; 出生日期: 公元前100年7月12日; 死亡日期: 公元前44年3月15日"


@pytest.mark.parametrize("precision", [True, False, None, "11", 11.5, float("nan"), 10**30, -1])
def test_a_time_of_odd_precision_is_never_fatal(precision: Any) -> None:
    value = {"time": "+1912-06-23T00:00:00Z", "precision": precision}
    claims = {"P569": [{"mainsnak": {"snaktype": "value", "datavalue": {"value": value}}}]}
    item = read_item({"id": "Q1", "labels": {"en": {"value": "a"}}, "claims": claims})
    for language in ("en", "zh"):
        assert isinstance(as_candidate(item, language, lambda ids: {})["key_props_excerpt"], str)


@pytest.mark.parametrize(
    ("labels", "zh", "en"),
    [
        ({"zh-hans": "甲", "zh": "乙", "zh-hant": "丙", "en": "a"}, "甲", "a"),
        ({"zh": "乙", "zh-hant": "丙", "en": "a", "mul": "m"}, "乙", "a"),
        ({"zh-hant": "丙", "en": "a"}, "丙", "a"),
        ({"en": "a"}, "a", "a"),
        ({"mul": "m"}, "m", "m"),
        ({"zh-tw": "丁"}, "丁", "丁"),
        ({"fr": "x"}, None, None),
    ],
)
def test_labels_fall_back(labels: dict[str, str], zh: str | None, en: str | None) -> None:
    item = read_item({"id": "Q1", "labels": {code: {"value": text} for code, text in labels.items()}})
    assert (item.text(item.labels, "zh"), item.text(item.labels, "en")) == (zh, en)


def test_variants_of_the_label_are_aliases(entities: dict[str, Any]) -> None:
    item = read_item(entities["Q16572"])
    assert item.labels == {"zh": "广州市", "en": "Guangzhou"}
    assert item.aliases == {"zh": ("廣州市", "羊城"), "en": ("Canton",)}


def claims(*statements: tuple[str, Any]) -> dict[str, Any]:
    return {
        "id": "Q1",
        "claims": {
            "P31": [
                {"rank": rank, "mainsnak": {"snaktype": "value", "datavalue": {"value": value}}}
                for rank, value in statements
            ]
        },
    }


def test_preferred_statements_win_and_deprecated_ones_never_count() -> None:
    entity = claims(("normal", {"id": "Q2"}), ("preferred", {"id": "Q3"}), ("deprecated", {"id": "Q4"}))
    assert read_item(entity).facts == {"P31": ("Q3",)}
    assert read_item(claims(("deprecated", {"id": "Q4"}), ("normal", {"id": "Q2"}))).facts == {"P31": ("Q2",)}


@pytest.mark.parametrize("snaktype", ["somevalue", "novalue"])
def test_unknown_values_are_no_facts(snaktype: str) -> None:
    entity = claims(("normal", {"id": "Q2"}))
    entity["claims"]["P31"][0]["mainsnak"] = {"snaktype": snaktype, "property": "P31"}
    assert read_item(entity).facts == {}


@pytest.mark.parametrize("entity", [None, 1, [], "Q1", {}, {"id": "P31"}, {"id": "Q0"}, {"id": 5}, {"id": "Q1x"}])
def test_what_is_no_entry_is_refused(entity: Any) -> None:
    with pytest.raises(ValueError, match=r"id|object"):
        read_item(entity)


@given(
    st.fixed_dictionaries({"labels": JSON, "aliases": JSON, "descriptions": JSON, "claims": JSON, "sitelinks": JSON})
)
def test_odd_parts_are_left_out(parts: dict[str, Any]) -> None:
    item = read_item({"id": "Q1", **parts})
    assert as_candidate(item, "zh", lambda ids: {})["id"] == "Q1"


@given(JSON)
def test_odd_claims_are_left_out(value: Any) -> None:
    item = read_item({"id": "Q1", "claims": {"P31": [{"mainsnak": value}, value], "P569": value}})
    as_candidate(item, "en", lambda ids: {})


def test_huge_labels_become_candidates_within_the_limits() -> None:
    item = read_item({"id": "Q1", "labels": {"en": {"value": "x" * 1_000_000}}})
    (candidate,) = format_candidates([as_candidate(item, "en", lambda ids: {})])
    assert len(str(candidate)) < 1024
