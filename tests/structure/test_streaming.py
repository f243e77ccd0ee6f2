"""Objects from texts that are still being written."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from growth import grows_linearly
from theworld.structure import PartialParser, parse_partial

from .structure_shapes import Basket, Item, Tree, User
from .test_texts import CONTAINERS

TEXT = '<think>{"name": "no"}</think>Sure:\n```json\n{"name": "A\\u006c \\"x\\"", "age": 25}\n```'


def test_nothing_before_the_object_begins():
    for cut in range(TEXT.index("{", 20) + 1):
        assert parse_partial(TEXT[:cut], User).value is None


def test_fields_grow_and_are_complete_when_their_end_has_come():
    start = TEXT.index("{", 20)
    seen = [parse_partial(TEXT[:cut], User) for cut in range(start + 2, len(TEXT) + 1)]
    names = [part.value.name or "" for part in seen]
    assert all(later.startswith(earlier) for earlier, later in pairwise(names))
    assert names[-1] == 'Al "x"'
    by_text = dict(zip(range(start + 2, len(TEXT) + 1), seen, strict=True))
    assert by_text[TEXT.index(', "age"')].complete == {"name"}
    assert by_text[TEXT.index("25") + 1].value.age is None
    assert by_text[TEXT.index("}", start) + 1].done
    assert seen[-1].value == User(name='Al "x"', age=25)


def test_nested_lists_and_defaults():
    part = parse_partial('{"items": [{"title": "A", "price": "1,200"}, {"title": "B', Basket)
    assert part.value.items[0] == Item(title="A", price=1200)
    assert (part.value.items[1].title, part.value.items[1].speed) == ("B", "fast")
    assert part.complete == {"items.0"}
    tree = parse_partial('{"label": "a", "children": [{"label": "b", "children": [{"lab', Tree).value
    assert tree.children[0].label == "b"


@pytest.mark.parametrize("text", ["{'name': '李', age: 3", "{name: 李, age: 3", '{"name": "李 "大" 明", "age": 3'])
def test_broken_json_grows_too(text):
    part = parse_partial(text, User)
    assert part.value.name.startswith("李")
    assert not part.done


@given(CONTAINERS, st.integers(1, 7))
def test_any_pieces_give_the_value_in_the_end(value, size):
    text = json.dumps(value, ensure_ascii=False)
    parser: PartialParser[Any] = PartialParser(dict if isinstance(value, dict) else list)
    for start in range(0, len(text), size):
        parser.feed(text[start : start + size])
    assert parser.snapshot().done
    assert parser.snapshot().data == value


@example('{"a": 1 /', 1)
@example('/er na:,"{”an/e3bu2"r/', 6)
@given(st.text("{}[]\",:\\ntrue0123 “”，：ab'/*`<think>", max_size=80), st.integers(1, 9))
def test_any_text_in_any_pieces_gives_the_same(text, size):
    parser = PartialParser(User)
    for start in range(0, len(text), size):
        parser.feed(text[start : start + size])
    assert repr(parser.snapshot().data) == repr(parse_partial(text, User).data)


@pytest.mark.slow
def test_feeding_is_linear_in_the_whole_text():
    def feed(length: int) -> None:
        text = '{"name": "' + 'say "b" \\n' * (length // 20) + '", "tags": [' + '"x", ' * (length // 10) + '"y"]}'
        parser = PartialParser(User)
        for start in range(0, len(text), 16):
            parser.feed(text[start : start + 16])
        assert parser.snapshot().done

    assert grows_linearly(feed, 40_000, 320_000)


def test_too_deep_is_a_value_error():
    with pytest.raises(ValueError, match="200 levels"):
        PartialParser(Tree).feed("[" * 500)
