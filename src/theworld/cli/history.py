"""Read a chat history from a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theworld.errors import InvalidQuestionError

if TYPE_CHECKING:
    from theworld.state import Message

ROLES = ("user", "assistant", "system", "tool")
FORM = 'Write a JSON list, or one object a line: {"role": "user", "content": "...", "timestamp": ..., "topic": ...}.'


def read_history(path: Path) -> list[Message]:
    """Return the messages of a JSON list or JSON-lines file, oldest first.

    Raises InvalidQuestionError naming file and message or line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InvalidQuestionError(f"the history cannot be read: {reason}.", where=str(path)) from error
    return [_message(where, row) for where, row in _rows(path, text)]


def _rows(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    if text.lstrip().startswith("["):
        rows = _parse(str(path), text)
        yield from ((f"{path}, message {number}", row) for number, row in enumerate(rows, start=1))
        return
    for number, line in enumerate(text.split("\n"), start=1):  # a text may hold other ends of lines, as JSON allows
        if line.strip():
            where = f"{path}, line {number}"
            yield where, _parse(where, line)


def _parse(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidQuestionError(f"is no JSON: {error}.", where=where, remedy=FORM) from error


def _message(where: str, row: Any) -> Message:
    from pydantic import TypeAdapter, ValidationError

    from theworld.state import Message

    if not isinstance(row, dict):
        raise InvalidQuestionError(f"is a {type(row).__name__}, not a message.", where=where, remedy=FORM)
    if row.get("role") not in ROLES:
        raise InvalidQuestionError(
            f"has the role {row.get('role')!r}.", where=where, remedy=f"Allowed: {', '.join(ROLES)}."
        )
    try:
        return TypeAdapter(Message).validate_python(row)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InvalidQuestionError(f"`{field}` is wrong: {first['msg']}.", where=where, remedy=FORM) from error
