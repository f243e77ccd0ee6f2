"""Keywords and false friends: the tables, and the rules of matching."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from theworld import ReferenceResolver
from theworld.references.config import default_mappings
from theworld.references.detection import false_friends, find_phrases
from theworld.text.sentences import apart
from theworld.text.tokens import fold_in_place

CASES = yaml.safe_load((Path(__file__).parent / "data" / "matching.yaml").read_text(encoding="utf-8"))
RESOLVER = ReferenceResolver()


@pytest.mark.parametrize(("text", "keyword", "kind"), [*CASES["cn"], *CASES["en"]])
def test_table(text: str, keyword: str, kind: str) -> None:
    result = RESOLVER.resolve(text)
    assert (result.matched_keyword or "", result.reference_type.value) == (keyword, kind)


def test_longest_wins_then_leftmost_and_all_are_kept() -> None:
    result = RESOLVER.resolve("刚才那个问题和上次那件事")
    assert [m.keyword for m in result.matches] == ["那个问题", "那件事", "刚才", "上次"]
    assert [m.span for m in result.matches] == [(2, 6), (9, 12), (0, 2), (7, 9)]


def test_both_tables_are_tried_whatever_the_language() -> None:
    for language in ("cn", "zh", "en", "auto"):
        assert ReferenceResolver(language=language).resolve("deploy failed 刚才").matched_keyword == "刚才"
        assert ReferenceResolver(language=language).resolve("部署 just now 失败了").matched_keyword == "just now"


@pytest.mark.parametrize("keyword", ["a.b", "c++", "[x]", "(?:", "\\d+", "what?", "$100", "a|b", "*"])
def test_every_character_of_a_keyword_is_literal(keyword: str) -> None:
    resolver = ReferenceResolver()
    resolver.add_mapping(keyword, "last_1_3_turns", "temporal", "en")
    assert resolver.resolve(f"so {keyword} then").matched_keyword == keyword
    assert resolver.resolve("so axb ab xx 5 then").matched_keyword is None


def test_case_width_and_traditional_forms_are_folded() -> None:
    resolver = ReferenceResolver()
    resolver.add_mapping("ＦｏｏＢａｒ", "last_1_3_turns", "temporal", "en")
    assert resolver.resolve("the foobar of it").matched_keyword == "ＦｏｏＢａｒ"
    assert resolver.resolve("ＪＵＳＴ ＮＯＷ").matched_keyword == "just now"
    assert resolver.resolve("那個話題").matched_keyword == "那个话题"


def test_a_keyword_next_to_chinese_is_a_whole_word() -> None:
    assert RESOLVER.resolve("我just说过").matched_keyword == "just"
    assert RESOLVER.resolve("adjust一下").matched_keyword is None


def test_false_friends_hide_only_what_lies_within_them() -> None:
    assert RESOLVER.resolve("最近的地铁站，刚才说过").matched_keyword == "刚才"
    assert RESOLVER.resolve("最近最近邻搜索有什么进展").matched_keyword == "最近"
    assert all("{" not in phrase for phrase in false_friends())


def test_default_tables_are_copies() -> None:
    table = default_mappings("cn")
    table.clear()
    assert default_mappings("cn")


@given(st.text(max_size=200))
def test_folding_keeps_every_offset(text: str) -> None:
    assert len(fold_in_place(text)) == len(text)


@given(st.text(min_size=1, max_size=12).filter(lambda t: t.strip()), st.text(max_size=30), st.text(max_size=30))
def test_a_phrase_between_spaces_is_found_where_it_stands(phrase: str, before: str, after: str) -> None:
    text = f"{before} {phrase.strip()} {after}"
    spans = find_phrases([phrase], fold_in_place(text))
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    if all(character.isascii() for character in phrase):
        assert any(span.start <= len(before) + 1 < span.end for span in spans)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), max_size=12))
def test_chosen_spans_never_overlap(raw: list[tuple[int, int]]) -> None:
    chosen = sorted(apart([(start, start + length) for start, length in raw], lambda place: place))
    assert all(one[1] <= other[0] for one, other in pairwise(chosen))
    assert bool(chosen) == bool(raw)
