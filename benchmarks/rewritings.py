"""Stand-alone questions beside those that people wrote, with no documents: exact matches, F1, and what is made worse.

    python benchmarks/rewritings.py canard-dev.jsonl [--limit N]

A line holds `history` (texts, the user's first), `current` and `rewrite`, as CANARD has them.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from environment import environment
from pydantic import BaseModel, ConfigDict, Field

from theworld.evaluation.conversations import Measured, mean_of
from theworld.evaluation.datasets import read_rows
from theworld.references import ReferenceResolver
from theworld.state import Message
from theworld.text import fold
from theworld.text.language import CJK_RANGES

_ROWS = "A line holds `history` (texts, the user's first), `current` and `rewrite`."


class Rewriting(BaseModel):
    """A question in its history, and how a person made it stand alone."""

    model_config = ConfigDict(frozen=True)

    history: tuple[str, ...]
    """Messages, oldest first, the user's and the assistant's by turns."""
    current: str = Field(min_length=1)
    rewrite: str = Field(min_length=1)


def load_rewritings(file: Path, limit: int | None = None) -> list[Rewriting]:
    """Read questions with their rewritings. Raises IngestionError with file, line and field."""
    return [row for _, row in read_rows(file.expanduser(), Rewriting, _ROWS)][:limit]


def measure_rewritings(rows: Iterable[Rewriting]) -> Measured:
    """Return exact matches and F1 of the questions as typed and as rewritten, and how often rewriting made one worse.

    `made worse` is a share of those touched: those rewritten, and those without a sure antecedent, which keep their
    words and get the turn before as context; `untouched kept` a share of those that a person left as they were.
    """
    resolver, scores = ReferenceResolver(), []
    for row in rows:
        history = [Message("assistant" if place % 2 else "user", text) for place, text in enumerate(row.history)]
        found = resolver.resolve(row.current, history)
        in_context = str(found.metadata.get("evidence")).startswith("context")
        scores.append(dict(_compared(row, found.standalone_query or row.current, in_context=in_context)))
    return mean_of("all", scores)


def _compared(row: Rewriting, rewritten: str, *, in_context: bool) -> Iterator[tuple[str, float]]:
    before, after = token_f1(row.current, row.rewrite), token_f1(rewritten, row.rewrite)
    yield "exact, as typed", float(_words(row.current) == _words(row.rewrite))
    yield "exact, rewritten", float(_words(rewritten) == _words(row.rewrite))
    yield "F1, as typed", before
    yield "F1, rewritten", after
    yield "touched", float(rewritten != row.current)
    if rewritten != row.current:
        yield "made worse, context added" if in_context else "made worse, rewritten", float(after < before)
        yield "made worse, all", float(after < before)
    if _words(row.current) == _words(row.rewrite):
        yield "untouched kept", float(rewritten == row.current)


def _words(text: str) -> list[str]:
    return re.findall(rf"[{CJK_RANGES}]|[^\W{CJK_RANGES}]+", re.sub(r"['’]s\b", " ", fold(text)))


def token_f1(predicted: str, gold: str) -> float:
    """Return the F1 of the words (Chinese: characters) of two texts, each counted as often as it stands there."""
    ours, theirs = Counter(_words(predicted)), Counter(_words(gold))
    same = sum((ours & theirs).values())
    return 2 * same / (sum(ours.values()) + sum(theirs.values())) if same else 0.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--limit", type=int, help="only the first questions")
    arguments = parser.parse_args()
    figures = measure_rewritings(load_rewritings(arguments.file, arguments.limit))
    print(environment())
    print(f"{arguments.file.name}: {figures.asked} questions, per cent")
    for name, share in figures.shares.items():
        print(f"  {name:28}{100 * share:6.1f}")


if __name__ == "__main__":
    main()
