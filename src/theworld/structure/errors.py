"""The one error of this package."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from theworld.errors import TheWorldError

Attempt = tuple[str, BaseException | str]
"""Name of a strategy, and why it failed."""
PREVIEW_CHARACTERS = 200
KEPT_CHARACTERS = 2000
ERROR_CHARACTERS = 300
SHOWN_FIELDS = 20
REMEDY = "See .get_detailed_error() for every strategy that was tried."


class StructureParseError(TheWorldError, ValueError):
    """No strategy could make the wanted object of the content.

    Lists every strategy that was tried and why it failed, and keeps the start of the content.
    """

    def __init__(self, message: str, attempts: Iterable[Attempt] = (), raw_content: Any = "", remedy: str = "") -> None:
        self.tried = tuple(attempts)
        if isinstance(raw_content, (bytes, bytearray)):
            raw_content = bytes(raw_content[: KEPT_CHARACTERS * 4]).decode("utf-8", "replace")
        elif raw_content is not None and not isinstance(raw_content, str):
            raw_content = f"<{type(raw_content).__name__}>"
        self.raw_content = shorten(raw_content or "", KEPT_CHARACTERS)
        told = zip(self.tried, self.attempts, strict=True)
        refused = ((e.errors(), attempt) for (_, e), attempt in told if isinstance(e, ValidationError))
        wrong = [attempt["error"] for problems, attempt in refused if problems[0]["loc"]]  # those that name a field
        super().__init__(f"{message.rstrip('.')}: {shorten(wrong[0])}" if wrong else message, remedy=remedy or REMEDY)

    @property
    def attempts(self) -> list[dict[str, str]]:
        """Every failed strategy in the order tried: `{"strategy": name, "error": why}`."""
        return describe_attempts(self.tried)

    def get_detailed_error(self) -> str:
        """Return the message, each strategy with its error, and the first 200 characters of the content."""
        attempts = self.attempts
        lines = [self.what, f"Strategies tried ({len(attempts)}):"]
        lines += [f"  - {attempt['strategy']}: {shorten(attempt['error'])}" for attempt in attempts]
        lines.append(f"Content preview: {shorten(self.raw_content, PREVIEW_CHARACTERS)!r}")
        return "\n".join(lines)


def shorten(text: str, limit: int = ERROR_CHARACTERS) -> str:
    """Cut a text to `limit` characters, marking the cut."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def describe_attempts(attempts: Iterable[Attempt]) -> list[dict[str, str]]:
    """Return attempts with their errors as text; an error of pydantic in one line, field by field."""
    found = []
    for name, error in attempts:
        told = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        if isinstance(error, ValidationError):
            items = error.errors(include_url=False, include_context=False, include_input=False)
            fields = [f"{'.'.join(map(str, item['loc'])) or 'value'}: {item['msg']}" for item in items[:SHOWN_FIELDS]]
            told = "; ".join([*fields, *([f"and {len(items) - SHOWN_FIELDS} more"] if items[SHOWN_FIELDS:] else [])])
        found.append({"strategy": name, "error": told if isinstance(error, str) else shorten(told, 1000)})
    return found
