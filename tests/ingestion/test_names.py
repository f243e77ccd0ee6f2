"""Names in texts, from a table, and how they join with the tagger's mentions."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from theworld.ingestion.names import (
    NameIndex,
    TitleRow,
    as_written,
    forget_names,
    join_mentions,
    names_of,
    pattern_of,
    without_marks,
)
from theworld.state import Mention, MentionType
from theworld.text import entity_key

TABLE = yaml.safe_load(Path(__file__).with_name("names.yaml").read_text("utf-8"))


def index_of(*titles: str) -> NameIndex:
    return NameIndex(names_of([(title, title, ()) for title in titles]))


def rows_of(titles: Any) -> list[TitleRow]:
    return [tuple(row) for row in titles] if isinstance(titles, list) else [(t, t, a) for t, a in titles.items()]


@pytest.mark.parametrize("case", TABLE, ids=[case["why"] for case in TABLE])
def test_table(case: dict[str, Any]) -> None:
    found = NameIndex(names_of(rows_of(case["titles"]))).find(case["text"])
    expected = [pair.split(" -> ") if " -> " in pair else [pair, entity_key(pair)] for pair in case["found"]]
    assert [[case["text"][match.start : match.end], match.key] for match in found] == expected


def mention(text: str, surface: str, kind: MentionType = "person") -> Mention:
    start = text.index(surface)
    return Mention(surface=surface, type=kind, start=start, end=start + len(surface), key=entity_key(surface))


def joined(text: str, mentions: list[Mention], *titles: str) -> list[tuple[str, str, bool]]:
    found = join_mentions(text, mentions, index_of(*titles).find(text, mentions))
    assert all(text[m.start : m.end] == m.surface for m in found)
    return [(m.surface, m.type, m.titled) for m in found]


@pytest.mark.parametrize(
    "surface", ["Lena,Keyhouse", "Lena;Oslo", "Lena T14,1249.00,3,Nord\nMonitor", 'Vos","name":"Lena']
)
def test_no_name_goes_over_cells(surface: str) -> None:
    text = f"1;{surface};1,200 Smith, Jones and Co."
    kept = ["1,200", "Smith, Jones and Co"]
    assert [name for name, *_ in joined(text, [mention(text, one) for one in [surface, *kept]])] == kept


def test_same_span_keeps_the_taggers_type() -> None:
    text = "Ada Lovelace met Babbage."
    assert joined(text, [mention(text, "Ada Lovelace")], "Ada Lovelace") == [("Ada Lovelace", "person", True)]


def test_same_words_but_for_the_article() -> None:
    text = "at the University of Cambridge"
    tagged = [mention(text, "the University of Cambridge", "organization")]
    assert joined(text, tagged, "University of Cambridge") == [("the University of Cambridge", "organization", True)]


def test_longer_title_takes_the_place() -> None:
    text = "Nobel Prize in Physics, 1903"
    tagged = [mention(text, "Nobel Prize", "work"), mention(text, "Physics", "other"), mention(text, "1903", "date")]
    assert joined(text, tagged, "Nobel Prize in Physics") == [
        ("Nobel Prize in Physics", "other", True),
        ("1903", "date", False),
    ]


def test_shorter_title_gives_way() -> None:
    text = "剑桥大学出版社"
    assert joined(text, [mention(text, text, "organization")], "剑桥") == [(text, "organization", False)]


def test_form_of_address_is_cut_off() -> None:
    text = "by Prof Konstantin Novoselov"
    assert joined(text, [mention(text, "Prof Konstantin Novoselov")], "Konstantin Novoselov") == [
        ("Konstantin Novoselov", "person", True)
    ]
    text = "by Martin Luther King"
    assert joined(text, [mention(text, "Martin Luther King")], "Martin Luther", "King") == [
        ("Martin Luther King", "person", False)
    ]


def test_names_in_a_row_are_told_apart() -> None:
    text = "of Voyager 1 and Voyager 2"
    tagged = [mention(text, "Voyager 1 and Voyager 2", "other")]
    assert joined(text, tagged, "Voyager 1", "Voyager 2") == [
        ("Voyager 1", "other", True),
        ("Voyager 2", "other", True),
    ]
    assert joined(text, tagged, "Voyager 1") == [("Voyager 1 and Voyager 2", "other", False)]
    text = "大学出版社和剑桥大学"
    assert joined(text, [mention(text, text, "organization")], "大学出版社", "剑桥大学") == [
        ("大学出版社", "other", True),
        ("剑桥大学", "other", True),
    ]


def test_a_chinese_place_drawn_too_wide() -> None:
    text = "钱塘江古称浙江"
    assert joined(text, [mention(text, "钱塘江古", "place")], "钱塘江") == [("钱塘江", "place", True)]
    text = "南仁东星在天上"
    assert joined(text, [mention(text, "南仁东星", "person")], "南仁东") == [("南仁东星", "person", False)]


def test_tagged_common_word_at_the_start_is_a_name() -> None:
    text = "Up is a film."
    assert joined(text, [mention(text, "Up", "work")], "Up") == [("Up", "work", True)]
    assert joined(text, [], "Up") == []


def test_forgetting() -> None:
    text = "Ada Lovelace wrote Note G for the Analytical Engine."
    index = index_of("Ada Lovelace", "Note G", "Analytical Engine")
    tagged = [mention(text, "Ada Lovelace")]
    linked = join_mentions(text, tagged, index.find(text, tagged))
    kept = forget_names(linked, frozenset([pattern_of("Ada Lovelace"), pattern_of("Note G")]))
    assert [(m.surface, m.titled) for m in kept] == [("Ada Lovelace", False), ("Analytical Engine", True)]


NAMES = ["Ada", "Ada Lovelace", "Lovelace Note", "Note", "宁波", "宁波市", "波市长", "天一阁"]
WORDS = st.lists(st.sampled_from([*NAMES, "x", "，", "in"]), max_size=12).map(" ".join)


@given(WORDS, st.lists(st.sampled_from(NAMES), unique=True))
def test_mentions_never_overlap(text: str, titles: list[str]) -> None:
    found = join_mentions(text, (), index_of(*titles).find(text))
    assert all(left.end <= right.start for left, right in itertools.pairwise(found))
    assert all(text[m.start : m.end] == m.surface for m in found)


@given(WORDS, st.permutations(["Ada", "Ada Lovelace", "宁波", "宁波市", "天一阁"]))
def test_order_of_arrival_does_not_matter_for_nested_names(text: str, titles: list[str]) -> None:
    found: tuple[Mention, ...] = ()
    for title in titles:
        found = join_mentions(text, found, index_of(title).find(text, found))
    assert found == join_mentions(text, (), index_of(*titles).find(text))


@given(WORDS, st.lists(st.sampled_from(NAMES), unique=True))
def test_where_a_name_is_found_its_letters_may_occur(text: str, titles: list[str]) -> None:
    index = index_of(*titles)
    assert index.may_occur(text) or not index.find(text)


def test_letters_do_not_occur_where_no_name_is() -> None:
    assert index_of("Ada Lovelace").may_occur("On ada lovelaces' table")
    assert not index_of("Ada Lovelace").may_occur("On Ada's table")
    assert not index_of().may_occur("Ada")


def test_nothing_to_find() -> None:
    assert NameIndex([]).find("anything") == []
    assert names_of([("a", "", ["", "x", "12"])]) == frozenset()


MARKED = [
    ("## Ada Lovelace\n- *Note* `G`", "   Ada Lovelace\n-  Note   G "),
    ("| net | host |\n| --- | :-: |\n| a | b |", "; net ; host ;\n             \n; a ; b ;"),
    ("> **C#** is #1 - or -2", ">   C#   is #1 - or -2"),
]


@pytest.mark.parametrize(("text", "plain"), MARKED)
def test_marks_are_blanks_for_the_tagger(text: str, plain: str) -> None:
    assert without_marks(text) == plain


def test_a_mention_has_its_words_as_written() -> None:
    text = "# Of **Ada** Lovelace"
    (found,) = as_written(text, [mention(without_marks(text), "Ada   Lovelace")])
    assert (found.surface, found.key) == ("Ada** Lovelace", "ada lovelace")
    assert text[found.start : found.end] == found.surface
