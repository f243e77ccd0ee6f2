"""Bad input: nothing but StructureParseError, in bounded time, without recursion, aliases or evaluation."""

from __future__ import annotations

import ast
import contextlib
import random
import time
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

import theworld.structure as package
from growth import grows_linearly
from theworld.structure import StructureParseError, parse_structured_output, parse_with_report
from theworld.structure.reading.provenance import invented
from theworld.structure.yaml_text import load_yaml

from .mutation import mutated
from .structure_shapes import Basket, Defaults, Item, Mode, Tree, User

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(8)
)
BAD: dict[str, Any] = {
    "empty": "",
    "none": None,
    "blank": " \n\t ",
    "bytes": b"nothing here",
    "invalid utf-8": b"\xff\xfe{\x80\x81",
    "a number": 5,
    "an object": object(),
    "null bytes": "\x00" * 1000,
    "lone surrogate": '{"name": "\ud800", "age": 1}',
    "10k brackets": "[" * 10_000,
    "10k braces": "{" * 10_000,
    "10k nested objects": '{"a":' * 10_000,
    "10k nested and closed": "[" * 10_000 + "]" * 10_000,
    "a megabyte of backslashes": "\\" * 1_000_000,
    "backslashes in a string": '{"name": "' + "\\" * 1_000_000,
    "5 MB of text": "lorem ipsum {dolor} [sit] amet. " * 160_000,
    "alias bomb": BOMB,
    "self-reference": "a: &a [*a]",
    "unsafe yaml": "!!python/object/apply:os.system ['echo no']",
    "long number": '{"name": "A", "age": ' + "9" * 100_000 + "}",
    "code": "__import__('os').system('echo no')",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_a_structure_error_with_reasons_in_bounded_time(name):
    began = time.perf_counter()
    with pytest.raises(StructureParseError) as caught:
        parse_structured_output(BAD[name], User)
    assert caught.value.attempts
    assert caught.value.get_detailed_error()
    assert time.perf_counter() - began < 20


def test_bytes_and_messages_are_read():
    user = User(name="é", age=1)
    assert parse_structured_output('{"name": "é", "age": 1}'.encode(), User) == user
    assert parse_structured_output('\ufeffso {"name": "é", "age": 1}'.encode(), User) == user
    assert parse_structured_output({"name": "é", "age": 1}, User) == user
    assert parse_structured_output({"role": "assistant", "content": "{name: é, age: 1}"}, User) == user


def test_an_object_after_deep_nonsense_is_found():
    assert parse_structured_output("[" * 3000 + '{"name": "A", "age": 1}', User) == User(name="A", age=1)


def test_five_megabytes_around_an_object():
    text = "lorem ipsum. " * 200_000 + "{name: 'A', age: 1}" + " dolor sit." * 200_000
    assert parse_structured_output(text, User) == User(name="A", age=1)


def test_yaml_keeps_its_scalars_and_refuses_aliases():
    assert load_yaml("a: NO\nb: 12:30\nc: 2024-01-05\nd: 1.5\ne: yes\nf: 0777\ng: ~") == {
        "a": "NO", "b": "12:30", "c": "2024-01-05", "d": 1.5, "e": "yes", "f": "0777", "g": None,
    }  # fmt: skip
    assert load_yaml("a: &x [1]\nb: *x") == {"a": [1], "b": [1]}
    with pytest.raises(ValueError, match="aliases"):
        load_yaml(BOMB)
    with pytest.raises(ValueError, match="deeper than 100"):
        load_yaml("- " * 5000 + "x")
    with pytest.raises(ValueError, match="not tried as YAML"):
        load_yaml("a: b\n" * 100_000)


def test_no_source_evaluates_text():
    for path in Path(str(package.__file__)).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "__import__"), path


class Letter(Enum):
    ALPHA = "alpha"


GROWING: dict[str, Callable[[int], str]] = {
    "quotes": lambda n: '{"a":"' + '"x ' * (n // 3),
    "items without marks": lambda n: '["a, ' + '"b, ' * (n // 4) + '"]',
    "unclosed pairs": lambda n: '{"a": "x' + ", b: 'y" * (n // 7) + "}",
    "spaces": lambda n: '{"a":"x"' + " " * n + "b",
    "line breaks": lambda n: '{"a": x' + "\n" * n + "y",
    "closing brackets": lambda n: '{"a": "x' + "} " * (n // 2) + "z",
    "commas": lambda n: '{"a": x' + "," * n,
    "bare marks": lambda n: "{a: " + 'x"' * (n // 2),
    "objects": lambda n: "{}" * (n // 2),
    "nesting": lambda n: '{"label": "a", "children": [' * (n // 28),
    "escaped": lambda n: '{\\"a\\": ' * (n // 8),
    "fences": lambda n: '```json\n{"a": \n' * (n // 15),
    "thinking": lambda n: "</think>" * (n // 8),
    "tags": lambda n: "<function=a><parameter=b>" * (n // 25),
    "python calls": lambda n: " f(a=1" * (n // 6),
    "wrong items": lambda n: '{"title":"a","tags":[' + "1.5," * (n // 4) + "]}",
    "joined": lambda n: '{"title": "x"' + ' + "x"' * (n // 6) + "}",
    "unclosed objects": lambda n: '{"a": "b}\n' * (n // 10),
    "comments": lambda n: "{" + "/*" * (n // 2),
    "full width": lambda n: "{“名称”：“张”，" * (n // 10),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GROWING)
@pytest.mark.parametrize("shape", [Item, Any, Letter], ids=["model", "any", "enum"])
def test_time_is_linear_in_the_text(name, shape):
    def parse(size: int) -> None:
        with contextlib.suppress(StructureParseError):
            parse_with_report(GROWING[name](size), shape)

    assert grows_linearly(parse, 12_000, 96_000)


SHAPES_TO_FUZZ = [User, Item, Basket, Tree, Defaults, Mode, list[Item], dict[str, Any], Any, int]


def check(text: str, shape: Any) -> bool:
    """Parse; a value must validate again and come from the text. Returns True when it parsed, or failed wordlessly."""
    try:
        report = parse_with_report(text, shape)
    except StructureParseError as error:
        return not error.attempts
    adapter: TypeAdapter[Any] = TypeAdapter(shape)
    plain = adapter.dump_python(report.value, mode="json", exclude_unset=True)
    if shape is not Mode and shape is not int:
        adapter.validate_python(report.value)
        known = {"refund", "cancel-order", "Technical Support", "fast", "slow"}
        strange = [
            item for _, item in invented(plain, text) if item not in known and not str(item).startswith(("{", "["))
        ]
        assert not strange, (text, strange, report.repairs)
    return True


@pytest.mark.slow
def test_mutated_texts_parse_truthfully_or_fail_with_reasons():
    rng = random.Random(20240105)
    parsed = sum(check(mutated(rng), rng.choice(SHAPES_TO_FUZZ)) for _ in range(3000))
    assert parsed > 300


@settings(max_examples=300)
@given(
    st.text("{}[]()\",:'\\/#*`|<>=+-. \n\t，：“”｛｝019enutfabc中\ud800\x00", max_size=60),
    st.sampled_from(SHAPES_TO_FUZZ),
)
def test_any_text(text, shape):
    check(text, shape)
