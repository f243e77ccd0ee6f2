"""An answer read off stated facts, with the places that state them."""

from __future__ import annotations

from dataclasses import dataclass

from theworld.state import AnswerScores

YES = {"en": "yes", "zh": "是"}
NO = {"en": "no", "zh": "否"}


@dataclass(frozen=True, slots=True)
class Support:
    """A piece of a note that an answer rests on."""

    note: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ReasonedAnswer:
    """An answer read off stated attributes."""

    text: str
    confidence: float
    support: tuple[Support, ...]
    reason: str
    scores: AnswerScores | None = None
