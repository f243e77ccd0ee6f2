"""Answers without a model on BEIR folders: EM and F1, entity answers by confidence, and what passages contain.

    theworld eval retrieval FOLDER        # makes the store; its place is printed
    python benchmarks/answers.py FOLDER=STORE [FOLDER=STORE ...] [--limit N]

An entity answer is right when it equals a gold answer (exact match as SQuAD has it). Passages are right when one of
them contains a gold answer; yes/no questions are left out there. Both are measured on all questions, whichever the
graph would show; silent is the share in which neither is shown.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from environment import environment
from langgraph.runtime import Runtime
from quality_measures.calibration import calibration_error

from theworld.entities import SnapshotKnowledge
from theworld.evaluation.answers import answerable_queries
from theworld.evaluation.datasets import load_dataset
from theworld.evaluation.metrics import contains, exact_match, f1
from theworld.graph import build, build_graph, open_resources
from theworld.nodes.answer_with_entity import answer_with_entity
from theworld.nodes.answer_with_passages import answer_with_passages
from theworld.nodes.fuse_candidates import fuse_candidates
from theworld.retrieval.notes import TextSource
from theworld.settings import AnswerSettings, Settings
from theworld.state import Context, QueryState, Update
from theworld.stores.ledger.evaluations import Query

ANY_CONFIDENCE = AnswerSettings(min_confidence=0.0)
ANY_EVIDENCE = Settings(answers={"min_evidence": 0.0})
ENTRIES = SnapshotKnowledge()
"""The bundled entries, by which names are one entity; as in the graph by default."""
Point = tuple[float, float, float]
"""Coverage, precision, confidence."""
COVERAGES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6)


@dataclass(frozen=True)
class Measured:
    """One question: what each kind of answer says, and the milliseconds of CPU it took."""

    exact: float
    f1: float
    confidence: float | None
    right: bool
    shown: bool
    contained: bool | None
    characters: int
    silent: bool
    entity_ms: float
    passages_ms: float


def states_of(
    queries: Sequence[Query], store: Path, *, without_gold: bool = False
) -> Iterator[tuple[Query, QueryState, TextSource]]:
    """Yield every question with the state in which the graph starts to answer it, and the store.

    `without_gold` hides each question's gold documents from it, so that the store seldom answers it.
    """
    seen: list[QueryState] = []
    hidden: set[str] = set()

    def fuse(state: QueryState, runtime: Runtime[Context], **given: Any) -> Update:
        update = fuse_candidates(state, runtime, **given)
        left = [one for one in update["candidates"] if one.document_id not in hidden]
        return update | {"candidates": left, "evidence": left[: len(update["evidence"])]}

    def keep(state: QueryState, runtime: object, **given: object) -> Update:  # noqa: ARG001
        seen.append(state)
        return {"result": None}

    keep.__name__, fuse.__name__ = "answer_with_entity", "fuse_candidates"
    build.answer_with_entity, build.fuse_candidates = keep, fuse
    with open_resources(Settings(store=store, retrieval={"deadline_ms": 60_000})) as resources:
        graph = build_graph(resources)
        for query in queries:
            seen.clear()
            hidden.clear()
            hidden.update(query.grades if without_gold else ())
            graph.invoke({"question": query.text})
            yield query, seen[-1] if seen else QueryState(question=query.text, query=query.text), resources.store


def measure(query: Query, state: QueryState, store: TextSource) -> Measured:
    """Answer one question both ways."""
    began = time.process_time()
    entity = answer_with_entity(state, None, settings=ANY_CONFIDENCE, entries=ENTRIES)["result"]
    shown = answer_with_entity(state, None, settings=AnswerSettings(), entries=ENTRIES)["result"]
    middle = time.process_time()
    runtime, alone = Runtime(context=Context()), state.model_copy(update={"result": None})
    found = answer_with_passages(alone, runtime, notes=store, settings=ANY_EVIDENCE)["result"]
    end = time.process_time()
    text = "\n\n".join(passage.text for passage in found.passages) if found else ""
    yes_no = query.answers[0].casefold() in {"yes", "no"}
    silent = shown is None and (found is None or found.confidence < AnswerSettings().min_evidence)
    said = shown.text if shown else "" if silent else text
    return Measured(
        exact_match(said, query.answers),
        f1(said, query.answers),
        entity.confidence if entity else None,
        bool(entity and exact_match(entity.text, query.answers)),
        shown is not None,
        None if yes_no else contains(text, query.answers) == 1.0,
        len(text),
        silent,
        (middle - began) * 500,
        (end - middle) * 1000,
    )


def curve(results: Sequence[Measured]) -> list[Point]:
    """Return (coverage, precision, confidence) after each answer, the most confident first."""
    answered = sorted(
        (item for item in results if item.confidence is not None), key=lambda item: -(item.confidence or 0)
    )
    points, right = [], 0
    for count, item in enumerate(answered, start=1):
        right += item.right
        points.append((count / len(results), right / count, item.confidence or 0.0))
    return points


def overall(results: Sequence[Measured]) -> str:
    """Return exact match and F1 over all questions: the entity where it is shown, else the passages."""
    return f"all questions: EM {fmean(item.exact for item in results):.3f}, F1 {fmean(item.f1 for item in results):.3f}"


def calibration(results: Sequence[Measured]) -> str:
    """Return the expected calibration error of the entities shown."""
    stated = [(item.confidence or 0.0, item.right) for item in results if item.shown]
    return f"calibration error of {len(stated)} entities: {calibration_error(stated):.3f}"


def report(name: str, results: Sequence[Measured]) -> None:
    """Print the figures of one set."""
    shown = [item for item in results if item.shown]
    contained = [item.contained for item in results if item.contained is not None]
    points = curve(results)
    print(f"{name}: {len(results)} questions")
    print(f"  {overall(results)}")
    precision = fmean(item.right for item in shown) if shown else 0.0
    print(f"  entity answers shown: coverage {len(shown) / len(results):.3f}, precision {precision:.3f}")
    print(f"  {calibration(results)}")
    for coverage in COVERAGES:
        point = next((point for point in points if point[0] >= coverage), None)
        if point:
            print(f"    coverage {coverage:.2f}: precision {point[1]:.2f} (confidence {point[2]:.2f})")
    length = median(item.characters for item in results)
    print(f"  passages contain the answer: {fmean(contained):.3f} of {len(contained)}, median {length:.0f} characters")
    print(f"  silent: {fmean(item.silent for item in results):.3f}")
    entity_ms, passages_ms = median(i.entity_ms for i in results), median(i.passages_ms for i in results)
    print(f"  median CPU: entity {entity_ms:.1f} ms, passages {passages_ms:.1f} ms", flush=True)


def main() -> None:
    """Print the figures of every set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="FOLDER=STORE")
    parser.add_argument("--limit", type=int, help="only the first questions of each set")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th question")
    arguments = parser.parse_args()
    print(environment())
    for given in arguments.sets:
        folder, _, store = given.partition("=")
        queries = answerable_queries(load_dataset(Path(folder)), arguments.limit)[:: arguments.every]
        results = [measure(query, state, notes) for query, state, notes in states_of(queries, Path(store))]
        report(Path(folder).name, results)


if __name__ == "__main__":
    main()
