"""`/v1/responses`: the answer as text with annotations, whole or as the events of OpenAI's stream.

Nothing of a response is kept, so a conversation is sent whole every time. A stream tells: `response.created`,
`.in_progress`, `.output_item.added`, `.content_part.added`, `.output_text.delta` as the text comes,
`.output_text.annotation.added` for each citation, the `.done` of each, and `response.completed`; or `response.failed`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.sse import format_sse_event

from theworld.service.api.access import Visiting
from theworld.service.api.envelope import bare_reply
from theworld.service.api.errors import ApiError, error_body
from theworld.service.api.passages import base_url
from theworld.service.api.schemas import AskRequest
from theworld.service.api.serving import RequestContext, followed, streamed
from theworld.service.openai.chat import Unfolding
from theworld.service.openai.conversation import Cited, cited, for_tenant, of_responses
from theworld.service.openai.schemas import ERRORS, ResponsesRequest, described
from theworld.state import ModelUsage

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"], responses=ERRORS)
_PLACE = {"output_index": 0, "content_index": 0}


@router.post(
    "/responses",
    summary="Answer a question or the last message of a conversation",
    response_class=Response,
    responses={200: described("Response", "id", "output", "usage", stream="response.output_text.delta")},
)
async def responses(request: Request, body: ResponsesRequest, caller: Visiting) -> Response:
    """Answer with the tenant's knowledge."""
    asked = of_responses(body)
    current = RequestContext(request, for_tenant(caller, body.model), "ask", "answer")
    reply = _Reply(current, body, base_url(current.service.settings.service, request))
    if body.stream:
        return await streamed(current, reply.events(asked))
    answer = cited(current, await current.answered(asked), reply.base)
    annotations = [mark.annotation() for mark in answer.marks]
    return bare_reply(reply.whole("completed", answer.text, annotations, answer.usage), current.request_id)


@dataclass(slots=True)
class _Reply:
    """One response, whole or as events."""

    current: RequestContext
    body: ResponsesRequest
    base: str
    created: int = field(default_factory=lambda: int(time.time()))
    told: int = 0
    """Events so far."""

    def whole(
        self,
        status: str,
        text: str = "",
        annotations: list[dict[str, Any]] | None = None,
        usage: ModelUsage | None = None,
        error: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        done = status == "completed"
        return {
            "id": f"resp_{self.current.request_id}", "object": "response", "created_at": self.created,
            "status": status, "model": self.body.model,
            "output": [self.message(status, [_part(text, annotations or [])])] if done else [],
            "usage": _usage(usage) if usage is not None else None, "error": error, "incomplete_details": None,
            "instructions": self.body.instructions, "metadata": {}, "parallel_tool_calls": False,
            "tool_choice": "none", "tools": [], "temperature": None, "top_p": None, "store": False,
        }  # fmt: skip

    def message(self, status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
        named = {"id": f"msg_{self.current.request_id}", "type": "message", "role": "assistant"}
        return named | {"status": status, "content": content}

    async def events(self, asked: AskRequest) -> AsyncGenerator[bytes]:
        sent = Unfolding()
        for name in ("response.created", "response.in_progress"):
            yield self.event(name, response=self.whole("in_progress"))
        yield self.event("response.output_item.added", output_index=0, item=self.message("in_progress", []))
        yield self.event("response.content_part.added", **self.place, part=_part("", []))
        async with aclosing(followed(self.current, asked)) as happened:
            async for kind, value in happened:
                if kind == "error":
                    yield self.failed(value)
                elif kind == "final":
                    for piece in self.ending(cited(self.current, value, self.base), sent):
                        yield piece
                elif kind != "stage" and (text := sent.take(kind, value)):
                    yield self.delta(text)

    def ending(self, answer: Cited, sent: Unfolding) -> Iterator[bytes]:
        if left := sent.finish(answer.text):
            yield self.delta(left)
        annotations = sent.shifted(answer.text, answer.marks)
        for place, annotation in enumerate(annotations):
            added = {"annotation_index": place, "annotation": annotation}
            yield self.event("response.output_text.annotation.added", **self.place, **added)
        part = _part(sent.text, annotations)
        yield self.event("response.output_text.done", **self.place, text=sent.text, logprobs=[])
        yield self.event("response.content_part.done", **self.place, part=part)
        yield self.event("response.output_item.done", output_index=0, item=self.message("completed", [part]))
        yield self.event("response.completed", response=self.whole("completed", sent.text, annotations, answer.usage))

    def delta(self, text: str) -> bytes:
        return self.event("response.output_text.delta", **self.place, delta=text, logprobs=[])

    def failed(self, error: ApiError) -> bytes:
        body = error_body(error, self.current.trace_id, self.current.language, "/v1")[1]
        said = orjson.loads(body)["error"]
        known = {"code": "rate_limit_exceeded" if said["type"] == "rate_limit_error" else "server_error"}
        return self.event("response.failed", response=self.whole("failed", error=known | {"message": said["message"]}))

    @property
    def place(self) -> dict[str, Any]:
        return {"item_id": f"msg_{self.current.request_id}", **_PLACE}

    def event(self, name: str, **data: Any) -> bytes:
        body = {"type": name, "sequence_number": self.told, **data}
        self.told += 1
        return format_sse_event(event=name, data_str=orjson.dumps(body).decode())


def _part(text: str, annotations: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


def _usage(usage: ModelUsage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
