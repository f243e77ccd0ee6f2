"""Which words of the conversation answer a question about what the assistant said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import yaml

from theworld.state import Message, ReferenceType, ResolvedReference
from theworld.text import fold, split_sentences, tokens
from theworld.text.language import CJK_RANGES

_BETWEEN = r"[^。！？.!?]{0,20}?"
_POINTING = frozenset({ReferenceType.STANCE, ReferenceType.TEMPORAL, ReferenceType.REFERENTIAL})


class Quote(NamedTuple):
    """A piece of the conversation: text == history[turn].content[start:end]; turn -1 is a kept stance."""

    text: str
    turn: int
    start: int
    end: int


@cache
def _asks() -> re.Pattern[str]:
    table = yaml.safe_load((files("theworld.references") / "data" / "asks.yaml").read_text("utf-8"))
    letter = rf"[^\W_{CJK_RANGES}]"
    latin = [_BETWEEN.join(rf"(?<!{letter}){re.escape(word)}(?!{letter})" for word in row) for row in table["en"]]
    cjk = [_BETWEEN.join(re.escape(word) for word in row) for row in table["zh"]]
    return re.compile("|".join(latin + cjk))


def asks_what_was_said(question: str, reference: ResolvedReference) -> bool:
    """Return True for a question that refers to the conversation and asks for the assistant's own words."""
    return reference.reference_type in _POINTING and _asks().search(fold(question)) is not None


def quote_for(question: str, reference: ResolvedReference, history: Sequence[Message]) -> Quote | None:
    """Return the assistant's sentences that say most about the question, None where it said nothing.

    Of the turns referred to, the assistant's message sharing most tokens with the question counts, the later one at a
    tie; where the reference came from a kept stance alone, that stance is the quote.
    """
    asked = set(tokens(question))
    turns = [i for i in reference.source_turns if 0 <= i < len(history) and history[i].role == "assistant"]
    said = [i for i in turns if (history[i].content or "").strip()]
    if said:
        turn = max(said, key=lambda i: (len(asked & set(tokens(history[i].content or ""))), i))
        content = history[turn].content or ""
        sentences = split_sentences(content)[:3]
        return Quote(content[sentences[0].start : sentences[-1].end], turn, sentences[0].start, sentences[-1].end)
    if reference.reference_type is ReferenceType.STANCE and reference.resolved_content:
        return Quote(reference.resolved_content, -1, 0, len(reference.resolved_content))
    return None
