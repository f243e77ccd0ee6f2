"""Turns of a conversation (a user message and what follows it), and the text of messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, tzinfo
from typing import Any

from theworld.references.config import LanguageCode, load_table
from theworld.state import Message
from theworld.state.answers import INSUFFICIENT, SEE_ALSO, UNSURE
from theworld.text.tokens import has_ideographs

_ROLES = {"human": "user", "ai": "assistant", "bot": "assistant", "model": "assistant"}  # elsewhere -> ours
_ROLES |= {role: role for role in ("user", "assistant", "system", "tool")}


def as_messages(history: Iterable[Any] | None) -> list[Message]:
    """Return messages from messages, mappings with `role` and `content`, or objects that have both.

    Content that is not text (parts, numbers) is turned into text, and a timestamp may be ISO 8601 text; no message
    raises. Raises TypeError for one message or text in place of a list, and for bare texts in it.
    """
    if isinstance(history, str | bytes | Mapping) or not (history is None or isinstance(history, Iterable)):
        raise TypeError(f"history is a {type(history).__name__}; give a list of messages")
    return [item if type(item) is Message else _convert(item) for item in history or ()]


def _convert(item: Any) -> Message:
    if isinstance(item, str | bytes | int | float):
        raise TypeError(f"history holds a {type(item).__name__}; give messages with `role` and `content`")

    def get(name: str) -> Any:
        return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)

    role, moment = str(get("role") or get("type") or "user"), get("timestamp")
    if isinstance(moment, str):
        with suppress(ValueError):
            moment = datetime.fromisoformat(moment)
    turn_id, topic = (None if value is None else str(value) for value in (get("turn_id"), get("topic")))
    moment = moment if isinstance(moment, datetime) else None
    return Message(_ROLES.get(role.casefold(), role), _plain(get("content")), moment, turn_id, topic)


LONGEST_REPLY = 600  # characters, in Chinese half as many, of an answer that is told
_SAID_ABOUT_IT = (*UNSURE.values(), *SEE_ALSO.values(), *INSUFFICIENT.values())
_PLACE = (
    rf"(?m)^(?:[^\n]{{1,300}}(?: › [^\n]{{0,300}}|\.\w{{1,5}}) \[\d{{1,3}}\][^\S\n]*"
    rf"|(?:{'|'.join(map(re.escape, _SAID_ABOUT_IT))})[^\n]*)(?:\n|\Z)"
)  # A line above a passage (the document's title or file, the headings, the citation's number), or about the answer
_PASSAGE = re.compile(rf"{_PLACE}|^(?:“[^”\n]{{1,300}}”: |《[^》\n]{{1,300}}》：)")
"""Where an answer begins to show what was found, as `answers.said_text` and `answers.answer_text` write it."""


def _plain(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Mapping):
        return _plain(content.get("text"))
    return "\n".join(filter(None, map(_plain, content))) if isinstance(content, Iterable) else str(content)


def text_of(message: Message) -> str:
    """Return the content of a message without the places of passages ("a.md › Summary [1]") and what is said about it.

    Empty where there is none.
    """
    content = message.content or ""
    framed = message.role == "assistant" and ("[" in content or any(said in content for said in _SAID_ABOUT_IT))
    return re.sub(_PLACE, "", content) if framed else content


def told(message: Message) -> str:
    """Return what a message says itself: of an answer that shows passages, what stands above the first of them.

    One of another program that is long is passages too.
    """
    content = message.content or ""
    found = _PASSAGE.search(content) if message.role == "assistant" else None
    return content[: found.start()] if found else "" if is_long(content) else content


def is_long(answer: str) -> bool:
    """Return whether an answer is too long to be told."""
    return len(answer) > LONGEST_REPLY // (1 + has_ideographs(answer))


def last_answer(history: Sequence[Message]) -> tuple[str, int]:
    """Return the last answer that says something, and its index; empty, from -1, where there is none."""
    answers = (index for index in range(len(history) - 1, -1, -1) if history[index].role == "assistant")
    return next(((text, index) for index in answers if (text := text_of(history[index]).strip())), ("", -1))


def last_turns(history: Sequence[Message], count: int) -> range:
    """Return the indexes of the messages of the last `count` turns.

    Messages before the first user message are a turn; a last one without an answer is recalled too and uses up none.
    """
    remaining = count + bool(history and history[-1].role == "user")
    for index in range(len(history) - 1, -1, -1):
        if history[index].role == "user":
            remaining -= 1
            if not remaining:
                return range(index, len(history))
    return range(len(history))


def transcript(history: Sequence[Message], indexes: Iterable[int], language: LanguageCode) -> str | None:
    """Return the messages that hold text one a line, labelled by role in the language; None where there is none."""
    labels = load_table("language")["labels"][language]
    said = ((history[index].role, text_of(history[index]).strip()) for index in indexes)
    return "\n".join(f"{labels.get(role, role)}: {text}" for role, text in said if text) or None


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Return a moment in a zone; a naive one is taken to be in it already."""
    return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)


def said_within(history: Sequence[Message], interval: tuple[datetime, datetime], zone: tzinfo) -> list[int]:
    """Return the indexes of the messages said within an interval, ascending; those without a time never are."""
    start, end = interval
    return [i for i, m in enumerate(history) if m.timestamp is not None and start <= in_zone(m.timestamp, zone) < end]
