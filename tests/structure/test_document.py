"""What the specification of structured output implies beyond its own examples (tests/seeds): names, order, errors."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

import theworld
from theworld import structure
from theworld.structure import (
    ExtractionStrategy,
    StructureEngine,
    StructureParseError,
    extract_structured_data,
    get_schema_diff,
    parse_structured_output,
    parse_with_report,
    register_extraction_strategy,
    to_openai_tool,
    unregister_extraction_strategy,
)
from theworld.structure.json_extractor import registered_strategies


class User(BaseModel):
    name: str
    age: int


@pytest.fixture
def my_strategy() -> Iterator[None]:
    def func(text, model_class):
        data = {"name": "FromStrategy", "age": 18}
        return model_class(**data)

    register_extraction_strategy(ExtractionStrategy(name="my_strategy", func=func))
    yield
    unregister_extraction_strategy("my_strategy")


def test_tool_calls_may_come_one_by_one():
    calls = ({"function": {"name": "f", "arguments": given}} for given in ("bad", '{"name": "Bob", "age": 30}'))
    assert parse_structured_output("", User, calls) == User(name="Bob", age=30)


@pytest.mark.parametrize(
    ("text", "strategy"),
    [
        ('see:\n```\n{"name": "A", "age": 1}\n```', "markdown_0"),
        ('```\n{"x": 1}\n```\n```json\n{"name": "A", "age": 1}\n```', "markdown_1"),
        ('first {"x": {"y": 2}} then {"name": "A", "age": 1}', "braced_1"),
        ('{"name": "A", "age": 1\x01}', "cleaned_json"),
    ],
)
def test_strategy_names(text, strategy):
    report = parse_with_report(text, User)
    assert report.value == User(name="A", age=1)
    assert report.strategy == strategy


def test_bracket_strategy():
    assert parse_with_report('they are [{"name": "A", "age": 1}] so', list[User]).strategy == "bracket_0"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"name": "A", "age": 1} or {"name": "B", "age": 2}', "B"),
        ('[{"name": "A", "age": 1}, {"name": "B", "age": 2}]', "B"),
        ('{"first": {"name": "A", "age": 1}, "then": {"name": "B", "age": 2}}', "B"),
        ('{"user": {"name": "A", "age": 1, "friend": {"name": "B", "age": 2}}}', "A"),
        ('{"user": {"name": "A", "age": 1}, "others": [{"name": "B", "age": 2}]}', "A"),
        ('[{"name": "A", "age": 1}, {"name": "B"}]', "A"),
    ],
)
def test_among_equally_full_fragments_the_last_wins_and_what_holds_others_first(text, name):
    report = parse_with_report(text, User)
    assert report.value.name == name
    assert all("earlier in the text" in other.why_not for other in report.alternatives)


def test_all_failed_strategies_are_reported_in_the_documented_order(my_strategy):
    text = '```json\n{"a": 1}\n``` and {"b": 2} or [3]'

    class Other(BaseModel):
        wanted: int

    with pytest.raises(StructureParseError) as caught:
        extract_structured_data(text, Other)
    names = [attempt["strategy"] for attempt in caught.value.attempts]
    expected = ["direct_json", "markdown_0", "braced_0", "bracket_0", "cleaned_json"]
    assert names == [*expected, "plugin_yaml_fulltext", "plugin_my_strategy"]
    assert all(attempt["error"] for attempt in caught.value.attempts)


def test_no_failed_strategy_is_capped_away():
    text = " ".join(f'{{"a{i}": {i}}}' for i in range(500))
    with pytest.raises(StructureParseError) as caught:
        extract_structured_data(text, User)
    assert {f"braced_{i}" for i in range(500)} <= {attempt["strategy"] for attempt in caught.value.attempts}


def test_a_plugin_may_raise_anything_and_the_next_one_still_runs(my_strategy):
    def broken(text, model_class):
        raise KeyError("whatever")

    register_extraction_strategy(ExtractionStrategy(name="a_broken_one", func=broken))
    try:
        report = parse_with_report("nothing", User)
        assert report.value.name == "FromStrategy"
        names = [s.name for s in registered_strategies()]
        assert names == ["yaml_fulltext", "my_strategy", "a_broken_one"]
        unregister_extraction_strategy("my_strategy")
        with pytest.raises(StructureParseError) as caught:
            parse_structured_output("nothing", User)
        assert {"strategy": "plugin_a_broken_one", "error": "KeyError: 'whatever'"} in caught.value.attempts
    finally:
        unregister_extraction_strategy("a_broken_one")


@pytest.mark.parametrize("strategy", [ExtractionStrategy("", print), ExtractionStrategy("a", None), None, print])
def test_a_strategy_needs_a_name_and_a_function(strategy):
    with pytest.raises(ValueError, match="name"):
        register_extraction_strategy(strategy)


@pytest.mark.parametrize("nothing", ["None", "undefined", "nil"])
def test_yaml_makes_no_text_of_what_json_reads_as_nothing(nothing):
    with pytest.raises(StructureParseError):
        parse_structured_output(f'{{"name": {nothing}, "age": 1}}', User)


def test_without_pyyaml_json_works_and_yaml_is_absent():
    code = (
        "import sys; sys.modules['yaml'] = None\n"
        "from theworld.structure import parse_structured_output, json_extractor, StructureParseError\n"
        "from pydantic import BaseModel\n"
        "class C(BaseModel):\n    host: str\n"
        "assert parse_structured_output('{\"host\": \"a\"}', C).host == 'a'\n"
        "assert json_extractor.registered_strategies() == ()\n"
        "try:\n    parse_structured_output('host: a', C)\n"
        "except StructureParseError as e:\n    print([a['strategy'] for a in e.attempts])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['direct_json', 'cleaned_json']"


def test_without_json_repair_cleaning_and_plugins_work_and_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['json_repair'] = None\n"
        "from theworld.structure import StructureParseError, parse_structured_output, parse_with_report\n"
        "from pydantic import BaseModel\n"
        "class C(BaseModel):\n    host: str\n"
        'print(parse_with_report(\'// note\\n{"host": "a", /* b */}\', C).strategy)\n'
        "print(parse_structured_output('host: \"{a\"', C).host)\n"
        "try:\n    parse_structured_output('{host: a', C)\n"
        "except StructureParseError as e:\n    print('[structured]' in str(e), e.attempts[1]['strategy'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["cleaned_json", "{a", "True", "braced_0"]


def test_the_documented_files_hold_the_documented_names():
    files = {
        "errors": "StructureParseError",
        "schema": "to_openai_tool get_schema_diff",
        "json_extractor": "extract_structured_data ExtractionStrategy register_extraction_strategy",
        "engine": "StructureEngine parse_with_report",
        "sync": "parse_structured_output extract_json_from_text",
    }
    for file, names in files.items():
        module = importlib.import_module(f"theworld.structure.{file}")
        for name in names.split():
            assert getattr(module, name) is getattr(structure, name) is getattr(theworld, name)
    assert StructureEngine.to_openai_tool(User) == to_openai_tool(User)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("User", "'User' is a str"),
        ({"type": "object"}, "is a dict"),
        (User(name="A", age=1), "an instance: give its class"),
        (5, "'int' is none that pydantic knows"),
    ],
)
def test_what_is_no_model_is_said(wanted, said):
    with pytest.raises(TypeError, match=said):
        parse_structured_output('{"name": "A", "age": 1}', wanted)
    with pytest.raises(TypeError, match=said):
        asyncio.run(StructureEngine.parse('{"name": "A", "age": 1}', wanted))


@pytest.mark.filterwarnings("ignore")
def test_a_model_of_pydantic_1_is_refused_by_name():
    from pydantic import v1

    old = type("Old", (v1.BaseModel,), {"__annotations__": {"name": str}})
    with pytest.raises(TypeError, match="'Old' is a model of pydantic 1"):
        parse_structured_output('{"name": "A"}', old)


def test_a_list_with_bounds_may_be_wanted():
    wanted = Annotated[list[User], Field(min_length=1), {"what": "people"}]
    assert parse_structured_output('[{"name": "A", "age": 1}]', wanted) == [User(name="A", age=1)]


class Kind(BaseModel):
    kind: Literal["a", "b"]


def test_schema_difference():
    for data in (None, "{}", [("name", "Al")]):
        with pytest.raises(TypeError, match="compare with User must be a mapping"):
            StructureEngine.get_schema_diff(data, User)  # type: ignore[arg-type]
    assert get_schema_diff({"kind": "c"}, Kind) == {"missing_required": [], "extra_fields": [], "type_mismatches": []}
    assert get_schema_diff({"kind": 1}, Kind)["type_mismatches"] == [
        {"field": "kind", "expected": "string", "actual": "int"}
    ]
    assert StructureEngine.get_schema_diff({"nick": "Al", "age": 3}, User) == {
        "missing_required": ["name"],
        "extra_fields": ["nick"],
        "type_mismatches": [],
    }


def test_an_error_keeps_the_start_of_the_content_only():
    content = "nothing to see " + "x" * 5000
    with pytest.raises(StructureParseError) as caught:
        parse_structured_output(content, User)
    assert content.startswith(caught.value.raw_content[:1000])
    assert len(caught.value.raw_content) < len(content)
    assert "User" in caught.value.get_detailed_error()


def test_the_import_is_light():
    code = (
        "import sys, theworld.structure\n"
        "print([m for m in ('langchain_core', 'openai', 'json_repair', 'yaml', 'numpy') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
