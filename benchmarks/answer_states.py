"""Questions with the state in which the graph starts to answer them, kept in files so that reruns take seconds.

A folder holds corpus/ and questions.jsonl, or is in the BEIR layout; `theworld eval documents SET --store STORES` and
`theworld eval retrieval FOLDER` make the stores.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from langgraph.runtime import Runtime
from pydantic import BaseModel

from theworld.evaluation.answers import answerable_queries
from theworld.evaluation.datasets import load_dataset
from theworld.evaluation.documents.question_set import DocumentQuestion, load_question_set
from theworld.evaluation.documents.scoring import holds_fact
from theworld.evaluation.metrics import exact_match
from theworld.graph import build, build_graph, open_resources
from theworld.settings import Settings
from theworld.state import Context, QueryState, Update

FIELDS = {"question", "query", "language", "evidence", "ontology", "judgements"}
"""Of the state, what answering reads."""
CONTEXT = Context(use_model=False, deadline_ms=60_000)


class Asked(BaseModel):
    """One question: as a question about documents, or with gold answers; and its state."""

    question: DocumentQuestion | None = None
    gold: list[str] = []
    state: QueryState

    def is_right(self, answer: str) -> bool:
        """Return whether a short answer holds what is needed, or equals a gold answer."""
        if self.question is not None:
            return self.question.answerable and holds_fact(self.question, answer)
        return bool(exact_match(answer, self.gold))


def states_of(folder: Path, store: Path, kept: Path | None = None) -> list[Asked]:
    """Return the questions of a set; from its file in `kept` where there is one, else that is written."""
    file = kept / f"{folder.name}.jsonl" if kept else None
    if file and file.exists():
        return [Asked.model_validate_json(line) for line in file.read_text("utf-8").splitlines()]
    asked = list(_asked(folder, store))
    if file:
        include = {"question": True, "gold": True, "state": FIELDS}
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(one.model_dump_json(include=include) + "\n" for one in asked), "utf-8")
    return asked


def _asked(folder: Path, store: Path) -> Iterator[Asked]:
    seen: list[QueryState] = []

    def keep(state: QueryState, runtime: Runtime[Context], **given: object) -> Update:  # noqa: ARG001
        seen.append(state)
        return {"result": None}

    keep.__name__ = "answer_with_entity"
    before, build.answer_with_entity = build.answer_with_entity, keep
    try:
        with open_resources(Settings(store=store)) as resources:
            graph = build_graph(resources)
            for text, question, gold in _questions(folder):
                seen.clear()
                graph.invoke({"question": text}, context=CONTEXT)
                if seen:
                    yield Asked(question=question, gold=gold, state=seen[-1])
    finally:
        build.answer_with_entity = before


def _questions(folder: Path) -> Iterator[tuple[str, DocumentQuestion | None, list[str]]]:
    if (folder / "questions.jsonl").exists():
        for question in load_question_set(folder, None).questions:
            yield question.question, question, []
    else:
        for query in answerable_queries(load_dataset(folder), None):
            yield query.text, None, list(query.answers)


def arguments_of(description: str | None) -> argparse.Namespace:
    """Return the command line: sets (pairs of folder and store) and `kept`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="FOLDER=STORE", type=_pair)
    parser.add_argument("--kept", type=Path, metavar="DIR", help="where states are kept between runs")
    return parser.parse_args()


def _pair(given: str) -> tuple[Path, Path]:
    folder, _, store = given.partition("=")
    return Path(folder), Path(store)
