"""Tool calls of every dialect, as dicts, as SDK objects, and as text."""

from __future__ import annotations

import json
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from openai.types.chat import ChatCompletion
from openai.types.responses import ResponseFunctionToolCall
from pydantic import BaseModel

from theworld.structure import StructureParseError, parse_structured_output, parse_with_report

from .structure_shapes import Code, User

BOB = User(name="Bob", age=30)
ARGUMENTS = {"name": "Bob", "age": 30}
TEXT = json.dumps(ARGUMENTS)
COMPLETION = ChatCompletion.model_validate(
    {
        "id": "1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "User", "arguments": TEXT}}]}}],
    }
)  # fmt: skip
RESPONSE_CALL = ResponseFunctionToolCall(type="function_call", call_id="c", name="User", arguments=TEXT)
DIALECTS: dict[str, Any] = {
    "openai dict": [{"id": "c", "type": "function", "function": {"name": "User", "arguments": TEXT}}],
    "openai old function_call": {"role": "assistant", "function_call": {"name": "User", "arguments": TEXT}},
    "openai message object": COMPLETION.choices[0].message,
    "openai call objects": COMPLETION.choices[0].message.tool_calls,
    "openai whole completion": COMPLETION,
    "openai responses object": [RESPONSE_CALL],
    "openai responses dict": {"output": [{"type": "reasoning", "summary": []}, RESPONSE_CALL.model_dump()]},
    "langchain tool_calls": AIMessage("", tool_calls=[{"name": "User", "args": ARGUMENTS, "id": "1"}]).tool_calls,
    "langchain message": AIMessage("", tool_calls=[{"name": "User", "args": ARGUMENTS, "id": "1"}]),
    "anthropic blocks": [
        {"type": "text", "text": "ok"},
        {"type": "tool_use", "id": "1", "name": "User", "input": ARGUMENTS},
    ],
    "anthropic message": {"role": "assistant", "content": [{"type": "tool_use", "name": "User", "input": ARGUMENTS}]},
    "anthropic object": SimpleNamespace(content=[SimpleNamespace(type="tool_use", name="User", input=ARGUMENTS)]),
    "gemini part": [{"functionCall": {"name": "User", "args": ARGUMENTS}}],
    "gemini response": {
        "candidates": [{"content": {"parts": [{"functionCall": {"name": "User", "args": ARGUMENTS}}]}}]
    },
    "gemini object": SimpleNamespace(function_call=SimpleNamespace(name="User", args=ARGUMENTS)),
    "ollama message": {
        "message": {"role": "assistant", "tool_calls": [{"function": {"name": "User", "arguments": ARGUMENTS}}]}
    },
    "double-encoded arguments": [{"function": {"name": "User", "arguments": json.dumps(TEXT)}}],
    "arguments to be repaired": [{"function": {"name": "User", "arguments": "{'name': 'Bob', age: 30,"}}],
    "arguments as bytes": [{"function": {"name": "User", "arguments": TEXT.encode()}}],
    "a single call": {"name": "User", "arguments": TEXT},
}
TEXTS = {
    "hermes": f'<tool_call>\n{{"name": "User", "arguments": {TEXT}}}\n</tool_call>',
    "hermes, arguments as text": f'<tool_call>{{"name": "User", "arguments": {json.dumps(TEXT)}}}</tool_call>',
    "llama": f"<function=User>{TEXT}</function>",
    "llama tag": f"<|python_tag|>{json.dumps({'name': 'User', 'parameters': ARGUMENTS})}",
    "qwen coder": "<function=User><parameter=name>\nBob\n</parameter><parameter=age>30</parameter></function>",
    "anthropic text": '<invoke name="User"><parameter name="name">Bob</parameter><parameter name="age">30</parameter>',
    "mistral": f'[TOOL_CALLS] [{{"name": "User", "arguments": {TEXT}}}]',
    "fenced": f'```tool_call\n{{"name": "User", "arguments": {TEXT}}}\n```',
    "deepseek": f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>User\n```json\n{TEXT}\n```<｜tool▁call▁end｜>",
    "pythonic": '[User(name="Bob", age=30)]',
    "gemma": '```tool_code\nprint(default_api.User(name="Bob", age=30))\n```',
    "openai as text": json.dumps(
        {"tool_calls": [{"type": "function", "function": {"name": "User", "arguments": TEXT}}]}
    ),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialect(dialect):
    assert parse_structured_output("", User, DIALECTS[dialect]) == BOB


@pytest.mark.parametrize("dialect", TEXTS)
def test_text_dialect(dialect):
    assert parse_structured_output(TEXTS[dialect], User) == BOB


def test_a_call_is_not_taken_for_the_object_itself():
    class Named(User):
        age: int = 0

    text = '{"name": "get_user", "arguments": {"name": "Bob"}}'
    assert parse_structured_output(text, Named) == Named(name="Bob")


def test_parallel_calls_the_fullest_wins_and_the_models_own_name_first():
    calls = [
        {"function": {"name": "Other", "arguments": '{"code": "no", "language": "c"}'}},
        {"function": {"name": "code", "arguments": '{"code": "yes"}'}},
    ]
    assert parse_structured_output("", Code, calls).code == "yes"
    calls[1]["function"]["name"] = "third"
    assert parse_structured_output("", Code, calls).code == "no"


def test_report_of_a_mended_call():
    report = parse_with_report("", User, [{"function": {"name": "User", "arguments": "{'name': 'Bob', 'age': '30岁'"}}])
    assert (report.value, report.strategy, report.truncated) == (BOB, "tool_call_0", True)
    assert ("age",) in [repair.path for repair in report.repairs]


@pytest.mark.parametrize("raw", [5, "x", [None], [{}], {"tool_calls": "x"}, [[[[[[[[[[[[]]]]]]]]]]]], object()])
def test_unknown_shapes_fall_back_to_the_text(raw):
    assert parse_structured_output(TEXT, User, raw) == BOB
    with pytest.raises(StructureParseError) as caught:
        parse_structured_output("none", User, raw)
    assert caught.value.attempts[0]["strategy"].startswith("tool_call")


class Visit(BaseModel):
    """A shape with a date."""

    day: date
    count: int
    tags: list[str] = []


@pytest.mark.parametrize("more", [{}, {"tags": {"a"}}, {("x", 1): 2}, {b"raw": b"x"}])
def test_arguments_that_are_no_plain_json_are_mended_too(more: dict[Any, Any]) -> None:
    arguments = {"day": date(2020, 1, 2), "count": "1,000", **more}
    found = parse_structured_output("", Visit, raw_tool_calls=[{"function": {"name": "Visit", "arguments": arguments}}])
    assert (found.day, found.count) == (date(2020, 1, 2), 1000)


class Crashing:
    """An object whose every attribute fails."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


@pytest.mark.parametrize("calls", [[Crashing()], [{"function": {"name": "Visit", "arguments": {"day": object()}}}]])
def test_calls_that_cannot_be_read_are_no_calls(calls: list[Any]) -> None:
    with pytest.raises(StructureParseError):
        parse_structured_output("", Visit, raw_tool_calls=calls)
