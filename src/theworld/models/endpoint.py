"""A server's reply, read within one time limit and in bounded memory, whole or as it comes.

One OpenAI-compatible endpoint: its client, retries within one time limit, and failures as ModelError."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr, ValidationError
from tenacity import Retrying, retry_if_exception, wait_random_exponential

from theworld.deadline import Deadline, DeadlineExceededError, seconds_to_wait
from theworld.errors import ModelError
from theworld.packages import import_package
from theworld.single_flight import Lazy

Reply = TypeVar("Reply", bound=BaseModel)

MOST_BYTES = 64 * 2**20
"""Longest reply read: a thousand vectors of four thousand numbers in text are less."""
_EXCERPT = 300


class BrokenReplyError(Exception):
    """The endpoint answered, but not with what its protocol says."""


class BoundedResponse:
    """An HTTP response whose body ends with the deadline, and at `MOST_BYTES`.

    A server that sends a byte now and then, or only comments to keep the line open, cannot stretch the limit: the
    time is looked at after every chunk.
    """

    def __init__(self, response: Any, deadline: Deadline) -> None:
        self._response, self._deadline = response, deadline

    def __getattr__(self, name: str) -> Any:
        return getattr(self._response, name)

    def iter_bytes(self) -> Iterator[bytes]:
        """Yield the body; DeadlineExceededError or BrokenReplyError when it is too slow or too long."""
        size = 0
        for chunk in self._response.iter_bytes():
            size += len(chunk)
            if size > MOST_BYTES:
                raise BrokenReplyError(f"the reply is longer than {MOST_BYTES // 2**20} MB")
            self._deadline.check()
            yield chunk


def read_reply(response: Any, model: type[Reply], deadline: Deadline) -> Reply:
    """Read a raw response within the limit and validate it."""
    body = b"".join(BoundedResponse(response, deadline).iter_bytes())
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        kind = response.headers.get("content-type", "no content type")
        excerpt = body[:_EXCERPT].decode("utf-8", "replace")
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BrokenReplyError(f"unusable reply ({kind}): {where}: {first['msg']}: {excerpt!r}") from error


T = TypeVar("T")

DEFAULT_URL = "https://api.openai.com/v1"
_TRANSIENT_STATUS = {408, 409, 429}
_TRANSPORTS = {"httpx", "httpx2", "httpcore", "httpcore2"}
_CONNECT_S = 5.0
_SHORTEST_KEY = 6
_PASSWORD = re.compile(r"//[^/@]*@")
RETRIES = 2
"""What is left out after three attempts is not passing trouble, and the caller is waiting."""
_BACKOFF = wait_random_exponential(multiplier=0.5, max=8.0)


class Endpoint:
    """Makes calls; retries 408, 409, 429, 5xx and broken connections with jitter, honouring Retry-After.

    `base_url` and `api_key` default to OPENAI_BASE_URL and OPENAI_API_KEY; an empty key is sent to nobody. A server
    other than OpenAI's own may do without a key. The key never appears in a message.
    """

    def __init__(
        self, base_url: str | None, api_key: SecretStr | None, *, timeout_s: float, retries: int = RETRIES
    ) -> None:
        self.url = (base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL).rstrip("/")
        self._where = f"model endpoint {_PASSWORD.sub('//', self.url)}"
        self.timeout_s = timeout_s
        key = os.environ.get("OPENAI_API_KEY", "") if api_key is None else api_key.get_secret_value()
        self._key = key.strip()  # one read from a file ends with a line break, which no header may hold
        self._retries = retries
        self._client = Lazy(self._make_client)

    def call(self, request: Callable[[Any, Deadline], T], deadline: Deadline) -> tuple[T, int]:
        """Return what `request(client, deadline)` returns and the attempts it took; ModelError when all failed."""
        client = self._client.get()
        retrying = Retrying(
            stop=lambda state: (
                state.attempt_number > self._retries or state.upcoming_sleep * 1000 >= deadline.remaining_ms()
            ),
            wait=lambda state: max(_BACKOFF(state), retry_after(state.outcome.exception() if state.outcome else None)),
            retry=retry_if_exception(is_transient),
            reraise=True,
        )
        try:
            deadline.check()
            result = retrying(request, client, deadline)
        except Exception as error:
            raise self.failure(error, deadline, calls=retrying.statistics.get("attempt_number", 0)) from error
        return result, retrying.statistics["attempt_number"]

    def warm(self) -> None:
        """Make the client now: its package takes a second to load, which the first call's time limit need not bear."""
        with suppress(ModelError):  # a call will say what is missing
            _ = self._client.get().chat.completions

    def failure(self, error: Exception, deadline: Deadline, *, calls: int) -> ModelError:
        """Return the ModelError that says what went wrong at this endpoint, after how many calls."""
        import openai

        what = str(error) or type(error).__name__
        if isinstance(error, DeadlineExceededError | openai.APITimeoutError) or "Timeout" in type(error).__name__:
            what = f"no complete answer within {deadline.budget_ms / 1000:g} s"
        elif isinstance(error, openai.APIStatusError):
            message = error.body.get("message") if isinstance(error.body, dict) else error.body
            what = f"HTTP {error.status_code}: {' '.join(str(message or error.message).split())[:_EXCERPT]}"
        elif _is_connection_error(error):
            what = f"connection failed: {error.__cause__ or error}"
        status = getattr(error, "status_code", None)
        remedy = "Check model.base_url (OPENAI_BASE_URL) and model.timeout_s."
        if status in {401, 403}:
            remedy = "Check model.api_key (OPENAI_API_KEY)."
        elif status == 404:
            remedy = "Check model.name and model.base_url (OPENAI_BASE_URL); most servers want /v1 at its end."
        elif isinstance(status, int) and (status == 429 or status >= 500):
            wait = retry_after(error)
            remedy = f"The server asks to wait {wait:.0f} s." if wait else "Try again later."
        failure = ModelError(self._masked(f"{what} (calls made: {calls})"), where=self._where, remedy=remedy)
        failure.calls = calls
        return failure

    def _masked(self, text: str) -> str:
        return text.replace(self._key, "***") if len(self._key) >= _SHORTEST_KEY else text

    def _make_client(self) -> Any:
        if not self._key and self.url == DEFAULT_URL:
            raise ModelError(
                "no API key for api.openai.com",
                where="model.api_key",
                remedy="Set OPENAI_API_KEY, or model.base_url for a server of your own.",
            )
        try:
            address = urlsplit(self.url)
            usable = address.scheme in {"http", "https"} and bool(address.hostname) and address.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise ModelError(
                "this is no web address",
                where=self._where,
                remedy="Set model.base_url (OPENAI_BASE_URL) to one that begins with http:// or https://.",
            )
        if not (self._key.isascii() and self._key.isprintable()):
            raise ModelError(
                "the API key holds characters that no HTTP header can carry",
                where=self._where,
                remedy="Check model.api_key (OPENAI_API_KEY): it is ASCII without control characters.",
            )
        openai = import_package("openai", "openai")
        try:
            client = openai.OpenAI(base_url=self.url, api_key=self._key or "none", max_retries=0)
        except Exception as error:  # of the HTTP library: a proxy of the environment it cannot use, an odd address
            raise ModelError(
                self._masked(f"no connection can be made: {error}"),
                where=self._where,
                remedy="Check model.base_url (OPENAI_BASE_URL), and ALL_PROXY, HTTP_PROXY and HTTPS_PROXY.",
            ) from error
        # Its pooled sockets must not be left to the garbage collector, which warns of them.
        weakref.finalize(self, client.close)
        return client


def per_attempt(deadline: Deadline) -> Any:
    """Return the client's timeout for one attempt: what is left, and at most 5 s to connect."""
    deadline.check()
    left = deadline.remaining_ms() / 1000
    return import_package("openai", "openai").Timeout(left, connect=min(left, _CONNECT_S))


def is_transient(error: BaseException) -> bool:
    """Return whether the same call may succeed a little later."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return (status in _TRANSIENT_STATUS or status >= 500) and getattr(error, "code", None) != "insufficient_quota"
    return _is_connection_error(error)


def _is_connection_error(error: BaseException) -> bool:
    import openai

    return isinstance(error, openai.APIConnectionError) or type(error).__module__.partition(".")[0] in _TRANSPORTS


def retry_after(error: BaseException | None) -> float:
    """Return the seconds a failed call's Retry-After header asks for (number or date), 0 without one."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    return seconds_to_wait(headers.get("retry-after")) or 0.0
