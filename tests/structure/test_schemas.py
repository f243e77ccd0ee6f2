"""Schemas for every provider, differences in words, prompts, and the LangChain parser."""

from __future__ import annotations

import json
from datetime import date
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration
from pydantic import BaseModel, HttpUrl, create_model

from theworld.structure import (
    StructureEngine,
    StructureParseError,
    explain_data,
    explain_schemas,
    format_instructions,
    gemini_schema,
    openai_strict_schema,
    parse_structured_output,
    reask_message,
    schema_for,
)
from theworld.structure.langchain import StructureOutputParser

from .structure_shapes import Basket, Item, Movie, Numbers, Owner, Point, SearchQuery, Tree, User

MODELS = [User, Item, Basket, Owner, Tree, SearchQuery, Point, Movie, Numbers]


def parts(schema: Any):
    """Yield every dict inside a schema."""
    if isinstance(schema, dict):
        yield schema
        for inner in schema.values():
            yield from parts(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from parts(inner)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "provider", ["openai", "openai-strict", "openai-responses", "anthropic", "gemini", "json-schema"]
)
def test_every_provider_gets_a_valid_schema(model, provider):
    made = schema_for(model, provider)
    json.dumps(made)
    inner = made.get("function", made)
    schema = inner.get("parameters") or inner.get("input_schema") or inner.get("schema") or made
    Draft202012Validator.check_schema(schema)
    if provider != "json-schema":
        assert schema["type"] == "object"


@pytest.mark.parametrize("model", MODELS)
def test_openai_strict_requires_everything_and_nothing_else(model):
    for part in parts(openai_strict_schema(model)):
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
        if "$ref" in part:
            assert set(part) == {"$ref"}
        assert "oneOf" not in part
        assert "discriminator" not in part


def test_what_strict_mode_makes_null_becomes_the_default_again():
    answer = {"query": "x", "max_results": None}
    Draft202012Validator(openai_strict_schema(SearchQuery)).validate(answer)
    assert parse_structured_output(json.dumps(answer), SearchQuery) == SearchQuery(query="x")


def test_free_keys_cannot_be_said_in_strict_mode():
    with pytest.raises(ValueError, match="free keys"):
        openai_strict_schema(dict[str, int])


class Odd(BaseModel):
    """What strict mode knows under another name, or not at all."""

    page: HttpUrl
    pair: tuple[int, str]
    day: date
    size: Literal["s", "l", None] = None


def test_strict_mode_gets_lists_for_tuples_and_only_formats_it_knows():
    fields = openai_strict_schema(Odd)["properties"]
    assert fields["pair"]["items"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert (fields["pair"]["minItems"], fields["pair"]["maxItems"]) == (2, 2)
    assert "prefixItems" not in fields["pair"]
    assert (fields["page"].get("format"), fields["day"]["format"]) == (None, "date")


@pytest.mark.parametrize("anything", [Any, list[Any], object | None])
def test_any_value_cannot_be_said_in_strict_mode(anything):
    with pytest.raises(ValueError, match="field is of any type"):
        openai_strict_schema(create_model("Loose", field=(anything, ...)))


def test_a_null_among_the_choices_is_nullable_for_gemini():
    size = gemini_schema(Odd)["properties"]["size"]
    assert (size["enum"], size["nullable"]) == (["s", "l"], True)


@pytest.mark.parametrize("model", MODELS)
def test_gemini_has_no_references_and_text_enums(model):
    for part in parts(gemini_schema(model)):
        assert "$ref" not in part
        assert "$defs" not in part
        assert "additionalProperties" not in part
        assert part.get("type") != "null"
        if isinstance(part.get("enum"), list):
            assert all(isinstance(choice, str) for choice in part["enum"])


def test_a_model_inside_itself_ends_for_gemini_and_keeps_its_reference_elsewhere():
    text = json.dumps(gemini_schema(Tree))
    assert "not nested any deeper" in text
    assert "$ref" in json.dumps(StructureEngine.to_openai_tool(Tree))


def test_unknown_provider():
    with pytest.raises(ValueError, match="unknown provider"):
        schema_for(User, "other")


def test_differences_of_data_in_words():
    data = {"items": [{"title": 5, "speed": "medium", "colour": "red"}, {}]}
    assert explain_data(data, Basket) == [
        "items.0.title should be string but is int: 5.",
        "items.0.speed should be one of fast, slow but is 'medium'.",
        "items.0.colour is not a field of the model.",
        "items.1.title is required but missing (string).",
    ]
    assert explain_data({}, User, language="zh")[0] == "缺少必填字段 name（string）。"
    assert explain_data({"name": "A", "age": 1}, User) == []
    assert explain_data({"label": "a", "children": [{"label": 1}]}, Tree) == [
        "children.0.label should be string but is int: 1."
    ]


def test_differences_of_schemas_in_words():
    new = {
        "type": "object",
        "properties": {"name": {"type": ["string", "null"]}, "mail": {"type": "string"}},
        "required": ["mail"],
    }
    assert explain_schemas(User, new) == [
        "name is now optional.",
        "name changed from string to string|null.",
        "age was removed.",
        "mail was added (string, required).",
    ]
    assert explain_schemas(Tree, Tree) == []
    assert explain_schemas(User, Movie, language="zh")[0] == "删除了 name。"


@pytest.mark.parametrize(("language", "word"), [("en", "required"), ("zh", "必填"), ("cn", "必填")])
def test_format_instructions(language, word):
    text = format_instructions(SearchQuery, language=language)
    assert "搜索关键词" in text
    assert word in text
    assert '"max_results"' in text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_reask_message_names_the_errors_and_shows_the_answer(language):
    with pytest.raises(StructureParseError) as caught:
        parse_structured_output('{"name": "A", "age": "old"}', User)
    message = reask_message(caught.value, User, language=language)
    assert "direct_json: age: Input should be a valid integer" in message
    assert '{"name": "A", "age": "old"}' in message
    assert format_instructions(User, language=language) in message


def test_unknown_language():
    for call in (format_instructions, lambda model, language: explain_data({}, model, language=language)):
        with pytest.raises(ValueError, match="unknown language 'fr'"):
            call(User, language="fr")


def test_langchain_chain():
    chain = FakeListChatModel(responses=["Sure: {name: 'Bob', age: 30,}"]) | StructureOutputParser(model=User)
    assert chain.invoke("who?") == User(name="Bob", age=30)


def test_langchain_tool_calls_and_errors():
    parser = StructureOutputParser(model=User, language="zh")
    message = AIMessage("text", tool_calls=[{"name": "User", "args": {"name": "B", "age": 2}, "id": "1"}])
    assert parser.parse_result([ChatGeneration(message=message)]) == User(name="B", age=2)
    assert "必填" in parser.get_format_instructions()
    with pytest.raises(OutputParserException) as caught:
        parser.parse("nothing")
    assert caught.value.llm_output == "nothing"
    assert "请改正后重写" in caught.value.observation


def test_langchain_partial():
    parser = StructureOutputParser(model=User)
    part = parser.parse_result([ChatGeneration(message=AIMessage('{"name": "Bo'))], partial=True)
    assert part.name == "Bo"
