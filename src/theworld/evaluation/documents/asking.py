"""Ask the graph the questions of a set, as a user without a language model does."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from theworld.evaluation.documents.question_set import QuestionSet
from theworld.evaluation.metrics import first_occurrences
from theworld.evaluation.peers.worker import WARM_UP
from theworld.evaluation.retrieval import PATIENCE_MS
from theworld.state import Candidate, Context, QueryInput
from theworld.state.places import place_of

if TYPE_CHECKING:
    from theworld.graph.build import CompiledGraph

Watch = Callable[[str, int], Callable[[], None]]
"""Hears that some work of so many steps begins; what it returns is called after each step."""


@dataclass(frozen=True, slots=True)
class DocumentAnswer:
    """What was answered to one question, and what was found for it."""

    id: str
    """The question's id."""
    text: str
    """The whole answer as shown."""
    kind: str
    """How it was made; `none` when it was not."""
    confidence: float | None
    """In [0, 1], None where a system states none."""
    files: tuple[str, ...]
    """Files, best first, relative to the corpus."""
    notes: tuple[str, ...]
    """Notes or passages as they are shown, best first."""
    elapsed_ms: float
    """Wall time of the question."""

    def as_line(self) -> dict[str, Any]:
        """Return the fields by which a results file names them."""
        return {
            "id": self.id,
            "answer": self.text,
            "kind": self.kind,
            "confidence": self.confidence,
            "files": list(self.files),
            "notes": list(self.notes),
        }


def ask_questions(questions: QuestionSet, graph: CompiledGraph, watch: Watch) -> list[DocumentAnswer]:
    """Ask all questions, one after the other.

    Everything is as by default, but that no language model is called and that the deadline is long: quality must not
    depend on how busy the machine is.
    """
    context = Context(deadline_ms=PATIENCE_MS, use_model=False)
    graph.invoke(QueryInput(question=WARM_UP), context=context)
    answers, step = [], watch(f"Asking {questions.name}", len(questions.questions))
    for question in questions.questions:
        begun = time.perf_counter()
        output: Mapping[str, Any] = graph.invoke(QueryInput(question=question.question), context=context)
        elapsed_ms = (time.perf_counter() - begun) * 1000
        candidates: list[Candidate] = output["candidates"]
        answers.append(
            DocumentAnswer(
                question.id,
                output["answer"],
                output["kind"],
                output["confidence"],
                tuple(first_occurrences(_file_of(candidate, questions.corpus) for candidate in candidates)),
                tuple(map(note_as_shown, candidates)),
                elapsed_ms,
            )
        )
        step()
    return answers


def note_as_shown(note: Candidate) -> str:
    """Return a note's place, its lead where it has one, and its text, as a reader gets them."""
    place = place_of(note.document_id, note.source, note.title, note.section)
    return "\n".join(part for part in (place, note.lead, note.text) if part)


def _file_of(note: Candidate, corpus: Path) -> str:
    source = PurePath(note.source)
    return source.relative_to(corpus).as_posix() if source.is_relative_to(corpus) else note.document_id


def write_results(file: Path, answers: Iterable[DocumentAnswer]) -> None:
    """Write one JSON line an answer."""
    lines = (json.dumps(answer.as_line(), ensure_ascii=False) + "\n" for answer in answers)
    file.write_text("".join(lines), "utf-8", newline="\n")
