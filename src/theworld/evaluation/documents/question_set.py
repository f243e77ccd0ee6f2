"""Read a question set: a folder with `corpus/`, the documents, and `questions.jsonl`, one question a line.

Ask the graph the questions of a set, as a user without a language model does.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.errors import IngestionError
from theworld.evaluation.datasets import read_rows
from theworld.evaluation.documents.retrievers import WARM_UP
from theworld.graph.build import CompiledGraph
from theworld.state import Candidate, Context, QueryInput
from theworld.state.answers import place_of

CORPUS, QUESTIONS = "corpus", "questions.jsonl"
_LAYOUT = f"A question set holds {CORPUS}/ and {QUESTIONS}."
QuestionKind = Literal["fact", "howto", "two-file", "unanswerable"]


class WithGold(BaseModel, frozen=True):
    """A question with what shows that an answer to it is right; fields that are not listed are passed over."""

    question: str = Field(min_length=1)
    """As a user puts it."""
    answers: tuple[str, ...] = ()
    """Strings of which one shows that the answer is there."""
    parts: tuple[tuple[str, ...], ...] = ()
    """Several such lists instead, when something of each is needed."""
    files: tuple[str, ...] = ()
    """Files with the evidence, relative to the corpus; all of them are needed."""
    also: tuple[tuple[str, ...], ...] = ()
    """For each of them, in the same order, other files that say the same."""


class DocumentQuestion(WithGold):
    """A question of a set."""

    id: str = Field(min_length=1)
    """Unique within the set."""
    kind: QuestionKind
    """`unanswerable`: the documents do not say it."""
    lang: str = ""
    cross: bool = False
    """True when the documents are in another language than the question."""
    tags: tuple[str, ...] = ()
    """What the question is about or how it is put."""

    @property
    def answerable(self) -> bool:
        """Whether the documents hold the answer."""
        return self.kind != "unanswerable"

    @property
    def needed(self) -> tuple[tuple[str, ...], ...]:
        """Lists of strings; an answer holds at least one string of each."""
        return self.parts or ((self.answers,) if self.answers else ())

    @property
    def accepted_files(self) -> list[set[str]]:
        """For each file needed, the files that hold its evidence."""
        others = self.also or ((),) * len(self.files)
        return [{file, *more} for file, more in zip(self.files, others, strict=True)]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not any(character.isalnum() for character in self.question):
            raise ValueError("`question` holds no letter or digit")
        if self.answerable and (not self.needed or not all(self.needed)):
            raise ValueError("an answerable question needs `answers`, or `parts` without an empty list")
        if self.also and len(self.also) != len(self.files):
            raise ValueError(f"`also` has {len(self.also)} entries for {len(self.files)} files")
        return self


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions over a folder of documents."""

    name: str
    corpus: Path
    """Absolute path of the documents' folder."""
    questions: tuple[DocumentQuestion, ...]
    """In the order of the file."""


def load_question_set(folder: Path, limit: int | None = None) -> QuestionSet:
    """Read a set, only the first questions with `limit`; all lines are checked.

    Raises IngestionError with file, line and field when something is missing or wrong.
    """
    folder = Path(os.path.abspath(folder.expanduser()))
    corpus = folder / CORPUS
    if not corpus.is_dir():
        raise IngestionError(f"has no folder {CORPUS}/.", where=str(folder), remedy=_LAYOUT)
    questions = []
    for where, question in read_rows(folder / QUESTIONS, DocumentQuestion, _LAYOUT):
        missing = [file for file in question.files if not (corpus / file).is_file()]
        if missing:
            raise IngestionError(f"files: {missing[0]!r} is not in {CORPUS}/.", where=where)
        questions.append(question)
    return QuestionSet(folder.name, corpus, tuple(questions[:limit]))


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


def ask_questions(questions: QuestionSet, graph: CompiledGraph, watch: Watch) -> list[DocumentAnswer]:
    """Ask all questions, one after the other.

    Everything is as by default, but that no language model is called and that the deadline is long: quality must not
    depend on how busy the machine is.
    """
    context = Context(deadline_ms=BACKGROUND_DEADLINE_MS, use_model=False)
    graph.invoke(QueryInput(question=WARM_UP), context=context)
    answers, step = [], watch(f"Asking {questions.name}", len(questions.questions))
    for question in questions.questions:
        begun = time.perf_counter()
        output: Mapping[str, Any] = graph.invoke(QueryInput(question=question.question), context=context)
        elapsed_ms = (time.perf_counter() - begun) * 1000
        answers.append(read_answer(question.id, output, questions.corpus, elapsed_ms))
        step()
    return answers


def read_answer(name: str, output: Mapping[str, Any], corpus: Path, elapsed_ms: float = 0.0) -> DocumentAnswer:
    """Return what the graph answered to the question of this id."""
    candidates: list[Candidate] = output["candidates"]
    sources = [(note.document_id, PurePath(note.source)) for note in candidates]
    files = (path.relative_to(corpus).as_posix() if path.is_relative_to(corpus) else name for name, path in sources)
    found = tuple(dict.fromkeys(files)), tuple(map(note_as_shown, candidates))
    return DocumentAnswer(name, output["answer"], output["kind"], output["confidence"], *found, elapsed_ms)


def note_as_shown(note: Candidate) -> str:
    """Return a note's place, its lead where it has one, and its text, as a reader gets them."""
    place = place_of(note.document_id, note.source, note.title, note.section)
    return "\n".join(part for part in (place, note.lead, note.text) if part)


def write_results(file: Path, answers: Iterable[DocumentAnswer]) -> None:
    """Write one JSON line an answer."""
    same = ("kind", "confidence", "files", "notes")
    rows = ({"id": one.id, "answer": one.text} | {name: getattr(one, name) for name in same} for one in answers)
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8", newline="\n")
