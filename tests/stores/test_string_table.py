"""Strings in mapped arrays: every one is found, no other one is."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from theworld.stores.array_folder import StringTable, hashes_of, string_arrays

TEXTS = st.lists(st.text(max_size=6), unique=True, max_size=40)


@given(TEXTS, TEXTS)
def test_rows_and_strings_lead_to_each_other(strings: list[str], others: list[str]) -> None:
    table = StringTable(string_arrays(strings, "t"), "t")
    assert (list(table), [table[row] for row in range(len(table))]) == (strings, strings)
    asked = [*others, *reversed(strings)]
    expected = [strings.index(one) if one in strings else -1 for one in asked]
    assert table.find(asked).tolist() == expected


@given(TEXTS)
def test_equal_hashes_do_no_harm(strings: list[str]) -> None:
    arrays = string_arrays(strings, "t") | {"t.hashes": np.zeros(len(strings), np.uint64)}
    table = StringTable(arrays, "t")
    asked = [*strings, "none of them"]
    expected = [*range(len(strings)), -1]
    assert table.find(asked, np.zeros(len(asked), np.uint64)).tolist() == expected


def test_what_is_no_text_is_not_found() -> None:
    assert StringTable(string_arrays(["a", "é", "字"], "t"), "t").find(["\ud800", "字"]).tolist() == [-1, 2]


def test_hashes_are_the_same_everywhere() -> None:
    assert hashes_of(["", "note#0"]).tolist() == [13020603013274838756, 3528348534779353340]
