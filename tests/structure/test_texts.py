"""Broken texts and the values they mean: a table anyone can extend, and properties over generated JSON."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import RootModel

from theworld.structure import parse_with_report
from theworld.structure.reading.provenance import lost_words
from theworld.structure.reading.repairing import TooDeepError, repair_json

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "texts.jsonl").read_text(encoding="utf-8").splitlines()
]
BREAKS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "breaks.jsonl").read_text(encoding="utf-8").splitlines()
]
MESSY = Path(__file__).parents[2].parent / "shared" / "data" / "messy-json" / "dev.jsonl"
KEYS = st.text("abcxyz名_", min_size=1, max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip
CONTAINERS = st.lists(VALUES, max_size=4) | st.dictionaries(KEYS, VALUES)


@pytest.mark.parametrize("case", CASES, ids=[case["text"][:60] for case in CASES])
def test_text_means_value_or_its_reading_is_told_to_be_a_guess(case):
    report = parse_with_report(case["text"], Any)
    if case.get("told"):
        assert not report.lossless
    else:
        assert report.value == case["value"]


@pytest.mark.parametrize("case", BREAKS, ids=[f"{case['kind']}: {case['text'][:50]}" for case in BREAKS])
def test_each_kind_of_break_is_read_as_meant_and_reported(case):
    report = parse_with_report(case["text"], Any)
    assert report.value == case["value"]
    assert report.strategy != "direct_json"
    kinds = {repair.kind for repair in report.repairs}
    assert not (report.lossless and kinds & {"dropped", "changed", "control", "missing-value", "guess", "truncated"})


@pytest.fixture(scope="module")
def messy_rows() -> list[dict[str, Any]]:
    if not MESSY.exists():
        pytest.skip(f"no broken-JSON set at {MESSY}")
    return [json.loads(line) for line in MESSY.read_text(encoding="utf-8").splitlines()]


def test_public_set_of_broken_json(messy_rows):
    wrong, silent = [], []
    for row in messy_rows:
        report = parse_with_report(row["input"], RootModel[Any])
        if report.value.root != row["expected_value"]:
            wrong.append(row["input"])
            silent += [] if report.repairs else [row["input"]]
    assert len(wrong) <= 0.02 * len(messy_rows), wrong
    assert not silent


@given(CONTAINERS)
def test_valid_json_is_read_as_the_standard_parser_reads_it(value):
    text = json.dumps(value, ensure_ascii=False)
    report = parse_with_report(text, Any)
    assert (report.value, report.repairs) == (value, ())


@given(CONTAINERS, st.integers(0, 200))
def test_a_valid_prefix_never_invents_and_says_that_it_is_cut(value, cut):
    text = json.dumps(value, ensure_ascii=False)
    prefix = text[: max(1, min(cut, len(text) - 1))]
    reading = repair_json(prefix)
    assert reading.truncated or reading.end < len(prefix)


@given(st.lists(st.text("ab \"',:{}[]名。", min_size=1, max_size=12), min_size=1, max_size=3))
def test_unescaped_marks_inside_strings_lose_no_word_untold(texts):
    text = json.dumps({f"k{i}": item for i, item in enumerate(texts)}, ensure_ascii=False).replace('\\"', '"')
    reading = repair_json(text)
    kinds = {repair.kind for repair in reading.repairs}
    assert not lost_words(text[: reading.end], reading.value) or "dropped" in kinds


def test_python_and_javascript_writing_mean_the_same():
    rng = random.Random(5)
    for _ in range(200):
        value = {"a": rng.choice([True, False, None]), "名": [rng.randint(-9, 9), "x, y: {z}"], "n": {"m": []}}
        assert repair_json(repr(value)).value == value
        loose = json.dumps(value, ensure_ascii=False).replace('"a"', "a").replace("}", ",}").replace("]", ",]")
        assert repair_json(loose).value == {**value, "名": [value["名"][0], "x, y: {z,}"]}


def test_too_deep_says_where():
    with pytest.raises(TooDeepError, match="nested too deeply"):
        repair_json("[" * 500)
