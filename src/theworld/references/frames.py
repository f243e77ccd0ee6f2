"""What a turn does with the frame of the question before: it drops it, or puts something else in its place.

- A change of topic ("换个话题，…") drops the frame: what was said before it is not looked at, and the words that
  announce it are no part of the query.
- A correction ("No, I meant X", "不对，我问的是X") keeps the frame and replaces a filler: what the correction rejects
  ("not Y"), else its like (a year by a year, a name by a name), else what ends in the same word ("sweet potatoes" in
  the place of "potatoes"). Where nothing is alike the filler stands before its frame in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import NamedTuple

from theworld.references.context import LOOK_BACK
from theworld.references.history import text_of
from theworld.references.phrases import LANGUAGES, load_table
from theworld.state import Message
from theworld.text.folding import fold_in_place
from theworld.text.language import CJK_RANGES

LONGEST_FILLER = 60
LEAST_SHARED = 2
"""Characters that two Chinese fillers must end in alike."""
_GAP = r"[\s,.!，。！、:：—-]*"
_STOP = re.compile(r"[的\s，。？！、,.?!:：]|[^" + CJK_RANGES + "]")


class Correction(NamedTuple):
    """What was meant, and what was not, where it says so."""

    value: str
    rejected: str
    start: int
    """Place of `value` in the query."""


def _any(phrases: Sequence[str]) -> str:
    ordered = sorted(map(str, phrases), key=len, reverse=True)
    return "|".join(re.escape(phrase).replace("…", "[^，。,.？?]{1,10}?").replace(r"\ ", r"\s+") for phrase in ordered)


@cache
def _changes() -> re.Pattern[str]:
    table = load_table("frames")
    heads = "|".join(_any(table["topic_changes"][code]) for code in LANGUAGES)
    before = _any(table["before_changes"])
    return re.compile(
        rf"^\W*(?:(?:{before}){_GAP})*(?:{heads})[吧啦呀了]?(?:\s*[:,，：.。;；!！—-]+\s*|$)(?:{heads}|{_GAP})*"
    )


@cache
def _corrected() -> re.Pattern[str]:
    table = load_table("frames")
    heads = "|".join(_any(table["corrected"][code]) for code in LANGUAGES)
    before = _any(table["before_corrected"])
    return re.compile(
        rf"^\W*(?:(?:{before}){_GAP})*(?:{heads})\s*(?P<value>[^.?!。？！]+?)"
        rf"(?:[,，]\s*(?:not|不是|而不是)\s*(?P<rejected>[^.?!。？！]+?))?[.?!。？！\s]*$"
    )


@lru_cache(maxsize=4096)
def topic_change(text: str) -> int | None:
    """Return where the words after an announced change of topic begin; None where a text announces none."""
    match = _changes().match(fold_in_place(text[:200]))
    return match.end() if match else None


def since_topic_change(history: Sequence[Message]) -> tuple[Sequence[Message], int]:
    """Return the turns of the present topic, without the words that announced it, and the index of the first."""
    for index in range(len(history) - 1, max(-1, len(history) - 1 - LOOK_BACK), -1):
        text = text_of(history[index])
        if history[index].role == "user" and (at := topic_change(text)) is not None:
            return [replace(history[index], content=text[at:]), *history[index + 1 :]], index
    return history, 0


def correction_of(query: str) -> Correction | None:
    """Return what a turn that corrects the one before puts in its place; None for any other turn."""
    match = _corrected().match(fold_in_place(query))
    if match is None or len(match["value"]) > LONGEST_FILLER:
        return None
    value = query[slice(*match.span("value"))].strip()
    rejected = query[slice(*match.span("rejected"))].strip() if match["rejected"] else ""
    return Correction(value, rejected, match.start("value"))


def refilled(correction: Correction, frame: str) -> str | None:
    """Return the frame with the correction's value in the place of what it rejects or of what ends like it."""
    value = re.sub(r"^(?:the|a|an)\s+", "", correction.value, flags=re.IGNORECASE)
    folded = fold_in_place(frame)
    at = folded.rfind(fold_in_place(correction.rejected)) if correction.rejected else -1
    if at >= 0:
        return frame[:at] + value + frame[at + len(correction.rejected) :]
    place = _alike(fold_in_place(value), folded)
    return frame[: place[0]] + value + frame[place[1] :] if place else None


def _alike(value: str, frame: str) -> tuple[int, int] | None:
    """Return the place in the frame of what ends in the value's last word."""
    if value.isascii():
        last = re.escape(value.rsplit(maxsplit=1)[-1].removesuffix("s")) if value else ""
        match = re.search(rf"\b{last}(?:s|es)?\b", frame) if len(last) > 2 else None
        return match.span() if match else None
    for length in range(min(len(value), 8), LEAST_SHARED - 1, -1):
        at = frame.rfind(value[-length:])
        if at >= 0:
            end, whole = at + length, at + length - len(value)
            own = whole >= 0 and not _STOP.search(frame[whole:end])
            return (whole if own and (whole == 0 or _STOP.match(frame[whole - 1])) else at), end
    return None
