"""`/v1/models` and `/v1/chat/completions`.

A stream tells a model's text as it comes; without one the graph's answer is one piece. Where the model's text turns out
not to be the answer, which a stream cannot take back, a rule is drawn below it and the answer follows. The last piece
holds the annotations, and `sources` for Open WebUI.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from theworld.service.api.access import Visiting
from theworld.service.api.envelope import bare_reply
from theworld.service.api.errors import error_body
from theworld.service.api.passages import base_url
from theworld.service.api.schemas import AskRequest
from theworld.service.api.serving import RequestContext, followed, service_of, streamed
from theworld.service.openai.conversation import Cited, Mark, cited, for_tenant, names, of_chat
from theworld.service.openai.schemas import ERRORS, ChatRequest, described
from theworld.service.openai.vectors import embedders
from theworld.state import ModelUsage

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"], responses=ERRORS)
REVISED = "\n\n---\n\n"
"""Stands between a text that turned out not to be the answer and the answer."""
_DONE = b"data: [DONE]\n\n"


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
    current = RequestContext(request, for_tenant(caller, body.model), "ask", "answer")
    chat = _Chat(current, body, base_url(current.service.settings.service, request))
    if body.stream:
        return await streamed(current, chat.chunks(asked))
    run = await current.answered(asked)
    return bare_reply(chat.whole(cited(current, run, chat.base)), current.request_id)


def usage_of(usage: ModelUsage) -> dict[str, int]:
    """Return what a language model used; zeros where none was asked."""
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


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


@dataclass(slots=True)
class _Chat:
    """One completion, whole or in chunks."""

    current: RequestContext
    body: ChatRequest
    base: str
    created: int = field(default_factory=lambda: int(time.time()))

    def envelope(self, kind: str, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        shared = {"id": f"chatcmpl-{self.current.request_id}", "object": kind, "created": self.created}
        return shared | {"model": self.body.model, "choices": choices} | more

    def whole(self, answer: Cited) -> dict[str, Any]:
        annotations = [_nested(mark.annotation()) for mark in answer.marks]
        message = {"role": "assistant", "content": answer.text, "refusal": None, "annotations": annotations}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return self.envelope("chat.completion", [choice], usage=usage_of(answer.usage), sources=list(answer.sources))

    async def chunks(self, asked: AskRequest) -> AsyncGenerator[bytes]:
        sent = Unfolding()
        yield self.chunk({"role": "assistant", "content": ""})
        async with aclosing(followed(self.current, asked)) as happened:
            async for kind, value in happened:
                if kind == "error":
                    told = error_body(value, self.current.trace_id, self.current.language, "/v1")[1]
                    yield b"data: " + told + b"\n\n"
                elif kind == "final":
                    for piece in self.ending(cited(self.current, value, self.base), sent):
                        yield piece
                elif kind != "stage" and (text := sent.take(kind, value)):
                    yield self.chunk({"content": text})
        yield _DONE

    def ending(self, answer: Cited, sent: Unfolding) -> list[bytes]:
        pieces = [self.chunk({"content": left})] if (left := sent.finish(answer.text)) else []
        annotations = [_nested(one) for one in sent.shifted(answer.text, answer.marks)]
        if annotations:
            pieces.append(self.chunk({"annotations": annotations}, sources=list(answer.sources)))
        pieces.append(self.chunk({}, finish="stop"))
        if self.body.stream_options is not None and self.body.stream_options.include_usage:
            pieces.append(_event(self.envelope("chat.completion.chunk", [], usage=usage_of(answer.usage))))
        return pieces

    def chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _event(self.envelope("chat.completion.chunk", [choice], **more))


def _event(body: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(body) + b"\n\n"


def _nested(annotation: dict[str, Any]) -> dict[str, Any]:
    kind = str(annotation.pop("type"))
    return {"type": kind, kind: annotation}
