"""`/ask`: an answer as server-sent events, or as one reply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Body, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event
from starlette.types import Receive, Scope, Send

from theworld.service.api.access import Caller, caller_with
from theworld.service.api.envelope import Code, Envelope, envelope, language_of, reply
from theworld.service.api.errors import WITH_BODY, as_api_error, documented, error_body
from theworld.service.api.retrieval import search_data
from theworld.service.api.schemas import AskData, AskRequest
from theworld.service.api.serving import ClientGoneError, Conduct, moment
from theworld.service.requests.running import Run
from theworld.state import ModelUsage, ResolvedReference

router = APIRouter(prefix="/api/v1", tags=["answers"])
EVENTS = "text/event-stream"
_EVENT = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["stage", "token", "restart", "final", "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}
_STREAM = {
    "description": "With `stream: true`: events `stage` (a node's trace), `token` (text of a model as it comes), "
    "`restart` (the tokens so far were not the answer: forget them), then `final` with the envelope of the answer, or "
    "`error` with an envelope",
    "content": {EVENTS: {"itemSchema": _EVENT}},
}
_ERRORS = documented(*WITH_BODY, Code.TOO_MANY, Code.RETRIEVAL_UNAVAILABLE, Code.MODEL_UNAVAILABLE, Code.VECTOR_TIMEOUT)


@router.post("/ask", response_model=Envelope[AskData], summary="Answer a question", responses={200: _STREAM, **_ERRORS})
async def ask(
    request: Request, body: Annotated[AskRequest, Body()], caller: Annotated[Caller, caller_with("query")]
) -> Response:
    """Answer a question with citations, evidence paths and the trace of every step."""
    conduct = Conduct(request, caller, "ask", "answer")
    if not body.stream:
        async with conduct.place():
            run = await conduct.run(body.asked(), body.context(caller.tenant, moment()), choice=body.choice)
        return reply(request, ask_data(conduct, run), request_id=conduct.request_id)
    held = AsyncExitStack()
    await held.enter_async_context(conduct.place())  # before the first byte, so that too many get a plain 429
    headers = {"X-Request-Id": conduct.request_id, "X-Accel-Buffering": "no"}
    return _Events(_events(conduct, body), held, headers)


class _Events(StreamingResponse):
    """Gives the place back however the stream ends."""

    def __init__(self, events: AsyncIterator[bytes], held: AsyncExitStack, headers: dict[str, str]) -> None:
        super().__init__(events, headers=headers, media_type=EVENTS)
        self._held = held

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send the events."""
        async with self._held:
            # The place watches for the client's going; starlette's own watch would take its message away.
            await self.stream_response(send)


async def _events(conduct: Conduct, body: AskRequest) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[tuple[str, bytes] | None] = asyncio.Queue()

    def watch(kind: str, value: Any) -> None:
        data = value.model_dump_json().encode() if kind == "stage" else orjson.dumps({"text": value} if value else {})
        loop.call_soon_threadsafe(queue.put_nowait, (kind, data))

    async def answer() -> None:
        try:
            context = body.context(conduct.caller.tenant, moment())
            run = await conduct.run(body.asked(), context, choice=body.choice, watch=watch)
            final = "final", envelope(conduct.request.state.trace_id, ask_data(conduct, run))
        except ClientGoneError:
            final = None
        except Exception as error:
            final = "error", _error(conduct, error)
        queue.put_nowait(final)
        if final is not None:
            queue.put_nowait(None)

    task = asyncio.ensure_future(answer())
    try:
        while (event := await queue.get()) is not None:
            kind, data = event
            yield format_sse_event(event=kind, data_str=data.decode())
    finally:
        conduct.gone.set()
        await asyncio.wait([task])


def _error(conduct: Conduct, error: Exception) -> bytes:
    known = as_api_error(error)
    if known.code is Code.INTERNAL:
        conduct.log_unexpected(error)
    language = language_of(conduct.request.headers.get("accept-language", ""))
    return error_body(known, conduct.request.state.trace_id, language)


def ask_data(conduct: Conduct, run: Run) -> AskData:
    """Return a run's answer as a reply's data."""
    state, asked_back = run.state, run.clarification
    result = state.get("result")
    found = search_data(conduct, run)
    return AskData.model_construct(
        **{name: getattr(found, name) for name in type(found).model_fields},
        question=state["question"],
        answer=str(asked_back["question"]) if asked_back is not None else result.text if result is not None else "",
        kind="clarify" if asked_back is not None else result.kind if result is not None else "none",
        confidence=result.confidence if result is not None else 0.0,
        citations=list(result.citations) if result is not None else [],
        result=result,
        reference=state.get("reference") or ResolvedReference(),
        parts=state.get("parts") or [],
        judgements=state.get("judgements") or [],
        usage=state.get("usage") or ModelUsage(),
        clarification=dict(asked_back) if asked_back is not None else None,
    )
