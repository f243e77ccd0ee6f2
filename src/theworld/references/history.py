"""Turns of a conversation and the text of messages: a turn is one user message and what follows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import Any

from theworld.references.config import LanguageCode, load_table
from theworld.references.names import names_in
from theworld.state import Message
from theworld.text import split_sentences, tokens
from theworld.text.folding import fold_in_place
from theworld.text.language import has_ideographs
from theworld.text.quantities import either
from theworld.text.tokens import function_words, token_set

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

    role, moment = str(get("role") or get("type") or "user"), get("timestamp")
    if isinstance(moment, str):
        with suppress(ValueError):
            moment = datetime.fromisoformat(moment)
    turn_id, topic = (None if value is None else str(value) for value in (get("turn_id"), get("topic")))
    moment = moment if isinstance(moment, datetime) else None
    return Message(_ROLES.get(role.casefold(), role), _plain(get("content")), moment, turn_id, topic)


_PLACE = re.compile(r"(?m)^[^\n]{1,300}(?: › [^\n]{0,300}|\.\w{1,5}) \[\d{1,3}\][^\S\n]*\n")
"""A line above a passage: the document's title or file, the headings, the citation's number."""


def _plain(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Mapping):
        return _plain(content.get("text"))
    return "\n".join(filter(None, map(_plain, content))) if isinstance(content, Iterable) else str(content)


def text_of(message: Message) -> str:
    """Return the content of a message without the places of passages ("a.md › Summary [1]"); empty where none is."""
    content = message.content or ""
    return _PLACE.sub("", content) if message.role == "assistant" and "[" in content else content


def last_answer(history: Sequence[Message]) -> tuple[str, int]:
    """Return the last answer that says something, and its index; empty, from -1, where there is none."""
    answers = (index for index in range(len(history) - 1, -1, -1) if history[index].role == "assistant")
    return next(((text, index) for index in answers if (text := text_of(history[index]).strip())), ("", -1))


def last_turns(history: Sequence[Message], count: int) -> range:
    """Return the indexes of the messages of the last `count` turns.

    With alternating roles these are the last `count * 2` messages. Messages before the first user message are a
    turn of their own. A last user message without an answer is recalled too and uses up no turn.
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


CLEAR_OVERLAP = 0.3
"""Share of a topic's tokens that a turn must hold to count as being about it."""
LONGEST_TEXT = 20_000
"""Characters of a message that are compared with a topic."""


@cache
def generic_chinese() -> re.Pattern[str]:
    """Return the pattern of Chinese words that name no topic, those of `data/topics.yaml`."""
    return re.compile(either(load_table("topics")["cn"]))


@cache
def _generic_english() -> frozenset[str]:
    return function_words() | {token for word in load_table("topics")["en"] for token in tokens(word)}


def topic_tokens(phrase: str) -> frozenset[str]:
    """Return the index tokens of a phrase that name a topic; empty where none does."""
    stripped = generic_chinese().sub(" ", fold_in_place(phrase))
    return frozenset(token for token in tokens(stripped) if token not in _generic_english())


def overlap(wanted: frozenset[str], text: str) -> float:
    """Return the share of the wanted tokens that the text holds, 0.0 where nothing is wanted."""
    if not wanted:
        return 0.0
    held = wanted & token_set(text[:LONGEST_TEXT])
    single = (token for token in wanted - held if len(token) == 1 and has_ideographs(token))
    return (len(held) + sum(token in fold_in_place(text) for token in single)) / len(wanted)


def answering(question: str, answer: str) -> str:
    """Return the sentence of an answer that holds most words of the question, names left out; the first of several."""
    named = frozenset(token for name in names_in(question) for token in tokens(name.text))
    wanted = topic_tokens(question) - named or named
    sentences = [sentence.text for sentence in split_sentences(answer[:LONGEST_TEXT])]
    return max(sentences, key=lambda sentence: overlap(wanted, sentence), default="")


def named_words(text: str) -> str:
    """Return the words of an English text that name something; a Chinese text as it is."""
    return text if has_ideographs(text) else " ".join(word for word in text.split() if topic_tokens(word))
