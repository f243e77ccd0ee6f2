"""`/v1/models`, `/v1/chat/completions` and `/v1/responses`: the graph's answer with annotations, whole or streamed.

A stream tells a model's text as it comes; without one the graph's answer is one piece. Where the model's text turns out
not to be the answer, which a stream cannot take back, a rule is drawn below it and the answer follows.

Of a chat the last piece holds the annotations, `sources` for Open WebUI, and the question as `understood`. A response
tells `response.created`, `.in_progress`, `.output_item.added`, `.content_part.added`, `.output_text.delta` as it comes,
`.output_text.annotation.added` for each citation, the `.done` of each, and `response.completed`; or `response.failed`.
Nothing of it is kept, so a conversation is sent whole every time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.sse import format_sse_event

from theworld.service.api.access import Caller, Naming
from theworld.service.api.replies import bare_reply, error_body
from theworld.service.api.schemas import AskRequest
from theworld.service.api.serving import RequestContext, followed, service_of, streamed
from theworld.service.openai.conversation import Cited, cited, for_tenant, names, of_chat, of_responses
from theworld.service.openai.schemas import ERRORS, ChatRequest, ResponsesRequest, described
from theworld.service.openai.vectors import embedders

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"], responses=ERRORS, default_response_class=Response)
REVISED = "\n\n---\n\n"
"""Stands between a text that turned out not to be the answer and the answer."""


@router.get("/models", summary="Models", responses={200: described("ModelList", "data")})
async def models(caller: Naming) -> Response:
    """List what can be chatted with: the tenant's knowledge."""
    return bare_reply({"object": "list", "data": [_model(name) for name in names(caller)]})


@router.get("/models/{name:path}", summary="A model", responses={200: described("Model", "id")})
async def model(request: Request, name: str, caller: Naming) -> Response:
    """Tell of one model, embedders included."""
    if name not in embedders(service_of(request)):
        for_tenant(caller, name)
    return bare_reply(_model(name))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "theworld"}


@router.post(
    "/chat/completions",
    summary="Answer the last message of a conversation",
    responses={200: described("ChatCompletion", "id", "choices", "usage", stream="chat.completion.chunk")},
)
async def completions(request: Request, body: ChatRequest, caller: Naming) -> Response:
    """Answer with the tenant's knowledge; the conversation is the history."""
    return await _answered(_Completion, request, body, caller, of_chat(body))


@router.post(
    "/responses",
    summary="Answer a question or the last message of a conversation",
    responses={200: described("Response", "id", "output", "usage", stream="response.output_text.delta")},
)
async def responses(request: Request, body: ResponsesRequest, caller: Naming) -> Response:
    """Answer with the tenant's knowledge."""
    return await _answered(_Reply, request, body, caller, of_responses(body))


async def _answered(
    form: type[_Completion | _Reply], request: Request, body: Any, caller: Caller, asked: AskRequest
) -> Response:
    chosen = await asyncio.to_thread(for_tenant, caller, body.model, service_of(request).resources.store)
    current = RequestContext(request, chosen, "ask", "answer")
    made = form(current, body)
    if body.stream:
        return await streamed(current, made.pieces(asked))
    return bare_reply(made.whole(cited(current, await current.answered(asked))), current.request_id)


@dataclass(slots=True)
class Unfolding:
    """The text of a stream so far, and what has to be added to it."""

    text: str = ""
    begun: int = 0
    """Where in it the answer began that is under way."""
    revised: bool = False
    """True when what has been sent turned out not to be the answer."""

    def take(self, kind: str, value: str) -> str:
        """Return what an event `token` or `restart` adds."""
        if kind == "restart":
            self.revised = bool(self.text)
            return ""
        return self._add(value)

    def finish(self, answer: str) -> str:
        """Return what is left to send of the answer."""
        begun = self.text[self.begun :]
        if not self.revised and answer.startswith(begun):
            return self._add(answer[len(begun) :])
        self.revised = bool(self.text)
        return self._add(answer)

    def _add(self, value: str) -> str:
        piece = (REVISED if self.revised else "") + value
        if self.revised:
            self.begun, self.revised = len(self.text) + len(REVISED), False
        self.text += piece
        return piece

    def shifted(self, answer: Cited) -> list[dict[str, Any]]:
        """Return the annotations of an answer, by their offsets in all that was sent."""
        shift = len(self.text) - len(answer.text)
        return [one | {end: one[end] + shift for end in ("start_index", "end_index")} for one in answer.annotations]


async def _unfolding(current: RequestContext, asked: AskRequest, sent: Unfolding) -> AsyncGenerator[tuple[str, Any]]:
    """Yield ("text", more of it) as it comes, then ("end", Cited), or ("error", its body in OpenAI's form)."""
    async with aclosing(followed(current, asked)) as happened:
        async for kind, value in happened:
            if kind == "error":
                yield kind, error_body(value, current.trace_id, current.language, "/v1")[1]
            elif kind == "final":
                answer = cited(current, value)
                if left := sent.finish(answer.text):
                    yield "text", left
                yield "end", answer
            elif kind != "stage" and (text := sent.take(kind, value)):
                yield "text", text


