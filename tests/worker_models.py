"""What processes of the tests load: models that fail, or die, on certain words; a worker that takes no job."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from theworld.errors import ModelError
from theworld.models.registry import Models
from theworld.settings import Settings
from theworld.state import Mention
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.testing import FakeEmbedder, FakeTagger


class PerilousTagger(FakeTagger):
    """`poison` makes it fail, `deadly` kills its process; `deadly-once:FILE` does so until the file is there."""

    def tag(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Tag, fail or die."""
        for text in texts:
            once = re.search(r"deadly-once:(\S+)", text)
            if "poison" in text:
                raise RuntimeError("cannot digest this")
            if once is not None and not Path(once.group(1)).exists():
                Path(once.group(1)).touch()
                self._die()
            if once is None and "deadly" in text:
                self._die()
        return super().tag(texts)

    @staticmethod
    def _die() -> None:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def perilous_models() -> Models:
    """Return models of which the English tagger is perilous."""
    embedders = {"en": FakeEmbedder(name="fake-en"), "zh": FakeEmbedder(name="fake-zh")}
    taggers = {"en": PerilousTagger({"Ada Lovelace": "person"}), "zh": FakeTagger({"宁波": "place"})}
    return Models(embedders, taggers, origin=perilous_models)


def missing_models() -> Models:
    """Raise what is raised where a package is missing."""
    raise ModelError("the weights are missing", remedy="Install them.")


def deadly_models() -> Models:
    """End the process."""
    os._exit(3)


def changes(path: Path) -> list[Any]:
    """Return all that a store's ledger holds of its notes, in the order written."""
    with KnowledgeStore.open(path) as store:
        found, _ = store.ledger.changes(0, 10_000)
    return [
        (
            change.note_id,
            change.note.mentions,
            {space: one.vector.tobytes() for space, one in change.note.vectors.items()},
            {space: (one.ids.tobytes(), one.codes.tobytes()) for space, one in change.note.codes.items()},
        )
        for change in found
        if change.note is not None
    ]


def leave_slowly(settings: Settings) -> None:
    """A worker of evaluation jobs that has looked at the queue for the last time; its store is a file to say so in."""
    with Path(settings.store).open("a") as began:
        began.write("began\n")
    time.sleep(1)
