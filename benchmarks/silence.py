"""What is answered without a model when the store has the answer, and when its gold documents are hidden.

    theworld eval retrieval FOLDER        # makes the store; its place is printed
    python benchmarks/silence.py FOLDER=STORE [FOLDER=STORE ...] [--every N]

Printed for both: the share of questions with an entity, an extract or "not enough evidence", and how many of the first
two equal, or hold, a gold answer. Hidden, some still do: a question for one of two things names its answer.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from answers import ENTRIES, states_of
from environment import environment

from theworld.evaluation.answers import answerable_queries
from theworld.evaluation.datasets import Query, load_dataset
from theworld.evaluation.metrics import contains, exact_match
from theworld.nodes.answer_with_entity import answer_with_entity
from theworld.nodes.answer_with_extract.node import extractive_result
from theworld.settings import AnswerSettings
from theworld.state import QueryState

Outcome = tuple[str, bool]
"""Kind of the answer, and whether it is right."""


def outcome(query: Query, state: QueryState) -> Outcome:
    """Return what the graph would show of a state; without notes that are near enough it has no evidence."""
    settings = AnswerSettings()
    if not state.evidence:
        return "none", False
    entity = answer_with_entity(state, None, settings=settings, entries=ENTRIES)["result"]
    if entity:
        return "entity", exact_match(entity.text, query.answers) == 1.0
    extract = extractive_result(state, settings)
    return ("extractive", contains(extract.text, query.answers) == 1.0) if extract else ("none", False)


def line(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return the shares of the kinds, and of what is right among them."""
    counts = Counter(kind for kind, _ in outcomes)
    right = Counter(kind for kind, is_right in outcomes if is_right)
    parts = [
        f"{kind} {counts[kind] / len(outcomes):.3f}"
        + (f" ({right[kind] / counts[kind]:.3f} right)" if counts[kind] and kind != "none" else "")
        for kind in ("entity", "extractive", "none")
    ]
    return f"  {name:15} {', '.join(parts)}"


def main() -> None:
    """Print both lines of every set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="FOLDER=STORE")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th question")
    arguments = parser.parse_args()
    print(environment())
    for given in arguments.sets:
        folder, _, store = given.partition("=")
        queries = answerable_queries(load_dataset(Path(folder)))[:: arguments.every]
        print(f"{Path(folder).name}: {len(queries)} questions")
        for name, hidden in (("as it is", False), ("gold hidden", True)):
            states = states_of(queries, Path(store), without_gold=hidden)
            print(line(name, [outcome(query, state) for query, state in states]), flush=True)


if __name__ == "__main__":
    main()
