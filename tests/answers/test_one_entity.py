"""Names of one entity: in a text, in sums and exclusions, and among the spans that may answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld import efsa_answer
from theworld.answers.efsa import OneEntity, trace_efsa
from theworld.answers.efsa_input import read_notes
from theworld.text.identity import names_in

NOTES = [
    {"entities": ["Holland", "Utrecht"], "final_score": 0.6, "doc_id": "a", "content": "Holland and Utrecht."},
    {"entities": ["the Netherlands", "Delft"], "final_score": 0.6, "doc_id": "b", "content": "In the Netherlands."},
    {"entities": ["荷兰"], "final_score": 0.6, "doc_id": "c", "content": "荷兰是一个国家。"},
]
ALIASES = {"Holland": "Netherlands", "荷兰": "Netherlands"}


def test_a_chain_of_names_ends_in_one_and_a_circle_ends() -> None:
    one = OneEntity.of_names({"a": "b", "b": "c", "x": "y", "y": "x", "": "c", "d": ""})
    assert [one.key(key) for key in "abcd"] == ["c", "c", "c", "d"]
    assert one.key("x") == one.key("y")
    assert set(one.keys("a")) == {"a", "b", "c"}
    assert one.keys("unknown") == ("unknown",)


def test_all_of_a_longer_circle_are_one_and_what_leads_into_it() -> None:
    one = OneEntity.of_names({"a": "b", "b": "c", "c": "a", "x": "b"})
    assert {one.key(key) for key in "abcx"} == {"c"}
    assert set(one.keys("x")) == set("abcx")


def test_long_chains_and_many_names_of_one_are_read_at_once() -> None:
    chain = OneEntity.of_names({f"n{i}": f"n{i + 1}" for i in range(20_000)})
    assert chain.key("n0") == "n20000"
    assert len(OneEntity.of_names({f"n{i}": "one" for i in range(50_000)}).keys("one")) == 50_001


@pytest.mark.parametrize(
    ("query", "bridge", "excluded"),
    [
        ("Which city?", None, {}),
        ("Who rules Holland?", None, {"netherlands": "query"}),
        ("谁统治荷兰？", None, {"netherlands": "query"}),
        ("Who rules the Netherlands?", None, {"netherlands": "query"}),
        ("Which city?", "Holland", {"netherlands": "bridge"}),
        ("哪个城市？", "荷兰", {"netherlands": "bridge"}),
    ],
)
def test_every_name_counts_in_sums_and_exclusions(query: str, bridge: str | None, excluded: dict[str, str]) -> None:
    trace = trace_efsa(read_notes(NOTES, 20), query, bridge, aliases=ALIASES)
    assert trace.excluded == excluded
    if not excluded:
        assert {item.key: len(item.contributions) for item in trace.ranking}["netherlands"] == 3
    answer, _ = efsa_answer(NOTES, query, bridge, aliases=ALIASES)
    assert answer == ("Utrecht" if excluded else "Holland")


def test_any_name_of_the_path_makes_a_note_consistent() -> None:
    trace = trace_efsa(read_notes(NOTES, 20), "?", None, ["荷兰"], aliases=ALIASES)
    parts = {part.note: part for item in trace.ranking for part in item.contributions}
    assert [(parts[note].coverage, parts[note].consistency) for note in (0, 1)] == [(1.0, 1), (1.0, 1)]


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=6))
def test_any_table_of_names_is_read(aliases: dict[str, str]) -> None:
    one = OneEntity.of_names(aliases)
    for key in one.canonical:
        assert one.key(one.key(key)) == one.key(key)
        assert key in one.keys(key)


def test_no_name_is_in_no_text() -> None:
    assert not names_in("anything")("")


@pytest.mark.parametrize(
    ("text", "key", "named"),
    [
        ("Who won in 2012?", "12", False),
        ("Who won on 12 May?", "12", True),
        ("Who was the mother of Elizabeth II?", "elizabeth i", False),
        ("二十三人中谁先到？", "三", False),
        ("三人中谁先到？", "三", True),
        ("2012年谁得了奖？", "12", False),
        ("李安的电影是什么？", "李安", True),
    ],
)
def test_a_name_is_no_part_of_a_longer_word_or_number(text: str, key: str, named: bool) -> None:
    assert names_in(text)(key) == named
