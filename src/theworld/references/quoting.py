"""Which words of the conversation answer a question about the conversation itself: what was said, what was asked.

The turn quoted is the one whose question and answer share most with the question; of the user's own questions the one
that an ordinal counts ("my first question"), else the one that shares most, else the last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from theworld.references.config import load_table
from theworld.references.context import RANKS
from theworld.references.detection import Span
from theworld.references.history import overlap, text_of, topic_tokens
from theworld.state import Message, ReferenceType, ResolvedReference
from theworld.text import fold, split_sentences
from theworld.text.folding import fold_in_place
from theworld.text.language import CJK_RANGES

_BETWEEN = r"[^。！？.!?]{0,60}?"
_POINTING = frozenset({ReferenceType.STANCE, ReferenceType.TEMPORAL, ReferenceType.REFERENTIAL})
_ORDINAL = re.compile(r"\b(?:first|second|third|fourth|fifth)\b|(?<=第)[一二三四五]|最初|最早|一开始|最开始")
_COUNTED = re.compile("my [a-z]+ question|第[一二三四五]个问题")
MOST_SENTENCES = 3
LONGEST_LIST = 600
"""Characters of a list that are quoted."""


class Quote(NamedTuple):
    """A piece of the conversation: text == history[turn].content[start:end]; turn -1 is a kept stance."""

    text: str
    turn: int
    start: int
    end: int


@cache
def _asks(kind: str) -> re.Pattern[str]:
    """Return the pattern of a table's rows: Latin words stand alone, Chinese ones may stand in others."""
    letter, table = rf"[^\W_{CJK_RANGES}]", load_table("asks")[kind]
    edges = {"en": rf"(?<!{letter})(?:{{}})(?!{letter})", "zh": "(?:{})"}
    rows = [
        [edge.format("|".join(map(re.escape, word.split("/")))) for word in row]
        for code, edge in edges.items()
        for row in table[code]
    ]
    return re.compile("|".join(map(_BETWEEN.join, rows)))


def chat_question(folded: str) -> Span | None:
    """Return where a folded question asks, in so many words, for what was said or asked in this conversation."""
    match = _asks("asked").search(folded) or _asks("said").search(folded)
    return Span(match.start(), match.end(), match.group()) if match else None


def asks_what_was_said(question: str, reference: ResolvedReference) -> bool:
    """Return True for a question that refers to the conversation and asks for words of it."""
    if reference.reference_type not in _POINTING:
        return False
    folded = fold_in_place(question)
    return chat_question(folded) is not None or _asks("pointing").search(fold(question)) is not None


def quote_for(question: str, reference: ResolvedReference, history: Sequence[Message]) -> Quote | None:
    """Return the sentences of the conversation that answer a question about it, None where none does.

    Where the reference came from a kept stance alone, that stance is the quote.
    """
    folded = fold_in_place(question)
    asked = [i for i, message in enumerate(history) if message.role == "user" and text_of(message).strip()]
    ordinal = _ORDINAL.search(folded)
    rank = RANKS[ordinal.group()] if ordinal else len(asked)
    counted = asked[rank] if rank < len(asked) else None
    if _asks("asked").search(folded):
        if asked and not ordinal:
            wanted = topic_tokens(_asks("asked").sub(" ", folded))
            counted = max(asked, key=lambda i: (overlap(wanted, text_of(history[i])), i))
        return None if counted is None else _quoted(history, counted)
    if not _COUNTED.search(folded):
        counted = None
    turns = [i for i in reference.source_turns if 0 <= i < len(history) and history[i].role == "assistant"]
    turns = [i for i in turns if counted is not None and i == counted + 1] or turns
    wanted = topic_tokens(question)
    said = {i: overlap(wanted, text_of(history[i])) for i in turns if text_of(history[i]).strip()}
    if said:
        for i in said:  # the question before an answer counts half
            said[i] += overlap(wanted, text_of(history[i - 1])) / 2 if i and history[i - 1].role == "user" else 0
        turn = max(said, key=lambda i: (said[i], i))
        unsaid = not said[turn] and counted is None and reference.metadata.get("kind") == "history"
        return None if unsaid else _quoted(history, turn)
    if reference.reference_type is ReferenceType.STANCE and reference.resolved_content:
        return Quote(reference.resolved_content, -1, 0, len(reference.resolved_content))
    return None


def _quoted(history: Sequence[Message], turn: int) -> Quote:
    """Quote a message's first sentences; a list as far as LONGEST_LIST."""
    content = text_of(history[turn])
    sentences = split_sentences(content)
    in_lines = "\n" in content.strip()
    quoted = [s for s in sentences if in_lines and s.end <= LONGEST_LIST] or sentences[:MOST_SENTENCES]
    return Quote(content[quoted[0].start : quoted[-1].end], turn, quoted[0].start, quoted[-1].end)
