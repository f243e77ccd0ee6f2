"""A language model behind any OpenAI-compatible endpoint (OpenAI, vLLM, Ollama, llama.cpp, ...)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from theworld.deadline import Deadline
from theworld.errors import ModelError
from theworld.models.endpoint import RETRIES, BoundedResponse, BrokenReplyError, Endpoint, per_attempt, read_reply
from theworld.models.onnx_encoder import encodable
from theworld.models.protocols import ChatMessage, Completion
from theworld.settings import ModelSettings
from theworld.state import ModelUsage
from theworld.text import begun_pair, cjk_share, well_formed

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
"""One line a call: model, calls with retries, tokens, cost, milliseconds, outcome. Never a text or a key."""
_Count = Annotated[int, Field(ge=0, le=10**9)]


class _Usage(BaseModel):
    prompt_tokens: _Count = 0
    completion_tokens: _Count = 0


class _Text(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Text
    finish_reason: str | None = None


class _Reply(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: Any = None


@dataclass
class _Heard:
    """What came of one answer so far."""

    text: str = ""
    finish: str | None = None
    usage: _Usage | None = None
    half: str = ""
    """The first half of a character that servers may cut in two; the next piece brings the other."""
    calls: int = 0
    """Calls up to this answer; 0 until the server has begun it: from then on it counts tokens."""
    since: float = field(default_factory=time.perf_counter)
    """When the first call began."""

    def add(self, event: Any) -> str:
        """Take in one event of a stream and return its piece of text."""
        if (usage := getattr(event, "usage", None)) is not None:
            self.usage = _usage(usage)
        if not getattr(event, "choices", None):
            return ""
        choice = event.choices[0]
        came = self.half + (getattr(choice.delta, "content", None) or "")
        self.half = begun_pair(came)
        piece = well_formed(came.removesuffix(self.half))
        self.text += piece
        self.finish = choice.finish_reason or self.finish
        return piece


class OpenAIChatModel:
    """Chat completions, whole or streamed. Thread-safe; the client is made on first use.

    A server that refuses an optional parameter (`stream_options`, `temperature`, `max_tokens`) is asked again
    without it, or under its new name, and that is remembered.
    """

    def __init__(self, settings: ModelSettings, *, retries: int = RETRIES) -> None:
        self._settings, self.name = settings, settings.name or ""
        """Model name, as it is reported."""
        self._endpoint = Endpoint(settings.base_url, settings.api_key, timeout_s=settings.timeout_s, retries=retries)
        self._refused: frozenset[str] = frozenset()

    def warm(self) -> None:
        """Load what a call needs, so that the first one does not spend its time limit on it."""
        self._endpoint.warm()

    def complete(self, messages: Sequence[ChatMessage], *, timeout_s: float | None = None) -> Completion:
        """Return one answer; ModelError when there is none within the limit over all retries."""
        deadline, heard = self._deadline(timeout_s), _Heard()
        try:
            reply, heard.calls = self._call(partial(self._ask, messages), deadline)
            choice, heard.usage = reply.choices[0], _usage(reply.usage)
            heard.text, heard.finish = choice.message.content or "", choice.finish_reason
            return self._completion(messages, heard, deadline)
        except ModelError as error:
            error.usage = self._logged(messages, heard, error)
            raise

    def stream(self, messages: Sequence[ChatMessage], *, timeout_s: float | None = None) -> Iterator[str | Completion]:
        """Yield pieces of text, then one Completion; ModelError when it breaks off (retries end with the opening)."""
        deadline, heard = self._deadline(timeout_s), _Heard()
        try:
            events, heard.calls = self._call(partial(self._open, messages), deadline)
            try:
                for event in events:
                    deadline.check()
                    if piece := heard.add(event):
                        yield piece
                if heard.finish is None:
                    raise BrokenReplyError("the stream ended before the answer was complete")
            except Exception as error:
                raise self._endpoint.failure(error, deadline, calls=heard.calls) from error
            finally:
                events.close()
            completion = self._completion(messages, heard, deadline)
        except ModelError as error:
            error.usage = self._logged(messages, heard, error)
            raise
        yield completion

    def _deadline(self, timeout_s: float | None) -> Deadline:
        """Return the end of one call: the caller's limit, but never more than the settings allow."""
        allowed = self._settings.timeout_s
        return Deadline.after(1000 * (allowed if timeout_s is None else min(timeout_s, allowed)))

    def _call(self, request: Callable[[frozenset[str], Any, Deadline], T], deadline: Deadline) -> tuple[T, int]:
        """Return the result of a request, without the parameters the server refuses, and the calls it took."""
        calls, refused = 0, self._refused
        while True:
            try:
                result, attempts = self._endpoint.call(partial(request, refused), deadline)
            except ModelError as error:
                calls += error.calls
                reply = error.__cause__
                refuses = getattr(reply, "status_code", None) in {400, 422}
                named = f"{getattr(reply, 'param', None)} {reply}" if refuses else ""
                parameter = next((one for one in ("stream_options", "max_tokens", "temperature") if one in named), None)
                if parameter is None or parameter in refused:
                    error.calls = calls
                    raise
                refused |= {parameter}
            else:
                self._refused |= refused  # not before: what still fails was refused for another reason
                return result, calls + attempts

    def _ask(self, messages: Sequence[ChatMessage], refused: frozenset[str], client: Any, deadline: Deadline) -> _Reply:
        create = client.chat.completions.with_streaming_response.create
        with create(**self._request(messages, refused), timeout=per_attempt(deadline)) as response:
            return read_reply(response, _Reply, deadline)

    def _open(self, messages: Sequence[ChatMessage], refused: frozenset[str], client: Any, deadline: Deadline) -> Any:
        options = {} if "stream_options" in refused else {"stream_options": {"include_usage": True}}
        request = self._request(messages, refused) | options
        events = client.chat.completions.create(**request, stream=True, timeout=per_attempt(deadline))
        events.response = BoundedResponse(events.response, deadline)
        return events

    def _request(self, messages: Sequence[ChatMessage], refused: frozenset[str]) -> dict[str, Any]:
        limit = "max_completion_tokens" if "max_tokens" in refused else "max_tokens"
        request: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": message.role, "content": encodable(message.content)} for message in messages],
            limit: self._settings.max_tokens,
        }
        if "temperature" not in refused:
            request["temperature"] = 0  # the same question is to be answered in the same way
        return request

    def _completion(self, messages: Sequence[ChatMessage], heard: _Heard, deadline: Deadline) -> Completion:
        if not heard.text.strip():
            error = BrokenReplyError(
                f"the model said nothing (finish_reason {heard.finish}; model.max_tokens too low?)"
            )
            raise self._endpoint.failure(error, deadline, calls=heard.calls)
        return Completion(heard.text, self._logged(messages, heard), truncated=heard.finish == "length")

    def _used(self, messages: Sequence[ChatMessage], heard: _Heard) -> ModelUsage:
        """Return the tokens, estimated where the server does not count, and their cost where the model has a price."""
        counted = heard.usage or _Usage()
        estimated = not (counted.prompt_tokens or counted.completion_tokens)
        if estimated:
            prompt = sum(estimated_tokens(message.content) for message in messages)
            counted = _Usage(prompt_tokens=prompt, completion_tokens=estimated_tokens(heard.text))
        usage = ModelUsage(calls=heard.calls, estimated=estimated, **counted.model_dump())
        price = self._settings.prices.get(self.name)
        if price is None:
            return usage.model_copy(update={"unpriced_calls": 1})
        cost = (usage.prompt_tokens * price.input + usage.completion_tokens * price.output) / 1_000_000
        return usage.model_copy(update={"cost": {price.currency: cost}})

    def _logged(self, messages: Sequence[ChatMessage], heard: _Heard, failure: ModelError | None = None) -> ModelUsage:
        """Return what the calls consumed, logged: after a failure before the answer was begun the calls alone."""
        unheard = ModelUsage(calls=failure.calls) if failure is not None and not heard.calls else None
        usage = unheard or self._used(messages, heard)
        cost = ", ".join(f"{currency} {amount:.6f}" for currency, amount in usage.cost.items()) or "unknown"
        counts = f"calls={usage.calls} prompt_tokens={usage.prompt_tokens} completion_tokens={usage.completion_tokens}"
        spent = f"estimated={usage.estimated} cost={cost} ms={(time.perf_counter() - heard.since) * 1000:.0f}"
        outcome = "answered" if failure is None else f"failed: {failure}"
        level = logging.INFO if failure is None else logging.WARNING
        _LOG.log(level, "model=%s %s %s outcome=%s", self.name, counts, spent, outcome)
        return usage


def _usage(reported: Any) -> _Usage | None:
    """Return what a server says it used; None when it says nothing usable, which costs no answer."""
    try:
        return None if reported is None else _Usage.model_validate(reported, from_attributes=True)
    except ValidationError:
        return None


def estimated_tokens(text: str) -> int:
    """Return a rough token count: one per CJK character, one per four others."""
    cjk = round(cjk_share(text) * len("".join(text.split())))
    return cjk + -(-(len(text) - cjk) // 4)
