"""What a follow-up takes from the turns before: an item of the list just offered, or the question before as context.

A follow-up whose antecedent is not sure keeps its own words and gets the question before, itself made to stand alone,
in brackets: a search then has the words of both, which finds more than a guessed name in the pronoun's place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from theworld.references.detection import Detected, Kind
from theworld.references.history import text_of
from theworld.references.phrases import Span, has_ideographs, load_table
from theworld.state import Message, ReferenceScope, ReferenceType
from theworld.text.folding import fold_in_place

DEEPEST = 3
"""Follow-ups on follow-ups that are traced back."""
LOOK_BACK = 24
"""Messages that are looked at, the last ones."""
LONGEST_CONTEXT = 200
"""Characters added at most."""
LONGEST_INLINE = 40
"""Characters of a listed item that takes the ordinal's place; a longer one is context, and so is a step."""
_STEP = re.compile("step|phase|point|number|[步点条项]", re.IGNORECASE)
_CLOSING = " \t\n?？!！.。"
_OWN_CONTEXT = re.compile(r"\s*(?:\(([^()]*)\)|（([^（）]*)）)[\s?？!！.。]*$")
_ITEM_LINE = re.compile(r"(?m)^[ \t]*(?:[-*•]|\(?\d{1,2}[.)、）]|[①-⑩])[ \t]*(.+)$")
_PART = "[^,，.。;；:：!?！？、]+"
_ENUMERATION = re.compile(rf"{_PART}(?:(?:、|,\s+){_PART})*(?:,?\s+(?:and|or)\s+|[和与或、]){_PART}")
_SEPARATOR = re.compile(r"、|,\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+|和|与|或")
_COUNTED = ("first 一 1", "second 二 2", "third 三 3", "fourth 四 4", "fifth 五 5")
RANKS = {word: rank for rank, words in enumerate(_COUNTED) for word in words.split()}
"""Words of ordinals -> places in a list, from 0 or from its end."""
RANKS |= dict.fromkeys(("former", "前", "最初", "最早", "一开始", "最开始"), 0)
RANKS |= dict.fromkeys(("last", "latter", "后", "最后"), -1)
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
    sure: bool = True
    """False where no antecedent is sure, so that the query has the turn before as its context."""


@lru_cache(maxsize=1)
def _small_talk() -> re.Pattern[str]:
    english = "|".join(map(re.escape, sorted(load_table("english")["small_talk"], key=len, reverse=True)))
    chinese = "|".join(map(re.escape, sorted(load_table("chinese")["small_talk"], key=len, reverse=True)))
    return re.compile(rf"(?:{english})(?:[\s,!.]+(?:{english}))*|(?=.{{1,20}}$)(?:(?:{chinese})[\s，。！,.!~～]*)+")


@lru_cache(maxsize=4096)
def is_small_talk(text: str) -> bool:
    """Return whether a message is a greeting, thanks or a nod, which depends on nothing."""
    return bool(_small_talk().fullmatch(fold_in_place(text[:200]).strip(_CLOSING + ",，~～…")))


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
    added = _flat(" ".join(added.split()))[:LONGEST_CONTEXT].strip(_CLOSING)
    if not added:
        return None
    end = len(query.rstrip(_CLOSING))
    inserted = f"（{added}）" if has_ideographs(query) else f" ({added})"
    return query[:end] + inserted + query[end:]


def _flat(text: str) -> str:
    """Return a text whose own context stands behind it without brackets: "Q2 (Q1)?" -> "Q2; Q1"."""
    while match := _OWN_CONTEXT.search(text):
        text = text[: match.start()] + (f"; {match[1]}" if match[1] else f"；{match[2]}")
    return text


def said_in(answer: str, longest: int) -> str:
    """Return the first sentence of an answer, cut to so many characters at a word's end."""
    line = answer.strip().partition("\n")[0]
    sentence = re.split(r"(?<=[.!?])\s|(?<=[。！？])", line)[0]
    sentence = sentence.strip(_CLOSING)
    return sentence if len(sentence) <= longest else sentence[:longest].rpartition(" ")[0] or sentence[:longest]


