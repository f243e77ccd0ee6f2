"""How well conversations are followed: turns over documents, and rewritings beside those that people wrote.

`theworld eval threads` holds each conversation with the ideal replies, or its own, as the history, and asks every turn
twice: as it was typed, and as a person made it stand alone. What the second finds and the first does not is what
reading the conversation costs. `theworld eval references` compares rewritings alone, with no documents.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.evaluation.datasets import read_rows
from theworld.evaluation.documents.question_set import (
    CORPUS,
    DocumentAnswer,
    DocumentQuestion,
    QuestionSet,
    WithGold,
    read_answer,
)
from theworld.evaluation.documents.scoring import fold as plainly
from theworld.evaluation.documents.scoring import score
from theworld.graph.build import CompiledGraph
from theworld.nodes.receive_question import SAID
from theworld.references import ReferenceResolver
from theworld.state import Context, Message, QueryInput
from theworld.text import fold
from theworld.text.tokens import CJK_RANGES

THREADS = "threads.jsonl"
_LAYOUT = f"A set of conversations holds {THREADS} and, unless only rewritings are measured, {CORPUS}/."
_ROWS = "A line holds `history` (texts, the user's first), `current` and `rewrite`."
HISTORY_QUESTION, STANDS_ALONE = "history-question", "none"
STANDALONE, ASKED_SO = "as typed", "as a person made it stand alone"
RETRIEVED = ("file recall@5", "answer contained")
"""Measures taken of both ways of asking."""


class Turn(WithGold):
    """A turn of a conversation."""

    reply: str
    """The ideal reply, the history of the turns that follow."""
    refers: str = STANDS_ALONE
    """Kind of the reference: pronoun, ellipsis, ordinal, ...; `none`, or `history-question`."""
    standalone: str = ""
    """The question as a person made it stand alone."""
    standalone_must_contain: tuple[str | tuple[str, ...], ...] = ()
    """What a stand-alone question holds: texts, or lists of which one is held."""
    unanswerable: bool = False

    def rewriting(self, alone: str) -> dict[str, float]:
        """Return whether a stand-alone question holds what it must, or was left as it is where it should be."""
        if self.refers == STANDS_ALONE:
            return {"left untouched": float(plainly(alone) == plainly(self.question))}
        if self.refers == HISTORY_QUESTION or not self.standalone_must_contain:
            return {}
        wanted = [(one,) if isinstance(one, str) else one for one in self.standalone_must_contain]
        held = plainly(alone)
        return {"stand-alone right": float(all(any(plainly(text) in held for text in texts) for texts in wanted))}


class Thread(BaseModel, frozen=True):
    """A conversation."""

    id: str = Field(min_length=1)
    lang: str = ""
    turns: tuple[Turn, ...] = Field(min_length=1)


class Rewriting(BaseModel, frozen=True):
    """A question in its history, and how a person made it stand alone."""

    history: tuple[str, ...]
    """Messages, oldest first, the user's and the assistant's by turns."""
    current: str = Field(min_length=1)
    rewrite: str = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Measured:
    """Means in [0, 1] of a group of turns or questions."""

    group: str
    asked: int
    shares: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return {"group": self.group, "n": self.asked} | {name: round(share, 4) for name, share in self.shares.items()}


def load_threads(folder: Path, limit: int | None = None) -> tuple[QuestionSet, list[Thread]]:
    """Read the conversations of a folder, only the first with `limit`; the set names its corpus and has no questions.

    Raises IngestionError with file, line and field when something is missing or wrong.
    """
    folder = folder.expanduser().absolute()
    threads = [thread for _, thread in read_rows(folder / THREADS, Thread, _LAYOUT)]
    return QuestionSet(folder.name, folder / CORPUS, ()), threads[:limit]


def load_rewritings(file: Path, limit: int | None = None) -> list[Rewriting]:
    """Read questions with their rewritings. Raises IngestionError with file, line and field."""
    return [row for _, row in read_rows(file.expanduser(), Rewriting, _ROWS)][:limit]


def measure_threads(
    threads: Sequence[Thread],
    documents: QuestionSet,
    graph: CompiledGraph | None,
    step: Callable[[], None],
    asked: list[tuple[DocumentQuestion, DocumentAnswer]] | None = None,
    *,
    own_answers: bool = False,
) -> list[Measured]:
    """Hold the conversations and return the figures: all, by kind of reference, by language.

    Without a graph only the rewritings are measured. With one, `asked` gets every turn that has something to be judged
    by as it was typed, with the question it was read as, and its answer. The history holds the set's replies, or with
    `own_answers` what the graph remembers of its own.
    """
    scored: dict[str, list[dict[str, float]]] = defaultdict(list)
    resolver = ReferenceResolver()
    for thread in threads:
        history: list[Message] = []
        for number, turn in enumerate(thread.turns, 1):
            reply = turn.reply
            if graph is None:
                scores = turn.rewriting(resolver.resolve(turn.question, history).standalone_query or turn.question)
            else:
                fields = turn.model_dump(include=set(WithGold.model_fields))
                judged = turn.unanswerable or bool(turn.answers or turn.parts)  # not so thanks between two questions
                kind = "unanswerable" if turn.unanswerable or not judged else "fact"
                question = DocumentQuestion(id=f"{thread.id}#{number}", kind=kind, lang=thread.lang, **fields)
                scores, alone, answer, said = _asked(turn, question, history, documents, graph)
                reply = said if own_answers else reply
                if asked is not None and judged:
                    read = "" if plainly(alone) == plainly(turn.question) else f" (read as: {alone})"
                    asked.append((question.model_copy(update={"question": turn.question + read}), answer))
            for group in ("all", f"refers {turn.refers}", *([f"lang {thread.lang}"] if thread.lang else [])):
                scored[group].append(scores)
            history += [Message("user", turn.question), Message("assistant", reply)]
            step()
    return [_mean(group, scored[group]) for group in sorted(scored, key=lambda name: (name != "all", name))]


def _asked(
    turn: Turn, question: DocumentQuestion, history: Sequence[Message], documents: QuestionSet, graph: CompiledGraph
) -> tuple[dict[str, float], str, DocumentAnswer, str]:
    """Return the measures of a turn, the question it was read as, its answer, and what is remembered of this."""
    context = Context(deadline_ms=BACKGROUND_DEADLINE_MS, use_model=False)

    def ask(text: str, before: Sequence[Message]) -> tuple[str, DocumentAnswer, str]:
        output = graph.invoke(QueryInput(question=text, history=list(before)), context=context)
        said = output["messages"][-1].response_metadata[SAID]
        return output["reference"].standalone_query or text, read_answer(question.id, output, documents.corpus), said

    alone, answer, said = ask(turn.question, history)
    if turn.refers == HISTORY_QUESTION:
        found = score(question, answer)
        held = {"answered from the conversation": found["answer contained"]} if "answer contained" in found else {}
        return held, alone, answer, said
    scores = turn.rewriting(alone) | _kept(question, answer, STANDALONE)
    if turn.standalone:
        scores |= _kept(question, ask(turn.standalone, ())[1], ASKED_SO)
    return scores, alone, answer, said


def _kept(question: DocumentQuestion, answer: DocumentAnswer, way: str) -> dict[str, float]:
    found = score(question, answer)
    return {f"{name}, {way}": found[name] for name in RETRIEVED if name in found}


def _mean(group: str, scores: Sequence[Mapping[str, float]]) -> Measured:
    names = dict.fromkeys(name for one in scores for name in one)
    values = {name: [one[name] for one in scores if name in one] for name in names}
    return Measured(group, len(scores), {name: sum(found) / len(found) for name, found in values.items()})


def measure_rewritings(rows: Iterable[Rewriting], step: Callable[[], None] = lambda: None) -> Measured:
    """Return exact matches and F1 of the questions as typed and as rewritten, and how often rewriting made one worse.

    `made worse` is a share of those touched: those rewritten, and those without a sure antecedent, which keep their
    words and get the turn before as context; `untouched kept` a share of those that a person left as they were.
    """
    resolver, scores = ReferenceResolver(), []
    for row in rows:
        history = [Message("assistant" if place % 2 else "user", text) for place, text in enumerate(row.history)]
        found = resolver.resolve(row.current, history)
        rewritten = found.standalone_query or row.current
        before, after = token_f1(row.current, row.rewrite), token_f1(rewritten, row.rewrite)
        left = _words(row.current) == _words(row.rewrite)
        measures = {
            "exact, as typed": float(left),
            "exact, rewritten": float(_words(rewritten) == _words(row.rewrite)),
            "F1, as typed": before,
            "F1, rewritten": after,
            "touched": float(rewritten != row.current),
        }
        if rewritten != row.current:
            in_context = str(found.metadata.get("evidence")).startswith("context")
            measures["made worse, context added" if in_context else "made worse, rewritten"] = float(after < before)
            measures["made worse, all"] = float(after < before)
        if left:
            measures["untouched kept"] = float(rewritten == row.current)
        scores.append(measures)
        step()
    return _mean("all", scores)


def _words(text: str) -> list[str]:
    return re.findall(rf"[{CJK_RANGES}]|[^\W{CJK_RANGES}]+", re.sub(r"['’]s\b", " ", fold(text)))


def token_f1(predicted: str, gold: str) -> float:
    """Return the F1 of the words (Chinese: characters) of two texts, each counted as often as it stands there."""
    ours, theirs = Counter(_words(predicted)), Counter(_words(gold))
    same = sum((ours & theirs).values())
    return 2 * same / (sum(ours.values()) + sum(theirs.values())) if same else 0.0
