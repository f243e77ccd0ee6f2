"""Which words of the conversation answer a question about it: of the turn that shares most with the question.

Of several the last one; of the user's own questions the one that an ordinal counts ("my first question").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from theworld.references.config import load_table
from theworld.references.context import RANKS
from theworld.references.detection import Span
from theworld.references.history import CLEAR_OVERLAP, overlap, text_of, topic_tokens
from theworld.state import Message, ReferenceType, ResolvedReference
from theworld.text import fold, split_sentences
from theworld.text.folding import fold_in_place
from theworld.text.language import CJK_RANGES

_BETWEEN = r"[^。！？.!?]{0,60}?"
_POINTING = frozenset({ReferenceType.STANCE, ReferenceType.TEMPORAL, ReferenceType.REFERENTIAL})
_ORDINAL = re.compile(r"\b(?:first|second|third|fourth|fifth)\b|(?<=第)[一二三四五]|最初|最早|一开始|最开始")
_ROLES = ("user", "assistant")
MOST_SENTENCES = 3
LONGEST_LIST = 600  # characters of a list that are quoted


class Quote(NamedTuple):
    """A piece of the conversation: text == history[turn].content[start:end]; turn -1 is a kept stance."""

    text: str
    turn: int
    start: int
    end: int
    clear: bool = True  # whether it holds what the question names, or this names nothing


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
    if reference.reference_type not in _POINTING or reference.metadata.get("kind") in {"pronoun", "continuation"}:
        return False
    folded = fold_in_place(question)
    return chat_question(folded) is not None or _asks("pointing").search(fold(question)) is not None


def quote_for(question: str, reference: ResolvedReference, history: Sequence[Message]) -> Quote | None:
    """Return the sentences of the conversation that answer a question about it, None where none does.

    Where the reference came from a kept stance alone, that stance is the quote.
    """
    folded, wanted = fold_in_place(question), topic_tokens(question)
    asked, answers = ([i for i, m in enumerate(history) if m.role == role and text_of(m).strip()] for role in _ROLES)
    ordinal = _ORDINAL.search(folded)
    rank, word = (RANKS[ordinal.group()], ordinal.group()) if ordinal else (len(asked), "")
    own = f"my {word} question" in folded or f"第{word}个问题" in folded
    counted = asked[rank] if rank < len(asked) else None
    if _asks("asked").search(folded):
        if asked and not ordinal:
            wanted = topic_tokens(_asks("asked").sub(" ", folded))
            share, counted = max((overlap(wanted, text_of(history[i])), i) for i in asked)
            counted = counted if share or not wanted else None
        return None if counted is None else _quoted(history, counted)
    # The question before an answer counts half.
    shared = [overlap(wanted, text_of(message)) for message in history]
    said = {i: shared[i] + (shared[i - 1] / 2 if i - 1 in asked else 0) for i in answers}
    recalled = said.keys() & set(reference.source_turns)
    if recalled:
        # "Just now" may be longer ago than what it recalls where only that has the words.
        turn = max(said, key=lambda i: (said[i], i in recalled, i))
        if counted is not None and counted + 1 in said and (own or not said[turn]):
            return _quoted(history, counted + 1)
        unsaid = wanted and not said[turn] and reference.reference_type is not ReferenceType.STANCE
        return None if unsaid else _quoted(history, turn)._replace(clear=not wanted or said[turn] >= CLEAR_OVERLAP)
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
