"""English follow-ups that change one thing of the question before: "And Berlin?", "What about 2019?"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from theworld.nodes.resolve_references.rewriting.mentions import names_in
from theworld.nodes.resolve_references.tables import load_table
from theworld.nodes.resolve_references.turns import text_of
from theworld.state import Message

_FOLLOW_UP = re.compile(
    r"^\W*(?P<lead>and(?:\s+what\s+about)?|what\s+about|how\s+about|or|but\s+what\s+about|but)\s+(?:(?P<prep>in|on|for|at|of|with|to|from|by)\s+)?"
    r"(?P<value>[^?.!]{1,60}?)\s*[?.!]*\s*$",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})(?:s\b)?")
_DAY = re.compile(
    r"\b(?:(?:this|next|last)\s+)?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tomorrow|yesterday"
    r"|(?:this|next|last)\s+(?:week|month|year)|january|february|march|april|june|july|august|september|october|november"
    r"|december|spring|summer|autumn|fall|winter)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\b\d[\d.,]*\b")
_DEPENDENT = re.compile(
    r"\b(?:it|its|he|his|him|she|her|they|their|them|this|that|these|those|there|else|other|the)\b", re.IGNORECASE
)
_VERB = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|what|which|who|when|where|why|how|if)\b",
    re.IGNORECASE,
)
LOOK_BACK = 12


class Slot(NamedTuple):
    """The follow-up's value, the question it changes, and the new question."""

    value: str
    source: int
    question: str


def is_small_talk(text: str) -> bool:
    """Return whether a message is a greeting, thanks or a nod, which depends on nothing."""
    return bool(_small_talk().fullmatch(text.strip().strip(".!?,").lower()))


@lru_cache(maxsize=1)
def _small_talk() -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word in sorted(load_table("english")["small_talk"], key=len, reverse=True))
    return re.compile(rf"(?:{words})(?:[\s,!.]+(?:{words}))*")


def last_full_question(history: Sequence[Message]) -> int | None:
    """Return the index of the last user message that is neither small talk nor a follow-up itself."""
    for index in range(len(history) - 1, max(-1, len(history) - 1 - LOOK_BACK), -1):
        text = text_of(history[index]).strip()
        if history[index].role == "user" and text and not is_small_talk(text) and not _FOLLOW_UP.match(text):
            return index
    return None


def fill_slot(query: str, history: Sequence[Message]) -> Slot | None:
    """Return the question before with the follow-up's value in the place of its like; None where none fits."""
    match = _FOLLOW_UP.match(query)
    index = last_full_question(history)
    if match is None or index is None or _VERB.match(match["value"]) or _DEPENDENT.search(match["value"]):
        return None
    question, value = text_of(history[index]).strip(), match["value"].strip()
    place = _place_for(value, question)
    if place is None:
        return None
    return Slot(value, index, question[: place[0]] + value + question[place[1] :])


def _place_for(value: str, question: str) -> tuple[int, int] | None:
    for pattern in (_YEAR, _DAY, _NUMBER):
        if pattern.fullmatch(value):
            found = list(pattern.finditer(question))
            return found[-1].span() if found else None
    names = [name for name in names_in(question) if not name.opening]
    if not names or not (names_in(value) or len(value.split()) <= 2):
        return None
    last = names[-1]
    return last.start, last.start + len(last.text)
