"""Turns of a conversation and the text of messages: a turn is one user message and what follows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from theworld.nodes.resolve_references.tables import LanguageCode, load_table
from theworld.state import Message

_ROLES = {"human": "user", "ai": "assistant", "bot": "assistant", "model": "assistant"} | {
    role: role for role in ("user", "assistant", "system", "tool")
}
"""Names of roles elsewhere -> ours."""


def as_messages(history: Iterable[Any] | None) -> list[Message]:
    """Return messages from messages, mappings with `role` and `content`, or objects that have both.

    Content that is not text (parts, numbers) is turned into text, and a timestamp may be ISO 8601 text; no message
    raises. Raises TypeError for one message or text in place of a list, and for bare texts in it.
    """
    if isinstance(history, str | bytes | Mapping) or not (history is None or isinstance(history, Iterable)):
        raise TypeError(f"history is a {type(history).__name__}; give a list of messages")
    history = list(history or ())
    if wrong := next((type(item).__name__ for item in history if isinstance(item, str | bytes | int | float)), ""):
        raise TypeError(f"history holds a {wrong}; give messages with `role` and `content`")
    return [item if type(item) is Message else _convert(item) for item in history]


def _convert(item: Any) -> Message:
    def get(name: str) -> Any:
        return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)

    role = str(get("role") or get("type") or "user")
    turn_id, topic = get("turn_id"), get("topic")
    return Message(
        role=_ROLES.get(role.casefold(), role),
        content=_plain(get("content")),
        timestamp=_moment(get("timestamp")),
        turn_id=None if turn_id is None else str(turn_id),
        topic=None if topic is None else str(topic),
    )


def _moment(timestamp: Any) -> datetime | None:
    if isinstance(timestamp, str):
        try:
            return datetime.fromisoformat(timestamp)
        except ValueError:
            return None
    return timestamp if isinstance(timestamp, datetime) else None


def _plain(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Mapping):
        return _plain(content.get("text"))
    if isinstance(content, Iterable):
        return "\n".join(filter(None, map(_plain, content)))
    return str(content)


def text_of(message: Message) -> str:
    """Return the content of a message, empty where there is none."""
    return message.content or ""


def last_turns(history: Sequence[Message], count: int) -> range:
    """Return the indexes of the messages of the last `count` turns.

    With alternating roles these are the last `count * 2` messages. Messages before the first user message are a
    turn of their own.
    """
    remaining = count
    for index in range(len(history) - 1, -1, -1):
        if history[index].role == "user":
            remaining -= 1
            if not remaining:
                return range(index, len(history))
    return range(len(history))


def turn_starts(history: Sequence[Message]) -> list[int]:
    """Return for every message the index of the message its turn starts with."""
    starts, start = [], 0
    for index, message in enumerate(history):
        start = index if message.role == "user" else start
        starts.append(start)
    return starts


def spoken(history: Sequence[Message], indexes: Iterable[int]) -> list[int]:
    """Return those of the indexes whose message holds text, ascending and without repetition."""
    return [index for index in sorted(set(indexes)) if text_of(history[index]).strip()]


def transcript(history: Sequence[Message], indexes: Iterable[int], language: LanguageCode) -> str | None:
    """Return the messages one a line, labelled by role in the language; None where there is no text."""
    labels = load_table("language")["labels"][language]
    lines = [
        f"{labels.get(history[i].role, history[i].role)}: {text_of(history[i]).strip()}"
        for i in spoken(history, indexes)
    ]
    return "\n".join(lines) or None