@dataclass(slots=True)
class _Made:
    """An answer in a client's form, whole or in pieces."""

    current: RequestContext
    body: Any
    created: int = field(default_factory=lambda: int(time.time()))
    told: int = 0
    """Events so far."""


class _Completion(_Made):
    """One chat completion."""

    def envelope(self, kind: str, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        shared = {"id": f"chatcmpl-{self.current.request_id}", "object": kind, "created": self.created}
        return shared | {"model": self.body.model, "choices": choices} | more

    def whole(self, answer: Cited) -> dict[str, Any]:
        annotations = list(map(_nested, answer.annotations))
        message = {"role": "assistant", "content": answer.text, "refusal": None, "annotations": annotations}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        more = {"sources": answer.sources, "understood": answer.understood}
        return self.envelope("chat.completion", [choice], usage=_usage(answer), **more)

    async def pieces(self, asked: AskRequest) -> AsyncGenerator[bytes]:
        sent = Unfolding()
        yield self.chunk({"role": "assistant", "content": ""})
        async with aclosing(_unfolding(self.current, asked, sent)) as happened:
            async for kind, value in happened:
                if kind == "text":
                    yield self.chunk({"content": value})
                elif kind == "error":
                    yield b"data: " + value + b"\n\n"
                else:
                    delta = {"annotations": list(map(_nested, sent.shifted(value)))}
                    yield self.chunk(delta, "stop", sources=value.sources, understood=value.understood)
                    if self.body.stream_options is not None and self.body.stream_options.include_usage:
                        yield self.chunk(None, usage=_usage(value))
        yield b"data: [DONE]\n\n"

    def chunk(self, delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        body = self.envelope("chat.completion.chunk", [choice] if delta is not None else [], **more)
        return b"data: " + orjson.dumps(body) + b"\n\n"


def _nested(annotation: dict[str, Any]) -> dict[str, Any]:
    kind = str(annotation["type"])
    return {"type": kind, kind: {name: value for name, value in annotation.items() if name != "type"}}


def _usage(answer: Cited, sent: str = "prompt", received: str = "completion") -> dict[str, Any]:
    """Return the tokens, by what an endpoint calls those sent and received."""
    prompt, completion = answer.usage.prompt_tokens, answer.usage.completion_tokens
    return {f"{sent}_tokens": prompt, f"{received}_tokens": completion, "total_tokens": prompt + completion}


class _Reply(_Made):
    """One response."""

    def envelope(self, status: str, **more: Any) -> dict[str, Any]:
        return {
            "id": f"resp_{self.current.request_id}", "object": "response", "created_at": self.created,
            "status": status, "model": self.body.model, "output": [], "usage": None, "error": None,
            "incomplete_details": None, "instructions": self.body.instructions, "metadata": {},
            "parallel_tool_calls": False, "tool_choice": "none", "tools": [], "temperature": None, "top_p": None,
            "store": False,
        } | more  # fmt: skip

    def message(self, status: str, *content: dict[str, Any]) -> dict[str, Any]:
        named = {"id": f"msg_{self.current.request_id}", "type": "message", "role": "assistant"}
        return named | {"status": status, "content": list(content)}

    def whole(self, answer: Cited) -> dict[str, Any]:
        return self.completed(answer, _part(answer.text, answer.annotations))

    def completed(self, answer: Cited, part: dict[str, Any]) -> dict[str, Any]:
        usage = _usage(answer, "input", "output") | {
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        return self.envelope("completed", output=[self.message("completed", part)], usage=usage)

    async def pieces(self, asked: AskRequest) -> AsyncGenerator[bytes]:
        sent = Unfolding()
        place = {"item_id": f"msg_{self.current.request_id}", "output_index": 0, "content_index": 0}
        for name in ("created", "in_progress"):
            yield self.event(name, response=self.envelope("in_progress"))
        yield self.event("output_item.added", output_index=0, item=self.message("in_progress"))
        yield self.event("content_part.added", **place, part=_part("", []))
        async with aclosing(_unfolding(self.current, asked, sent)) as happened:
            async for kind, value in happened:
                if kind == "text":
                    yield self.event("output_text.delta", **place, delta=value, logprobs=[])
                elif kind == "error":
                    said = orjson.loads(value)["error"]
                    code = "rate_limit_exceeded" if said["type"] == "rate_limit_error" else "server_error"
                    error = {"code": code, "message": said["message"]}
                    yield self.event("failed", response=self.envelope("failed", error=error))
                else:
                    annotations = sent.shifted(value)
                    for number, annotation in enumerate(annotations):
                        added = {"annotation_index": number, "annotation": annotation}
                        yield self.event("output_text.annotation.added", **place, **added)
                    part = _part(sent.text, annotations)
                    yield self.event("output_text.done", **place, text=sent.text, logprobs=[])
                    yield self.event("content_part.done", **place, part=part)
                    yield self.event("output_item.done", output_index=0, item=self.message("completed", part))
                    yield self.event("completed", response=self.completed(value, part))

    def event(self, name: str, **data: Any) -> bytes:
        body = {"type": f"response.{name}", "sequence_number": self.told, **data}
        self.told += 1
        return format_sse_event(event=f"response.{name}", data_str=orjson.dumps(body).decode())


def _part(text: str, annotations: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}
