"""What a follow-up takes from the turns before: an item of the list just offered, or the question before as context.

A follow-up whose antecedent is not sure keeps its own words and gets the question before, itself made to stand alone,
in brackets: a search then has the words of both, which finds more than a guessed name in the pronoun's place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from theworld.references.detection import Detected, Kind
from theworld.references.history import text_of
from theworld.references.phrases import Span, has_ideographs
from theworld.state import Message, ReferenceScope, ReferenceType
from theworld.text.folding import fold_in_place

DEEPEST = 3
"""Follow-ups on follow-ups that are traced back."""
LOOK_BACK = 24
"""Messages that are looked at, the last ones."""
LONGEST_CONTEXT = 200
"""Characters added at most."""
_CLOSING = " \t\n?？!！.。"
_ITEM_LINE = re.compile(r"(?m)^[ \t]*(?:[-*•]|\(?\d{1,2}[.)、）]|[①-⑩])[ \t]*(.+)$")
_PART = "[^,，.。;；:：!?！？、]+"
_ENUMERATION = re.compile(rf"{_PART}(?:(?:、|,\s+){_PART})*(?:,?\s+(?:and|or)\s+|[和与或、]){_PART}")
_SEPARATOR = re.compile(r"、|,\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+|和|与|或")
_RANKS = {word: rank for rank, words in enumerate(("first一1", "second二两2", "third三3", "fourth四4", "fifth五5"))
          for word in re.findall("[a-z]+|.", words)}  # fmt: skip
_RANKS |= {"former": 0, "前": 0, "last": -1, "latter": -1, "后": -1, "最后": -1}
_ORDINAL = re.compile(
    r"\b(?:the|that)\s+(?P<en>first|second|third|fourth|fifth|last|latter|former)\b"
    r"(?:\s+(?:one|item|option|step|point|number|phase|way|kind|case)\b|(?=\W*$))"
    r"|第(?P<cn>[一二三四五1-5])[个种条项步点款类](?!月|年|人)|(?P<end>最后|[前后])(?:一|那)[个种条项步点款类]"
)


@dataclass(frozen=True)
class Standalone:
    """What the rules made of a query."""

    query: str | None = None
    """The rewritten query, None where the query stands alone already."""
    references: tuple[Detected, ...] = ()
    """The dependent expressions found."""
    antecedents: tuple[str, ...] = ()
    """What they stand for."""
    sources: tuple[int, ...] = ()
    """Indexes of the messages the antecedents come from."""
    options: tuple[str, ...] = ()
    """Equally good antecedents, best first; more than one is ambiguous."""
    reason: str = ""
    """Which rule decided."""


class Edit(NamedTuple):
    """A replacement of text[start:end]."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits made; they must not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def dependent(span: Span, kind: Kind) -> Detected:
    """Return a pronoun or a continuation as a reference to the last turns."""
    reference = ReferenceType.CONTINUATION if kind == "continuation" else ReferenceType.REFERENTIAL
    return Detected(span, kind, reference, ReferenceScope.LAST_1_3_TURNS)


def with_context(query: str, added: str) -> str | None:
    """Return the query with a text in brackets before its closing mark; None where there is nothing to add."""
    added = " ".join(added.split())[:LONGEST_CONTEXT].strip(_CLOSING)
    if not added:
        return None
    end = len(query.rstrip(_CLOSING))
    inserted = f"（{added}）" if has_ideographs(query) else f" ({added})"
    return query[:end] + inserted + query[end:]


def last_answer(history: Sequence[Message]) -> int | None:
    """Return the index of the last answer that says something."""
    recent = range(len(history) - 1, max(-1, len(history) - 1 - LOOK_BACK), -1)
    return next((i for i in recent if history[i].role == "assistant" and text_of(history[i]).strip()), None)


def chosen_item(query: str, history: Sequence[Message]) -> tuple[Span, str, int] | None:
    """Return an ordinal of the query, the item it chooses from the latest answer that lists so many, and its index."""
    match = _ORDINAL.search(fold_in_place(query))
    if match is None:
        return None
    rank = _RANKS[match["en"] or match["cn"] or match["end"]]
    for index in range(len(history) - 1, max(-1, len(history) - 1 - LOOK_BACK), -1):
        items = offered(text_of(history[index])) if history[index].role == "assistant" else []
        if len(items) > max(rank, 1):
            return Span(match.start(), match.end(), query[match.start() : match.end()]), items[rank], index
    return None


def offered(answer: str) -> list[str]:
    """Return the items an answer lists: its numbered or bulleted lines, else the first enumeration; empty if none."""
    lines = [item.strip() for item in _ITEM_LINE.findall(answer)]
    if len(lines) > 1:
        return lines
    enumeration = _ENUMERATION.search(answer[: LONGEST_CONTEXT * 3])
    items = _SEPARATOR.split(enumeration.group()) if enumeration else []
    return [item.strip() for item in items if item.strip()]
