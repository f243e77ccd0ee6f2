"""Known phrases in a text: whole words, stems, CJK characters, offsets of the text as it is."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.text.phrases import PhraseTable, longest

TABLE = PhraseTable(
    [("交易", 1), ("交易波动", 2), ("supplier", 3), ("A", 4), ("credit line", 5), ("Credit Lines", 6), ("书", 7)]
)

PLACES = [
    ("交易波动分析", ["交易波动", "交易"]),
    ("all Suppliers' orders", ["Suppliers"]),
    ("oversuppliers", []),
    ("a credit-line", ["credit-line"]),
    ("grade A", ["A"]),
    ("Ａ级", []),
    ("书 很好", ["书"]),
    ("书记", []),
]


@pytest.mark.parametrize(("text", "expected"), PLACES)
def test_phrases_are_found_where_they_stand(text: str, expected: list[str]) -> None:
    assert [text[found.start : found.end] for found in TABLE.find(text)] == expected


def test_phrases_of_the_same_words_share_their_place() -> None:
    assert TABLE.find("credit lines")[0].payloads == (5, 6)
    assert len(TABLE) == 6


def test_the_longest_wins() -> None:
    assert [found.payloads for found in longest(TABLE.find("交易波动与交易"))] == [(2,), (1,)]


@given(st.text(alphabet="交易波动 supplierA书-", max_size=30))
def test_offsets_stay_in_the_text_and_chosen_phrases_do_not_overlap(text: str) -> None:
    found = TABLE.find(text)
    assert all(0 <= one.start < one.end <= len(text) for one in found)
    chosen = longest(found)
    assert all(one.end <= other.start for one, other in pairwise(chosen))
