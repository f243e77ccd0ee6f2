"""The one error of this folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from theworld.errors import TheWorldError

PREVIEW_CHARACTERS = 200
KEPT_CHARACTERS = 2000
ERROR_CHARACTERS = 300


def shorten(text: str, limit: int = ERROR_CHARACTERS) -> str:
    """Cut a text to `limit` characters, marking the cut."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def preview(content: Any, limit: int = KEPT_CHARACTERS) -> str:
    """Return the start of any content as text; never raises."""
    if isinstance(content, (bytes, bytearray)):
        content = bytes(content[: limit * 4]).decode("utf-8", "replace")
    if content is None:
        return ""
    return shorten(content if isinstance(content, str) else f"<{type(content).__name__}>", limit)


class StructureParseError(TheWorldError, ValueError):
    """No strategy could make the wanted object of the content.

    Lists every strategy that was tried and why it failed, and keeps the start of the content.
    """

    def __init__(
        self,
        message: str,
        attempts: Iterable[tuple[str, BaseException | str] | Mapping[str, str]] = (),
        raw_content: Any = "",
    ) -> None:
        self._attempts = list(attempts)
        self._formatted: list[dict[str, str]] | None = None
        self.raw_content = preview(raw_content)
        super().__init__(message, remedy="See .get_detailed_error() for every strategy that was tried.")

    @property
    def attempts(self) -> list[dict[str, str]]:
        """Every failed strategy in the order tried: `{"strategy": name, "error": why}`."""
        if self._formatted is None:
            self._formatted = [describe_attempt(attempt) for attempt in self._attempts]
        return self._formatted

    def get_detailed_error(self) -> str:
        """Return the message, each strategy with its error, and the first 200 characters of the content."""
        lines = [self.what, f"Strategies tried ({len(self.attempts)}):"]
        lines += [f"  - {attempt['strategy']}: {shorten(attempt['error'])}" for attempt in self.attempts]
        lines.append(f"Content preview: {shorten(self.raw_content, PREVIEW_CHARACTERS)!r}")
        return "\n".join(lines)


def describe_attempt(attempt: tuple[str, BaseException | str] | Mapping[str, str]) -> dict[str, str]:
    """Return one attempt as strategy and error text; pydantic errors become one line per field."""
    if isinstance(attempt, Mapping):
        return dict(attempt)
    name, error = attempt
    return {"strategy": name, "error": error if isinstance(error, str) else explain_exception(error)}


def explain_exception(error: BaseException) -> str:
    """Return an exception in one line; a pydantic ValidationError field by field."""
    lister = getattr(error, "errors", None)
    if callable(lister) and hasattr(error, "error_count"):
        items = lister(include_url=False, include_context=False, include_input=False)
        fields = [f"{'.'.join(map(str, item['loc'])) or 'value'}: {item['msg']}" for item in items[:20]]
        more = [f"and {len(items) - 20} more"] if len(items) > 20 else []
        return shorten("; ".join([*fields, *more]), 1000)
    return shorten(f"{type(error).__name__}: {error}", 1000)
