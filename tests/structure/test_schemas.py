"""A model as a tool: valid JSON Schemas of objects, references kept, names that providers accept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from theworld.structure import StructureEngine, get_schema_diff, to_openai_tool

from .structure_shapes import Basket, Item, Movie, Numbers, Owner, Point, SearchQuery, Tree, User

MODELS = [User, Item, Basket, Owner, Tree, SearchQuery, Point, Movie, Numbers, int, list[User], dict[str, int]]


@pytest.mark.parametrize("model", MODELS)
def test_every_tool_has_a_valid_schema_of_an_object(model: Any) -> None:
    tool = to_openai_tool(model)
    assert tool == StructureEngine.to_openai_tool(model) == json.loads(json.dumps(tool))
    function = tool["function"]
    assert function["name"].replace("_", "").isalnum()
    assert function["description"]
    Draft202012Validator.check_schema(function["parameters"])
    assert function["parameters"]["type"] == "object"


def test_what_is_no_object_is_wrapped_with_its_definitions() -> None:
    parameters = to_openai_tool(list[User])["function"]["parameters"]
    assert parameters["required"] == ["value"]
    Draft202012Validator(parameters).validate({"value": [{"name": "A", "age": 1}]})


def test_a_model_inside_itself_keeps_its_reference() -> None:
    parameters = to_openai_tool(Tree)["function"]["parameters"]
    assert "$ref" in json.dumps(parameters)
    Draft202012Validator(parameters).validate({"label": "a", "children": [{"label": "b"}]})


def test_differences_follow_unions_references_and_whole_numbers() -> None:
    assert get_schema_diff({"title": "a", "price": 5, "mode": None, "day": 3}, Item)["type_mismatches"] == [
        {"field": "day", "expected": "string|null", "actual": "int"}
    ]
    assert get_schema_diff({"name": "A", "age": 3.0}, User)["type_mismatches"] == []
    assert get_schema_diff({"name": "A", "age": True}, User)["type_mismatches"][0]["actual"] == "bool"
    assert get_schema_diff({"label": "a", "children": "none"}, Tree)["type_mismatches"][0]["expected"] == "array"
