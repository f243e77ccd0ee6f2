"""Labelled questions for the router: reading them, holding a third back, and how often a strategy is right."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, cast, get_args

from theworld.errors import IngestionError
from theworld.evaluation.datasets import read_lines
from theworld.state import Intent, RoutePath
from theworld.text import Language, detect_language


class Labelled(NamedTuple):
    """One question with the path it should take."""

    question: str
    path: RoutePath
    intent: Intent

    @property
    def language(self) -> Language:
        """Language of the question."""
        return detect_language(self.question)

    @property
    def held_back(self) -> bool:
        """Whether it belongs to the third that nothing is tuned on, by a hash of the question."""
        return hashlib.blake2b(self.question.encode(), digest_size=4).digest()[0] % 3 == 0


def read_labelled(file: Path) -> list[Labelled]:
    """Return the questions of a tab-separated file: intent, path, question; lines that begin with # are left out.

    Raises IngestionError naming the line that is wrong, or when the file cannot be read or holds no question.
    """
    form = f"Paths: {', '.join(get_args(RoutePath))}; intents: {', '.join(get_args(Intent))}."
    found = []
    for number, line in read_lines(file, form):
        if line.startswith("#"):
            continue
        intent, path, question = ([*line.split("\t", 2), "", ""])[:3]
        if path not in get_args(RoutePath) or intent not in get_args(Intent) or not question.strip():
            raise IngestionError(
                f"line {number} is not `intent TAB path TAB question`",
                where=str(file),
                remedy=form,
            )
        found.append(Labelled(question.strip(), cast("RoutePath", path), cast("Intent", intent)))
    if not found:
        raise IngestionError(
            "holds no question.", where=str(file), remedy=f"A line is `intent TAB path TAB question`. {form}"
        )
    return found


class Accuracy(NamedTuple):
    """How often the path was right."""

    right: int
    total: int
    mistakes: tuple[tuple[str, RoutePath, RoutePath], ...]
    """(question, wanted, chosen)."""

    @property
    def share(self) -> float:
        """Share of questions with the right path, 0.0 without questions."""
        return self.right / self.total if self.total else 0.0


def accuracy(labelled: Iterable[Labelled], choose: Callable[[str], RoutePath]) -> Accuracy:
    """Return how often a way of choosing is right."""
    chosen = [(item, choose(item.question)) for item in labelled]
    wrong = tuple((item.question, item.path, path) for item, path in chosen if path != item.path)
    return Accuracy(len(chosen) - len(wrong), len(chosen), wrong)


def balance(labelled: Sequence[Labelled]) -> Counter[tuple[Intent, Language]]:
    """Return how many questions there are by intent and language."""
    return Counter((item.intent, item.language) for item in labelled)
