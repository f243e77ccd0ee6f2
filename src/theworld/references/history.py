"""Turns of a conversation (a user message and what follows it), the text of messages, and its names, by capitals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple

from theworld.references.config import LanguageCode, any_of, load_table
from theworld.state import Message
from theworld.state.answers import INSUFFICIENT, SEE_ALSO, UNSURE
from theworld.text import split_sentences, tokens
from theworld.text.folding import fold_in_place
from theworld.text.language import has_ideographs
from theworld.text.tokens import function_words, token_set

_ROLES = {"human": "user", "ai": "assistant", "bot": "assistant", "model": "assistant"}  # elsewhere -> ours
_ROLES |= {role: role for role in ("user", "assistant", "system", "tool")}
LONGEST_WITH_NAMES = 4000  # characters of a text in which names are looked for
# A capitalised word; a full stop at its end belongs to initials and titles only: "John F.", "St.", "Prof.".
_CAPITAL = (
    r"(?:(?:[A-Z][a-z]?|Mrs|Prof|Gen|Col|Rev|Gov|Sen|Rep)\.(?![\w.])|[A-Z](?:[\w&-]|\.(?=\w))*(?:['’](?!s\b)\w+)?)"
)
_GAP = r"[^\S\n]+"  # a name ends with its line: what is shown one below the other is apart
_NAME = re.compile(
    rf"(?<![\w'’]){_CAPITAL}(?:(?:{_GAP}(?:of|de|van|von|der|la|le|du|del|the|for|&))*{_GAP}(?:{_CAPITAL}|\d+\b))*"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\"“(#]\s*)$")  # a heading is capitalised as a sentence is
_TABLE_HEAD = re.compile(r"(?m)^(?=[^\n]*\|)[^\n]*\n(?=[^\n]*--)[ |:-]+$\n?")  # what columns are called names no one
_NO_NAMES = re.compile(rf"{_TABLE_HEAD.pattern}|^[^\w\n]*(?:[\w-]+ ){{0,3}}[\w-]+(?=\**:[\s*])(?!.*\?)")  # nor labels
_HEADING = re.compile(r"\s*(?P<first>[\"'“‘]?[A-Z0-9]\S*)(?:\s+\S+){0,13}(?<![?!.])(?:\.\.\.)?\s*")


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


_SAID_ABOUT_IT = (*UNSURE.values(), *SEE_ALSO.values(), *INSUFFICIENT.values())
_PLACE = re.compile(
    rf"(?m)^(?:[^\n]{{1,300}}(?: › [^\n]{{0,300}}|\.\w{{1,5}}) \[\d{{1,3}}\][^\S\n]*"
    rf"|(?:{'|'.join(map(re.escape, _SAID_ABOUT_IT))})[^\n]*)(?:\n|\Z)"
)  # A line above a passage (the document's title or file, the headings, the citation's number), or about the answer


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
    return _PLACE.sub("", content) if framed else content


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


CLEAR_OVERLAP = 0.3  # share of a topic's tokens that a turn must hold to count as being about it
LONGEST_TEXT = 20_000  # characters of a message that are compared with a topic


@cache
def _generic_english() -> frozenset[str]:
    return function_words() | {token for word in load_table("topics")["en"] for token in tokens(word)}


@lru_cache(maxsize=4096)
def topic_tokens(phrase: str) -> frozenset[str]:
    """Return the index tokens of a phrase that name a topic; empty where none does."""
    stripped = any_of("topics", "cn").sub(" ", fold_in_place(phrase))
    return frozenset(tokens(stripped)) - _generic_english()


def overlap(wanted: frozenset[str], text: str) -> float:
    """Return the share of the wanted tokens that the text holds, 0.0 where nothing is wanted."""
    if not wanted:
        return 0.0
    held = wanted & token_set(text[:LONGEST_TEXT])
    single = (token for token in wanted - held if len(token) == 1 and has_ideographs(token))
    return (len(held) + sum(token in fold_in_place(text) for token in single)) / len(wanted)


def by_overlap(question: str, answer: str) -> list[str]:
    """Return the sentences of an answer, no headings, those that hold more words of the question first, but names."""
    named = frozenset(token for name in names_in(question) for token in tokens(name.text))
    wanted = topic_tokens(question) - named or named
    sentences = [sentence.text for sentence in split_sentences(_TABLE_HEAD.sub("", answer[:LONGEST_TEXT]))]
    sentences = [sentence for sentence in sentences if not sentence.startswith("#")]
    return sorted(sentences, key=lambda sentence: -overlap(wanted, sentence))


def cut_at_word(text: str, limit: int) -> str:
    """Return the beginning of a text, at most `limit` characters, up to the end of a word where it has words."""
    cut = text[:limit]
    return text if cut == text else cut.rpartition(" ")[0] or cut


def named_words(text: str) -> str:
    """Return the words of an English text that name something; a Chinese text as it is."""
    return text if has_ideographs(text) else " ".join(word for word in text.split() if topic_tokens(word))


class Name(NamedTuple):
    """A name in a text."""

    text: str
    start: int
    opening: bool  # a single word that may be capitalised only because it opens a sentence


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(load_table("english")[name])


@lru_cache(maxsize=4096)
def names_in(text: str) -> tuple[Name, ...]:
    """Return the names of a text from left to right; one that merely opens a sentence is marked as `opening`."""
    text, found = _NO_NAMES.sub(lambda head: " " * len(head[0]), text[:LONGEST_WITH_NAMES]), []
    for match in _NAME.finditer(text):
        words, start = match.group().split(" "), match.start()
        opening = bool(_SENTENCE_START.search(text[max(0, start - 3) : start]))
        while words and _names_nothing(words[0]):
            start, opening = start + len(words.pop(0)) + 1, False
        while words and _names_nothing(words[-1]):
            del words[-1]
        name = " ".join(words).rstrip(".,-&'’")
        if len(name) > 1 and not name.isdecimal():
            found.append(Name(name, start, opening and len(words) == 1))
    return tuple(found)


def sure_names(text: str) -> list[Name]:
    """Return the names of a text but for those that may be capitalised only as the first word of a sentence."""
    return [name for name in names_in(text) if not name.opening]


def _names_nothing(word: str) -> bool:
    bare = word.lower().strip(".,").replace("’", "'")
    forms = {bare, bare.split("'")[0]}
    return not (forms.isdisjoint(_words("not_names")) and forms.isdisjoint(function_words()))


@lru_cache(maxsize=8192)
def looks_like_person(name: str) -> bool:
    """Return whether a name has the shape of a person's: up to five capitalised words, none of a thing."""
    words = name.replace(".", " ").split()
    if not 1 <= len(words) <= 5 or any(c.isdigit() for c in name) or name.isupper() or not words[-1][:1].isupper():
        return False
    return "(" not in name and _words("things").isdisjoint(word.lower().strip("'\"),") for word in words)


@lru_cache(maxsize=4096)
def is_heading(text: str) -> bool:
    """Return whether a message merely names a topic, as a title does ("Ada Lovelace")."""
    title = _HEADING.fullmatch(text)
    return title is not None and title["first"].lower() not in _words("openers")
