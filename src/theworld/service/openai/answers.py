"""`/v1/models`, `/v1/chat/completions` and `/v1/responses`: the graph's answer with annotations, whole or streamed.

A stream tells a model's text as it comes; without one the graph's answer is one piece. Where the model's text turns out
not to be the answer, which a stream cannot take back, a rule is drawn below it and the answer follows.

Of a chat the last piece holds the annotations, and `sources` for Open WebUI. A response tells `response.created`,
`.in_progress`, `.output_item.added`, `.content_part.added`, `.output_text.delta` as the text comes,
`.output_text.annotation.added` for each citation, the `.done` of each, and `response.completed`; or `response.failed`.
Nothing of it is kept, so a conversation is sent whole every time.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.sse import format_sse_event

from theworld.service.api.access import Caller, Visiting
from theworld.service.api.envelope import bare_reply
from theworld.service.api.errors import ApiError, error_body
from theworld.service.api.passages import base_url
from theworld.service.api.schemas import AskRequest
from theworld.service.api.serving import RequestContext, followed, service_of, streamed
from theworld.service.openai.conversation import Cited, Mark, cited, for_tenant, names, of_chat, of_responses
from theworld.service.openai.schemas import ERRORS, ChatRequest, ResponsesRequest, described
from theworld.service.openai.vectors import embedders

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"], responses=ERRORS)
REVISED = "\n\n---\n\n"
"""Stands between a text that turned out not to be the answer and the answer."""


@router.get("/models", summary="Models", response_class=Response, responses={200: described("ModelList", "data")})
async def models(caller: Visiting) -> Response:
    """List what can be chatted with: the tenant's knowledge."""
    return bare_reply({"object": "list", "data": [_model(name) for name in names(caller)]})


@router.get(
    "/models/{name:path}", summary="A model", response_class=Response, responses={200: described("Model", "id")}
)
async def model(request: Request, name: str, caller: Visiting) -> Response:
    """Tell of one model, embedders included."""
    if name not in embedders(service_of(request)):
        for_tenant(caller, name)
    return bare_reply(_model(name))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "theworld"}


@router.post(
    "/chat/completions",
    summary="Answer the last message of a conversation",
    response_class=Response,
    responses={200: described("ChatCompletion", "id", "choices", "usage", stream="chat.completion.chunk")},
)
async def completions(request: Request, body: ChatRequest, caller: Visiting) -> Response:
    """Answer with the tenant's knowledge; the conversation is the history."""
    asked = of_chat(body)
    return await _Completion(request, body, caller).answer(asked)


@router.post(
    "/responses",
    summary="Answer a question or the last message of a conversation",
    response_class=Response,
    responses={200: described("Response", "id", "output", "usage", stream="response.output_text.delta")},
)
async def responses(request: Request, body: ResponsesRequest, caller: Visiting) -> Response:
    """Answer with the tenant's knowledge."""
    asked = of_responses(body)
    return await _ModelResponse(request, body, caller).answer(asked)


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

    def shifted(self, answer: str, marks: tuple[Mark, ...]) -> list[dict[str, Any]]:
        """Return the annotations of an answer, by their offsets in all that was sent."""
        shift = len(self.text) - len(answer)
        return [one.annotation() | {"start_index": one.start + shift, "end_index": one.end + shift} for one in marks]


class _Reply(ABC):
    """One answer in a client's form, whole or as the events of a stream."""

    end = b""
    """What a stream ends with, whatever happened."""

    def __init__(self, request: Request, body: ChatRequest | ResponsesRequest, caller: Caller) -> None:
        self.current = RequestContext(request, for_tenant(caller, body.model), "ask", "answer")
        self.base = base_url(self.current.service.settings.service, request)
        self.stream, self.model = body.stream, body.model
        self.created, self.sent = int(time.time()), Unfolding()

    async def answer(self, asked: AskRequest) -> Response:
        if self.stream:
            return await streamed(self.current, self.events(asked))
        answer = cited(self.current, await self.current.answered(asked), self.base)
        return bare_reply(self.whole(answer), self.current.request_id)

    async def events(self, asked: AskRequest) -> AsyncGenerator[bytes]:
        for piece in self.beginning():
            yield piece
        async with aclosing(followed(self.current, asked)) as happened:
            async for kind, value in happened:
                if kind == "error":
                    yield self.failed(value)
                elif kind == "final":
                    answer = cited(self.current, value, self.base)
                    if left := self.sent.finish(answer.text):
                        yield self.delta(left)
                    for piece in self.ending(answer, self.sent.shifted(answer.text, answer.marks)):
                        yield piece
                elif kind != "stage" and (text := self.sent.take(kind, value)):
                    yield self.delta(text)
        if self.end:
            yield self.end

    def told(self, error: ApiError) -> bytes:
        """Return an error as OpenAI's clients have it."""
        return error_body(error, self.current.trace_id, self.current.language, "/v1")[1]

    @abstractmethod
    def whole(self, answer: Cited) -> dict[str, Any]: ...

    @abstractmethod
    def beginning(self) -> Iterator[bytes]: ...

    @abstractmethod
    def delta(self, text: str) -> bytes: ...

    @abstractmethod
    def ending(self, answer: Cited, annotations: list[dict[str, Any]]) -> Iterator[bytes]: ...

    @abstractmethod
    def failed(self, error: ApiError) -> bytes: ...


