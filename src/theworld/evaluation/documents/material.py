"""What rivals are made from, handed in two plain files to a process of their own, which holds nothing else of ours.

So their packages, their time and their memory are their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from theworld.errors import StoreError, TheWorldError
from theworld.extras import install_command
from theworld.models.protocols import Embedder, FloatArray
from theworld.models.registry import load_models
from theworld.settings import Settings

DEPTH = 100
"""Notes that each list of a rival holds, as many as our channels give."""
WARM_UP = "Which of these was the first, and why? 其中哪一个最早？"
"""Asked before the clock counts; no question of a data set, whose embedding would then be known."""
_WORK, _VECTORS = "work.json", "vectors.npy"
_LAST_LINES = 4


@dataclass(frozen=True)
class Material:
    """What every rival is made from."""

    notes: Sequence[tuple[str, str]]
    """Id and text of each note or passage."""
    vectors: FloatArray
    """Their unit vectors, shape (notes, dimension), float32, of the embedder's space."""
    embedder: Embedder
    """The embedder of the questions, and of the vectors."""

    @cached_property
    def vector_of(self) -> Mapping[str, FloatArray]:
        """Return the vector by a note's text: rivals ask for the embedding of texts, which is known already."""
        return {text: vector for (_, text), vector in zip(self.notes, self.vectors, strict=True)}

    def embed_question(self, text: str) -> list[float]:
        """Return the question's vector as rivals want it."""
        vector: list[float] = self.embedder.embed_query(text).vector.astype(float).tolist()
        return vector

    def embed_notes(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the known vectors of notes' texts."""
        return [self.vector_of[text].astype(float).tolist() for text in texts]


def write_work(
    folder: Path, notes: Sequence[tuple[str, str]], vectors: Sequence[FloatArray], space: str, questions: Sequence[str]
) -> None:
    """Write notes, vectors of the space in the same order, and questions, for the processes that work on them."""
    work = {"notes": notes, "space": space, "questions": questions}
    (folder / _WORK).write_text(json.dumps(work, ensure_ascii=False), "utf-8")
    np.save(folder / _VECTORS, np.asarray(vectors, np.float32))


def read_work(folder: Path) -> tuple[Material, list[str]]:
    """Return what `write_work` wrote: the material, with the embedder of its space, and the questions."""
    work = json.loads((folder / _WORK).read_text("utf-8"))
    embedder = load_models(Settings.load()).by_space(work["space"])
    if embedder is None:
        raise StoreError(f"no configured embedder makes the space {work['space']}.", where=str(folder))
    notes = [(note_id, text) for note_id, text in work["notes"]]
    return Material(notes, np.load(folder / _VECTORS), embedder), work["questions"]


def run_worker(command: Sequence[str], folder: Path, name: str, label: str) -> dict[str, Any]:
    """Run `command FOLDER NAME` and return what it writes; TheWorldError when it fails.

    It reads the settings as `Settings.load` does, from file and environment.
    """
    environment = os.environ | {"HAYSTACK_TELEMETRY_ENABLED": "False", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(  # noqa: S603 - our own module and a folder we made
        [sys.executable, *command, str(folder), name],
        env=environment, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if done.returncode:
        message = "\n".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
        remedy = f"Its packages must be those of {install_command('benchmarks')}."
        raise TheWorldError(f"failed: {message}", where=label, remedy=remedy)
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text("utf-8"))
    return found
