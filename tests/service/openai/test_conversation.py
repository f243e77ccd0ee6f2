"""What OpenAI's clients send, as a question with its history; no model, no store."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from theworld.service.api.access import Caller
from theworld.service.api.replies import ApiError
from theworld.service.openai.answers import REVISED, Unfolding
from theworld.service.openai.conversation import for_tenant, names, of_chat, of_responses
from theworld.service.openai.schemas import ChatRequest, ResponsesRequest
from theworld.stores.ledger.api_keys import Principal

ANSWER = """Vienna

film.md › Metropolis [1]
Metropolis was directed by Fritz Lang. It cites [2] others.

city.md › Vienna [2]
Vienna is the capital of Austria.

[1]: http://here/#/document?id=film.md&note=film.md%230 "film.md › Metropolis"
[2]: http://here/#/document?id=city.md&note=city.md%231 "city.md › Vienna"
"""


def chat(*messages, **more):
    return ChatRequest.model_validate({"model": "theworld", "messages": list(messages), **more})


def said(role, content, **more):
    return {"role": role, "content": content, **more}


def test_the_last_message_is_the_question_and_the_rest_the_history():
    asked = of_chat(
        chat(
            said("system", "Be brief."),
            said("user", "Who was Ada Lovelace?"),
            said("assistant", "A mathematician."),
            said("user", [{"type": "text", "text": "When was"}, {"type": "text", "text": "she born?"}]),
        )
    )
    assert asked.question == "When was\nshe born?"
    assert [(m.role, m.content) for m in asked.history] == [
        ("system", "Be brief."), ("user", "Who was Ada Lovelace?"), ("assistant", "A mathematician."),
    ]  # fmt: skip


def test_instructions_after_the_question_go_into_the_history():
    asked = of_chat(chat(said("user", "天一阁是由谁建造的？"), said("developer", "用中文回答。")))
    assert asked.question == "天一阁是由谁建造的？"
    assert [(m.role, m.content) for m in asked.history] == [("system", "用中文回答。")]


def test_of_an_own_answer_what_it_said_is_remembered_and_of_others_everything():
    first, other = ANSWER.partition("\n\ncity.md")[0], ANSWER.partition("\n\n[1]: ")[0]
    asked = of_chat(chat(said("user", "Where?"), said("assistant", ANSWER), said("user", "And when?")))
    assert asked.history[1].content == first
    asked = of_chat(chat(said("user", "Where?"), said("assistant", other), said("user", "And when?")))
    assert asked.history[1].content == other


@pytest.mark.parametrize(
    ("messages", "param", "code"),
    [
        ([said("assistant", "Hello")], "messages", "unsupported_value"),
        ([said("system", "Hello")], "messages", "unsupported_value"),
        ([said("user", " ")], "messages", "unsupported_value"),
        ([said("user", None)], "messages", "unsupported_value"),
        ([said("user", [{"type": "image_url", "image_url": {"url": "x"}}])], "messages.0.content", "unsupported_value"),
        ([said("user", [{"type": "input_audio"}])], "messages.0.content", "unsupported_value"),
        (
            [
                said("user", "a?"),
                said("assistant", None, tool_calls=[{"id": "1"}]),
                said("tool", "b"),
                said("user", "c"),
            ],
            "messages.1",
            "unsupported_value",
        ),
        (
            [said("user", "a?"), said("tool", "b", tool_call_id="1"), said("user", "c")],
            "messages.1",
            "unsupported_value",
        ),
        ([said("user", "a")] * 202, "messages", "context_length_exceeded"),
        ([said("user", "a" * 20_001)], "messages", "context_length_exceeded"),
        ([said("assistant", "a" * 20_001), said("user", "b")], "messages", "context_length_exceeded"),
    ],
)
def test_what_cannot_be_read_is_named(messages, param, code):
    with pytest.raises(ApiError) as refused:
        of_chat(chat(*messages))
    assert refused.value.details == {"param": param, "code": code}


def test_the_limit_that_was_passed_is_the_one_that_is_named():
    for messages, limit in (
        ([said("user", "a" * 20_001)], "a message has at most 20,000 characters, not 20,001"),
        ([said("user", "a")] * 202, "at most 200 earlier messages are read, not 201"),
    ):
        with pytest.raises(ApiError) as refused:
            of_chat(chat(*messages))
        assert refused.value.what == limit


@pytest.mark.parametrize(
    "more",
    [
        {"n": 2}, {"tool_choice": "required"}, {"tool_choice": {"type": "function", "function": {"name": "f"}}},
        {"response_format": {"type": "json_object"}}, {"logprobs": True}, {"modalities": ["text", "audio"]},
        {"messages": []}, {"messages": [said("nobody", "x")]}, {"messages": [said("user", "\x00")]}, {"model": ""},
    ],
)  # fmt: skip
def test_what_would_change_the_answer_is_refused(more):
    with pytest.raises(ValidationError):
        ChatRequest.model_validate({"model": "theworld", "messages": [said("user", "x")], **more})


def test_what_has_no_meaning_here_is_passed_over():
    tools = [{"type": "function", "function": {"name": "f"}}]
    body = chat(said("user", "x"), temperature=0.2, max_tokens=5, tools=tools, tool_choice="auto", n=1, unheard_of={})
    assert of_chat(body).question == "x"


def test_a_response_takes_a_text_or_messages_and_nothing_else():
    def asked(given, **more):
        return of_responses(ResponsesRequest.model_validate({"model": "theworld", "input": given, **more}))

    assert asked("Who?").question == "Who?"
    assert [m.content for m in asked("Who?", instructions="Be brief.").history] == ["Be brief."]
    both = [said("user", "Who?"), {"type": "message", **said("assistant", [{"type": "output_text", "text": "Lang."}])}]
    both.append(said("user", [{"type": "input_text", "text": "When?"}]))
    assert asked(both).question == "When?"
    assert [m.content for m in asked(both).history] == ["Who?", "Lang."]
    with pytest.raises(ApiError) as refused:
        asked([{"type": "function_call_output", "call_id": "1", "output": "x"}])
    assert refused.value.details == {"param": "input.0", "code": "unsupported_value"}
    with pytest.raises(ValidationError):
        asked("Who?", previous_response_id="resp_1")


def caller(*tenants):
    principal = Principal("id", "name", tenants, ("query",)) if tenants else None
    return Caller(tenants[0] if len(tenants) == 1 else "default", principal)


@pytest.mark.parametrize(
    ("tenants", "model", "tenant"),
    [
        ((), "theworld", "default"),
        ((), "theworld/red", "red"),
        (("red",), "theworld", "red"),
        (("red",), "theworld/red", "red"),
        (("red", "blue"), "theworld/blue", "blue"),
        (("*",), "theworld/green", "green"),
    ],
)
def test_a_model_is_a_tenants_knowledge(tenants, model, tenant):
    assert for_tenant(caller(*tenants), model).tenant == tenant


def test_a_foreign_tenants_model_is_told_like_one_that_nobody_has():
    assert names(caller("red", "blue")) == ["theworld", "theworld/red", "theworld/blue"]
    assert names(caller("red")) == names(caller("*")) == names(caller()) == ["theworld"]
    told = set()
    for model in ("theworld/green", "theworld/greed"):
        with pytest.raises(ApiError) as refused:
            for_tenant(caller("red"), model)
        told.add(refused.value.what.replace(model, "M"))
    assert len(told) == 1
    for model in ("gpt-4", "theworld/", "theworld/a b", "", "theworld/" + "x" * 200):
        with pytest.raises(ApiError):
            for_tenant(caller("*"), model)


@pytest.mark.parametrize(
    ("events", "answer", "whole"),
    [
        ([], "Lang. [1]", "Lang. [1]"),
        ([("token", "La"), ("token", "ng.")], "Lang. [1]", "Lang. [1]"),
        ([("token", "no"), ("restart", ""), ("token", "yes")], "yes!", "no" + REVISED + "yes!"),
        ([("token", "no"), ("restart", "")], "Passages", "no" + REVISED + "Passages"),
        ([("token", "no")], "Passages", "no" + REVISED + "Passages"),
        ([("restart", ""), ("token", "yes")], "yes", "yes"),
        ([("token", "a"), ("restart", ""), ("restart", ""), ("token", "b")], "b", "a" + REVISED + "b"),
        ([("token", f"a{REVISED}b")], f"a{REVISED}bc", f"a{REVISED}bc"),
    ],
)
def test_a_stream_ends_with_the_answer_whatever_came_before(events, answer, whole):
    sent = Unfolding()
    pieces = [sent.take(kind, text) for kind, text in events] + [sent.finish(answer)]
    assert "".join(pieces) == sent.text == whole
    assert whole.endswith(answer)
