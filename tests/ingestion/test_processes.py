"""Models in processes of their own: the same results in the same order, and whatever dies is named or made up for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from theworld.errors import ModelError
from theworld.ingestion import IngestReport, engines, ingest
from theworld.ingestion.engines import CHUNK_NOTES, MANY_NOTES, FailedNote, MadeNote, NoteText, WorkerPool
from theworld.ingestion.report import Stopwatch
from theworld.models.registry import Models, load_models
from theworld.settings import EmbeddingSettings, IngestionSettings, Settings
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.testing import FakeTagger
from worker_models import changes, deadly_models, missing_models, perilous_models

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tests send signals that Windows has not")

Write = Callable[..., Path]
Stopped = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def write(folder: Path) -> Write:
    """Return what writes a corpus of the texts given, ids in their order."""

    def written(*texts: str) -> Path:
        rows = ({"_id": f"d{i:04}", "title": f"Title {i:04}", "text": text} for i, text in enumerate(texts))
        path = folder / "corpus.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return written


def run(path: Path, store: Path, processes: int, models: Models | None = None) -> IngestReport:
    settings = Settings(store=store, ingestion=IngestionSettings(processes=processes))
    with KnowledgeStore.open(store, create=True) as opened:
        return ingest([path], opened, models or perilous_models(), settings)


@pytest.mark.slow
def test_processes_make_what_one_makes(write: Write, tmp_path: Path) -> None:
    texts = [
        "宁波的天一阁。" if i % 5 == 0 else f"Ada Lovelace knew Title {i + 1:04}." + " More." * (i % 7)
        for i in range(600)
    ]
    path = write(*texts)
    here, elsewhere = run(path, tmp_path / "here", 1), run(path, tmp_path / "elsewhere", 3)
    assert (here.documents, elsewhere.documents, here.processes, elsewhere.processes) == (600, 600, 1, 3)
    assert changes(tmp_path / "here") == changes(tmp_path / "elsewhere")
    assert elsewhere.seconds["models"] <= elsewhere.seconds["total"]
    assert min(elsewhere.seconds[part] for part in ("embed", "tag", "codes")) > 0


@pytest.mark.slow
def test_a_document_that_fails_or_kills_is_left_out_by_name(write: Write, tmp_path: Path) -> None:
    texts = ["Good."] * 100
    texts[17], texts[60] = "Some poison.", "A deadly text."
    path = write(*texts)
    report = run(path, tmp_path / "store", 2)
    assert report.documents == 98
    assert {row[0] for row in changes(tmp_path / "store")} == {f"d{i:04}#0" for i in range(100) if i not in {17, 60}}
    first, second = report.failed
    assert first.path == second.path == str(path)
    assert "RuntimeError: cannot digest this" in first.reason
    assert "was killed" in second.reason


@pytest.mark.slow
def test_what_a_killed_process_had_in_hand_is_made_again(write: Write, tmp_path: Path) -> None:
    texts = ["Good."] * 40 + [f"It is deadly-once:{tmp_path / 'died'} here."] + ["Good."] * 40
    report = run(write(*texts), tmp_path / "store", 2)
    assert (tmp_path / "died").exists()
    assert (report.documents, report.failed) == (81, [])


@pytest.mark.slow
def test_a_process_killed_from_outside_is_replaced() -> None:
    notes = [NoteText("", f"Ada Lovelace {i}", "en") for i in range(5 * CHUNK_NOTES)]
    with WorkerPool(perilous_models, 1, Stopwatch()) as pool:
        first = pool.submit(notes[:CHUNK_NOTES])[0].result()
        (killed,) = [child.process.pid for child in pool._children]
        os.kill(killed, signal.SIGKILL)
        rest = [outcome for chunk in pool.submit(notes[CHUNK_NOTES:]) for outcome in chunk.result()]
        (other,) = [child.process.pid for child in pool._children]
    assert other != killed
    outcomes = [*first, *rest]
    assert len(outcomes) == len(notes)
    assert all(isinstance(one, MadeNote) and one.mentions[0].surface == "Ada Lovelace" for one in outcomes)
    assert not is_running(other)


@pytest.mark.slow
def test_errors_of_the_models_reach_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    note = [NoteText("", "Text.", "en")]
    with WorkerPool(missing_models, 1, Stopwatch()) as pool:
        made = pool.submit(note)[0]
        with pytest.raises(ModelError, match="weights are missing"):
            made.result()
    monkeypatch.setattr(engines, "MOST_DEATHS", 2)
    with WorkerPool(deadly_models, 1, Stopwatch()) as pool:
        first, second = (pool.submit(note)[0] for _ in range(2))
        assert isinstance(first.result()[0], FailedNote)
        with pytest.raises(ModelError, match="PROCESSES=1"):
            second.result()


STOPPED = """
import os, signal, sys, time
from pathlib import Path
from theworld.ingestion import IngestInterrupted, ingest
from theworld.settings import IngestionSettings, Settings
from theworld.stores.knowledge_store import KnowledgeStore
sys.path.append(sys.argv[3])
from worker_models import perilous_models

