"""Why a question failed: one cause each, from what was found and what was shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from theworld.evaluation.documents.asking import DocumentAnswer
from theworld.evaluation.documents.question_set import DocumentQuestion
from theworld.evaluation.documents.scoring import CHOSEN, declined, files_found, holds_fact, joined

Cause = Literal[
    "not retrieved", "retrieved, not chosen", "chosen, not shown", "silent", "answered although unanswerable"
]
CAUSES: dict[Cause, str] = {
    "not retrieved": "no candidate holds the fact",
    "retrieved, not chosen": "candidates hold it, but not the first three",
    "chosen, not shown": "the first three hold it, the answer does not",
    "silent": "nothing was answered, or only with low confidence",
    "answered although unanswerable": "the documents do not say it, and it was answered",
}
"""Each cause and what it means."""


@dataclass(frozen=True, slots=True)
class DocumentFailure:
    """One failed question."""

    id: str
    question: str
    cause: Cause
    note_rank: int | None
    """How many of the first notes it takes to hold the fact; None when all of them do not."""
    file_rank: int | None
    """How many of the first files it takes to hold every file needed; None when all of them do not."""
    kind: str
    """Kind of the answer."""
    confidence: float | None
    answer: str

    def as_json(self) -> dict[str, Any]:
        """Return all fields."""
        return asdict(self)


def explain_failure(question: DocumentQuestion, answer: DocumentAnswer) -> DocumentFailure | None:
    """Return why a question failed, None when it did not.

    An answerable question fails when its answer does not hold the fact, or is declined; an unanswerable one when it is
    answered. `silent` goes before the other causes; the ranks tell whether the fact was found then.
    """
    note_rank = file_rank = None
    if question.answerable:
        note_rank = _least(len(answer.notes), lambda k: holds_fact(question, joined(answer.notes[:k])))
        file_rank = _least(len(answer.files), lambda k: all(files_found(question, answer.files, k)))
    cause = _cause(question, answer, note_rank)
    if cause is None:
        return None
    return DocumentFailure(
        question.id, question.question, cause, note_rank, file_rank, answer.kind, answer.confidence, answer.text
    )


def _cause(question: DocumentQuestion, answer: DocumentAnswer, note_rank: int | None) -> Cause | None:
    if not question.answerable:
        return None if declined(answer) else "answered although unanswerable"
    if declined(answer):
        return "silent"
    if holds_fact(question, answer.text):
        return None
    if note_rank is None:
        return "not retrieved"
    return "chosen, not shown" if note_rank <= CHOSEN else "retrieved, not chosen"


def _least(length: int, holds: Callable[[int], bool]) -> int | None:
    """Return the least number from 1 to `length` of which something holds."""
    return next((k for k in range(1, length + 1) if holds(k)), None)