class _Completion(_Reply):
    """One chat completion."""

    end = b"data: [DONE]\n\n"

    def __init__(self, request: Request, body: ChatRequest, caller: Caller) -> None:
        super().__init__(request, body, caller)
        self.with_usage = body.stream_options is not None and body.stream_options.include_usage

    def envelope(self, kind: str, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        shared = {"id": f"chatcmpl-{self.current.request_id}", "object": kind, "created": self.created}
        return shared | {"model": self.model, "choices": choices} | more

    def whole(self, answer: Cited) -> dict[str, Any]:
        annotations = [_nested(mark.annotation()) for mark in answer.marks]
        message = {"role": "assistant", "content": answer.text, "refusal": None, "annotations": annotations}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return self.envelope("chat.completion", [choice], usage=_tokens(answer), sources=list(answer.sources))

    def beginning(self) -> Iterator[bytes]:
        yield self.chunk({"role": "assistant", "content": ""})

    def delta(self, text: str) -> bytes:
        return self.chunk({"content": text})

    def ending(self, answer: Cited, annotations: list[dict[str, Any]]) -> Iterator[bytes]:
        if annotations:
            yield self.chunk({"annotations": list(map(_nested, annotations))}, sources=list(answer.sources))
        yield self.chunk({}, finish="stop")
        if self.with_usage:
            yield _data(orjson.dumps(self.envelope("chat.completion.chunk", [], usage=_tokens(answer))))

    def failed(self, error: ApiError) -> bytes:
        return _data(self.told(error))

    def chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _data(orjson.dumps(self.envelope("chat.completion.chunk", [choice], **more)))


def _data(body: bytes) -> bytes:
    return b"data: " + body + b"\n\n"


def _nested(annotation: dict[str, Any]) -> dict[str, Any]:
    kind = str(annotation.pop("type"))
    return {"type": kind, kind: annotation}


def _tokens(answer: Cited) -> dict[str, int]:
    """Return what a language model used; zeros where none was asked."""
    prompt, completion = answer.usage.prompt_tokens, answer.usage.completion_tokens
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


class _ModelResponse(_Reply):
    """One response."""

    def __init__(self, request: Request, body: ResponsesRequest, caller: Caller) -> None:
        super().__init__(request, body, caller)
        self.instructions, self.number = body.instructions, 0
        self.id = f"msg_{self.current.request_id}"
        self.place = {"item_id": self.id, "output_index": 0, "content_index": 0}

    def envelope(self, status: str, **more: Any) -> dict[str, Any]:
        return {
            "id": f"resp_{self.current.request_id}", "object": "response", "created_at": self.created,
            "status": status, "model": self.model, "output": [], "usage": None, "error": None,
            "incomplete_details": None, "instructions": self.instructions, "metadata": {},
            "parallel_tool_calls": False, "tool_choice": "none", "tools": [], "temperature": None, "top_p": None,
            "store": False,
        } | more  # fmt: skip

    def completed(self, answer: Cited, text: str, annotations: list[dict[str, Any]]) -> dict[str, Any]:
        usage, output = _tokens(answer), [self.message("completed", [_part(text, annotations)])]
        told = {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage["total_tokens"],
        }
        return self.envelope("completed", output=output, usage=told)

    def whole(self, answer: Cited) -> dict[str, Any]:
        return self.completed(answer, answer.text, [mark.annotation() for mark in answer.marks])

    def message(self, status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
        return {"id": self.id, "type": "message", "role": "assistant", "status": status, "content": content}

    def beginning(self) -> Iterator[bytes]:
        for name in ("response.created", "response.in_progress"):
            yield self.event(name, response=self.envelope("in_progress"))
        yield self.event("response.output_item.added", output_index=0, item=self.message("in_progress", []))
        yield self.event("response.content_part.added", **self.place, part=_part("", []))

    def delta(self, text: str) -> bytes:
        return self.event("response.output_text.delta", **self.place, delta=text, logprobs=[])

    def ending(self, answer: Cited, annotations: list[dict[str, Any]]) -> Iterator[bytes]:
        for place, annotation in enumerate(annotations):
            added = {"annotation_index": place, "annotation": annotation}
            yield self.event("response.output_text.annotation.added", **self.place, **added)
        text, part = self.sent.text, _part(self.sent.text, annotations)
        yield self.event("response.output_text.done", **self.place, text=text, logprobs=[])
        yield self.event("response.content_part.done", **self.place, part=part)
        yield self.event("response.output_item.done", output_index=0, item=self.message("completed", [part]))
        yield self.event("response.completed", response=self.completed(answer, text, annotations))

    def failed(self, error: ApiError) -> bytes:
        said = orjson.loads(self.told(error))["error"]
        code = "rate_limit_exceeded" if said["type"] == "rate_limit_error" else "server_error"
        failed = self.envelope("failed", error={"code": code, "message": said["message"]})
        return self.event("response.failed", response=failed)

    def event(self, name: str, **data: Any) -> bytes:
        body = {"type": name, "sequence_number": self.number, **data}
        self.number += 1
        return format_sse_event(event=name, data_str=orjson.dumps(body).decode())


def _part(text: str, annotations: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}