def put_item(query: str, item: Item, question: str) -> str | None:
    """Return the query with a listed item: in the ordinal's place, or in the question before where it says no more."""
    span, text = item.span, item.text
    if not re.sub(r"(?i)\b(?:and|or|so|what|how|about)\b|[那呢么还有]|\W", "", query[: span.start] + query[span.end :]):
        taken = next((other for other in item.others if other in question), "")
        return question.replace(taken, text, 1) if taken else with_context(text, question) or text
    if len(text) > LONGEST_INLINE or _STEP.search(span.phrase):
        return with_context(query, f"{text}{'；' if has_ideographs(query) else '; '}{question}")
    return with_context(query[: span.start] + text + query[span.end :], question)


class Antecedent(NamedTuple):
    """What an expression may stand for, and the index of the message it comes from."""

    text: str
    source: int


@dataclass(frozen=True)
class Earlier:
    """How earlier questions are made to stand alone: by all the rules, so far back."""

    rules: Callable[[str, Sequence[Message], int], str | None]
    """(question, turns before it, depth) -> the question alone, None where it needs nothing."""
    depth: int = 0

    def alone(self, text: str, before: Sequence[Message]) -> str:
        """Return an earlier question made to stand alone, as far as follow-ups are traced back."""
        return self.rules(text, before, self.depth + 1) or text if self.depth < DEEPEST else text


def question_before(
    history: Sequence[Message], earlier: Earlier, passed: Callable[[str], bool] | None = None
) -> Antecedent | None:
    """Return the last question of the user, made to stand alone; small talk and what is `passed` over are none."""
    for index in range(len(history) - 1, max(-1, len(history) - 1 - LOOK_BACK), -1):
        text = text_of(history[index]).strip()
        if history[index].role == "user" and text and not is_small_talk(text) and not (passed and passed(text)):
            return Antecedent(earlier.alone(text, history[:index]), index)
    return None


def last_answer(history: Sequence[Message]) -> int | None:
    """Return the index of the last answer that says something."""
    recent = range(len(history) - 1, max(-1, len(history) - 1 - LOOK_BACK), -1)
    return next((i for i in recent if history[i].role == "assistant" and text_of(history[i]).strip()), None)


class Item(NamedTuple):
    """An item of an offered list that an ordinal chooses."""

    span: Span
    """The ordinal in the query."""
    text: str
    source: int
    """Index of the message that lists it."""
    others: tuple[str, ...]


def chosen_item(query: str, history: Sequence[Message]) -> Item | None:
    """Return what an ordinal of the query chooses from the latest answer that lists so many."""
    match = _ORDINAL.search(fold_in_place(query))
    if match is None:
        return None
    rank = RANKS[match["en"] or match["cn"] or match["end"]]
    for index in range(len(history) - 1, max(-1, len(history) - 1 - LOOK_BACK), -1):
        items = offered(text_of(history[index])) if history[index].role == "assistant" else []
        if len(items) > max(rank, 1):
            span = Span(match.start(), match.end(), query[match.start() : match.end()])
            return Item(span, items[rank], index, tuple(item for item in items if item != items[rank]))
    return None


def offered(answer: str) -> list[str]:
    """Return the items an answer lists: its numbered or bulleted lines, else the first enumeration; empty if none."""
    lines = [item.strip(_CLOSING + ";；") for item in _ITEM_LINE.findall(answer)]
    if len(lines) > 1:
        return lines
    enumeration = _ENUMERATION.search(answer[: LONGEST_CONTEXT * 3])
    items = _SEPARATOR.split(enumeration.group()) if enumeration else []
    return [stripped for item in items if (stripped := item.strip(_CLOSING + ";；"))]
