"""Stopped at any moment, nothing is lost but the batch in hand, and a rerun goes on from there."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from theworld.ingestion import IngestInterrupted, ingest
from theworld.ingestion.engines import BATCH_NOTES
from theworld.ingestion.report import Interruption
from theworld.models.registry import Models
from theworld.settings import Settings
from theworld.stores.knowledge_store import KnowledgeStore

DOCUMENTS = 3 * BATCH_NOTES


@pytest.fixture
def corpus(folder: Path) -> Path:
    """Return a corpus of three batches; every document names the one after it."""
    path = folder / "corpus.jsonl"
    rows = (
        {"_id": str(i), "title": f"Person Number {i:04}", "text": f"Knew Person Number {i + 1:04}."}
        for i in range(DOCUMENTS)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class Stopper:
    """Presses Ctrl-C when a part has gone so many steps."""

    def __init__(self, part: str, after: int, times: int = 1) -> None:
        self.part, self.after, self.times = part, after, times
        self.told = 0

    def start(self, part: str, total: int) -> None:
        """Notice nothing."""

    def advance(self, part: str, steps: int) -> None:
        if part == self.part:
            self.after -= steps
            if self.after <= 0 and self.times:
                presses, self.times = self.times, 0
                for _ in range(presses):
                    signal.raise_signal(signal.SIGINT)

    def stopping(self) -> None:
        self.told += 1


@pytest.fixture(autouse=True)
def _usual_handler() -> Iterator[None]:
    """A shell's background jobs begin with Ctrl-C ignored; these tests need Python's own handling of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def is_complete(store: KnowledgeStore) -> bool:
    notes = list(store.iter_notes("default"))
    linked = [note for note in notes if any(mention.titled for mention in note.mentions)]
    return len(notes) == DOCUMENTS and len(linked) == DOCUMENTS - 1


def test_ctrl_c_finishes_the_batch_in_hand(
    corpus: Path, store: KnowledgeStore, models: Models, settings: Settings
) -> None:
    stopper = Stopper("notes", BATCH_NOTES + 1)
    with pytest.raises(IngestInterrupted) as stopped:
        ingest([corpus], store, models, settings, progress=stopper)
    assert stopper.told == 1
    assert (stopped.value.report.documents, stopped.value.report.interrupted) == (2 * BATCH_NOTES, True)
    assert isinstance(stopped.value, KeyboardInterrupt)
    assert store.info()["lag"] == {"sparse": 0, "dense": 0, "graph": 0, "ontology": 0}
    report = ingest([corpus], store, models, settings)
    assert (report.documents, report.unchanged) == (BATCH_NOTES, 2 * BATCH_NOTES)
    assert is_complete(store)


def test_ctrl_c_while_reading_writes_nothing(
    corpus: Path, store: KnowledgeStore, models: Models, settings: Settings
) -> None:
    with pytest.raises(IngestInterrupted):
        ingest([corpus], store, models, settings, progress=Stopper("read", 1))
    assert store.document_hashes("default") == {}


def test_ctrl_c_leaves_a_document_of_many_notes(
    folder: Path, store: KnowledgeStore, models: Models, settings: Settings
) -> None:
    (folder / "long.txt").write_text("\n\n".join(f"Paragraph {i}. " + "word " * 200 for i in range(2 * BATCH_NOTES)))
    stopper = Stopper("notes", 1)
    with pytest.raises(IngestInterrupted) as stopped:
        ingest([folder], store, models, settings, progress=stopper)
    assert stopped.value.report.notes == 0
    assert -stopper.after < BATCH_NOTES, "the notes after those in hand are not made"
    assert store.document_hashes("default") == {}


def test_ctrl_c_while_linking_is_made_good(
    folder: Path, store: KnowledgeStore, models: Models, settings: Settings
) -> None:
    rows = ({"_id": str(i), "text": f"Resident {i} lived in Springfield Hills."} for i in range(50))
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ingest([folder], store, models, settings)
    (folder / "town.md").write_text("# Springfield Hills\n\nA town.")
    with pytest.raises(IngestInterrupted):
        ingest([folder], store, models, settings, progress=Stopper("link", 10))
    assert len(store.document_hashes("default")) == 50
    assert ingest([folder], store, models, settings).linked == 50


def test_second_ctrl_c_stops_at_once(corpus: Path, store: KnowledgeStore, models: Models, settings: Settings) -> None:
    with pytest.raises(KeyboardInterrupt) as stopped:
        ingest([corpus], store, models, settings, progress=Stopper("notes", 1, times=2))
    assert not isinstance(stopped.value, IngestInterrupted)
    assert store.document_hashes("default") == {}
    ingest([corpus], store, models, settings)
    assert is_complete(store)


def test_handler_is_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interruption() as interruption:
        assert signal.getsignal(signal.SIGINT) != before
        assert not interruption.asked
    assert signal.getsignal(signal.SIGINT) == before


def test_other_threads_may_ingest(corpus: Path, store: KnowledgeStore, models: Models, settings: Settings) -> None:
    thread = threading.Thread(target=ingest, args=([corpus], store, models, settings))
    thread.start()
    thread.join()
    assert is_complete(store)


KILLED = """
import os, signal, sys
from pathlib import Path
from theworld.ingestion import ingest
from theworld.models.registry import Models
from theworld.settings import Settings
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.testing import FakeEmbedder, FakeTagger

class Killer:
    notes = 0
    def start(self, part, total): pass
    def advance(self, part, steps):
        self.notes += steps if part == "notes" else 0
        if self.notes > {after}:
            os.kill(os.getpid(), signal.SIGKILL)

tagger = FakeTagger({{}})
embedders = {{"en": FakeEmbedder(name="fake-en"), "zh": FakeEmbedder(name="fake-zh")}}
models = Models(embedders, {{"en": tagger, "zh": tagger}})
with KnowledgeStore.open(sys.argv[2], create=True) as store:
    ingest([Path(sys.argv[1])], store, models, Settings(), progress=Killer())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_killed_process_loses_at_most_a_batch(corpus: Path, models: Models, settings: Settings) -> None:
    script = KILLED.format(after=2 * BATCH_NOTES)
    done = subprocess.run([sys.executable, "-c", script, str(corpus), str(settings.store)], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    with KnowledgeStore.open(settings.store, read_only=False) as store:
        assert len(store.document_hashes("default")) == 2 * BATCH_NOTES
        report = ingest([corpus], store, models, settings)
        assert (report.documents, report.unchanged) == (BATCH_NOTES, 2 * BATCH_NOTES)
        assert is_complete(store)
