"""A server's reply, read within one time limit and in bounded memory, whole or as it comes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

Reply = TypeVar("Reply", bound=BaseModel)

MOST_BYTES = 64 * 2**20
"""Longest reply read: a thousand vectors of four thousand numbers in text are less."""
_EXCERPT = 300


class OutOfTimeError(Exception):
    """The time limit passed while a reply was being read."""


class BrokenReplyError(Exception):
    """The endpoint answered, but not with what its protocol says."""


class Clock:
    """The time left of one limit; it runs from the moment it is made."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._end = time.monotonic() + limit_s

    def left(self) -> float:
        """Seconds left; OutOfTimeError when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise OutOfTimeError
        return left

    def allows(self, seconds: float) -> bool:
        """Return whether more than that many seconds are left."""
        return time.monotonic() + seconds < self._end


class BoundedResponse:
    """An HTTP response whose body ends with the clock, and at `MOST_BYTES`.

    A server that sends a byte now and then, or only comments to keep the line open, cannot stretch the limit: the
    clock is looked at after every chunk.
    """

    def __init__(self, response: Any, clock: Clock) -> None:
        self._response, self._clock = response, clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._response, name)

    def iter_bytes(self) -> Iterator[bytes]:
        """Yield the body; OutOfTimeError or BrokenReplyError when it is too slow or too long."""
        size = 0
        for chunk in self._response.iter_bytes():
            size += len(chunk)
            if size > MOST_BYTES:
                raise BrokenReplyError(f"the reply is longer than {MOST_BYTES // 2**20} MB")
            self._clock.left()
            yield chunk


def read_reply(response: Any, model: type[Reply], clock: Clock) -> Reply:
    """Read a raw response within the limit and validate it."""
    body = b"".join(BoundedResponse(response, clock).iter_bytes())
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        kind = response.headers.get("content-type", "no content type")
        excerpt = body[:_EXCERPT].decode("utf-8", "replace")
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BrokenReplyError(f"unusable reply ({kind}): {where}: {first['msg']}: {excerpt!r}") from error