class Stopper:
    notes = 0
    def start(self, part, total): pass
    def stopping(self): pass
    def advance(self, part, steps):
        before, self.notes = self.notes, self.notes + (steps if part == "notes" else 0)
        if before < int(sys.argv[4]) <= self.notes:
            children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
            print(children.read_text() if children.exists() else "", flush=True)
            os.killpg(0, getattr(signal, sys.argv[5]))
            if sys.argv[6] == "twice":
                while signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
                    time.sleep(0.01)
                os.killpg(0, signal.SIGINT)
                time.sleep(600)

signal.signal(signal.SIGINT, signal.default_int_handler)
settings = Settings(ingestion=IngestionSettings(processes=2))
with KnowledgeStore.open(sys.argv[2], create=True) as store:
    try:
        ingest([Path(sys.argv[1])], store, perilous_models(), settings, progress=Stopper())
    except IngestInterrupted as stop:
        print(stop.report.documents)
        sys.exit(130)
"""


@pytest.fixture
def stopped(write: Write, tmp_path: Path) -> Stopped:
    """Return what ingests four batches in a process group that gets a signal in the second, and tells its output."""
    path = write(*["Text."] * (4 * engines.BATCH_NOTES))

    def run_until(name: str, times: str = "once") -> tuple[int, list[str]]:
        given = [path, tmp_path / "store", Path(__file__).parents[1], engines.BATCH_NOTES + 1, name, times]
        command = [sys.executable, "-c", STOPPED, *map(str, given)]
        done = subprocess.run(command, check=False, start_new_session=True, stdout=subprocess.PIPE, text=True)
        return done.returncode, done.stdout.splitlines()

    return run_until


def complete(tmp_path: Path, written: int) -> None:
    with KnowledgeStore.open(tmp_path / "store", read_only=False) as store:
        assert len(store.document_hashes("default")) == written
    report = run(tmp_path / "sources" / "corpus.jsonl", tmp_path / "store", 1)
    assert (report.documents, report.unchanged) == (4 * engines.BATCH_NOTES - written, written)


def is_running(pid: int) -> bool:
    """Return whether a process runs; one that has ended but that nobody has waited for does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_ctrl_c_to_all_processes_finishes_the_batch_in_hand(stopped: Stopped, tmp_path: Path) -> None:
    code, (pids, documents) = stopped("SIGINT")
    assert (code, int(documents)) == (130, 2 * engines.BATCH_NOTES)
    assert not any(is_running(int(pid)) for pid in pids.split())
    complete(tmp_path, 2 * engines.BATCH_NOTES)


@pytest.mark.slow
def test_a_second_ctrl_c_stops_at_once(stopped: Stopped, tmp_path: Path) -> None:
    code, (pids,) = stopped("SIGINT", "twice")
    assert code == -signal.SIGINT
    assert not any(is_running(int(pid)) for pid in pids.split())
    complete(tmp_path, engines.BATCH_NOTES)


@pytest.mark.slow
def test_processes_end_when_their_owner_is_killed(stopped: Stopped, tmp_path: Path) -> None:
    code, (pids,) = stopped("SIGKILL")
    assert code == -signal.SIGKILL
    deadline = time.monotonic() + 60
    while any(is_running(int(pid)) for pid in pids.split()):
        assert time.monotonic() < deadline, "the processes go on without their owner"
        time.sleep(0.05)
    complete(tmp_path, engines.BATCH_NOTES)


def test_few_notes_and_models_on_servers_need_no_processes() -> None:
    assert engines.processes_for(Settings(), MANY_NOTES - 1) == 1
    assert 1 <= engines.processes_for(Settings(), MANY_NOTES) <= 4
    assert engines.processes_for(Settings(ingestion=IngestionSettings(processes=3)), 1) == 3
    assert engines.processes_for(Settings(embedding=EmbeddingSettings(english="openai:model")), MANY_NOTES) == 1


def test_models_put_in_by_hand_stay_in_this_process() -> None:
    models = load_models(Settings())
    reload = models.reloader()
    assert reload is not None
    assert [type(one) for one in reload().embedders.values()] == [type(one) for one in models.embedders.values()]
    assert replace(models, origin=None).reloader() is None
    models.taggers["en"] = FakeTagger({})
    assert models.reloader() is None
