"""A writer killed at any moment loses nothing it committed and doubles nothing; other processes see what is written."""

from __future__ import annotations

import json
import multiprocessing
import random
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from ledger_writers import answer_with_counts, write_batches
from made_documents import assert_congruent, make_document
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.records import DocumentRecord

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "forkserver" not in multiprocessing.get_all_start_methods(), reason="needs a system with fork and kill -9"
    ),
]
BATCHES = 60
KILLS = 10
LONGEST = 0.5


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["theworld.stores.knowledge_store"])
    return context


def kill_after(processes: ForkServerContext, store: Path, log: Path, first: int, seconds: float) -> None:
    """Run the writer from a batch on and kill it that long after it has the store."""
    process = processes.Process(target=write_batches, args=(store, log, first, BATCHES))
    process.start()
    deadline = time.monotonic() + 60
    while not (store / "writer.json").exists() and process.is_alive() and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(seconds)
    process.kill()
    process.join()


def read_log(log: Path) -> tuple[int, dict[str, str | None]]:
    """Return the last batch begun and what was committed last of each document, by what the writer said."""
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    told: dict[str, str | None] = {}
    for line in lines:
        told.update(line["put"])
    return max((line["batch"] for line in lines), default=0), told


def check(store: KnowledgeStore, batch: int, told: dict[str, str | None]) -> None:
    """Compare a store with what was committed: the batch under way when the writer died may be there besides."""
    stored = store.document_hashes("default")
    under_way = {document.id for number in (batch, batch + 1) for document in documents_of(number)}
    for document, content_hash in told.items():
        if document not in under_way:
            assert stored.get(document) == content_hash
    notes = assert_congruent(store)
    for document, content_hash in stored.items():
        its_notes = [note for note in notes if note.document_id == document]
        record = make_document(int(document.removeprefix("doc-")), its_notes[0].metadata["version"])
        assert content_hash == record.content_hash
        assert [note.text for note in its_notes] == [note.text for note in record.notes]


def documents_of(batch: int) -> list[DocumentRecord]:
    numbers = [*range(batch * 4, batch * 4 + 4), *range(0, batch * 4, 7)]
    return [make_document(number) for number in numbers]


def test_kill_at_random_points(tmp_path: Path, processes: ForkServerContext) -> None:
    moments, path, log = random.Random(20), tmp_path / "store", tmp_path / "log"
    for _ in range(KILLS):
        batch, _ = read_log(log)
        (path / "writer.json").unlink(missing_ok=True)
        kill_after(processes, path, log, batch, moments.uniform(0.0, LONGEST))
        with KnowledgeStore.open(path, create=True) as store:
            check(store, *read_log(log))
    for _ in range(2):
        batch, _ = read_log(log)
        process = processes.Process(target=write_batches, args=(path, log, batch, batch + 3))
        process.start()
        process.join()
        assert process.exitcode == 0
        with KnowledgeStore.open(path) as store:
            check(store, *read_log(log))
            assert len(store.document_hashes("default")) >= 4


def test_a_reader_in_another_process_sees_new_notes(tmp_path: Path, processes: ForkServerContext) -> None:
    path = tmp_path / "store"
    with KnowledgeStore.open(path, create=True) as store:
        store.put([make_document(number) for number in range(3)])
        store.catch_up()
        line, other = processes.Pipe()
        process = processes.Process(target=answer_with_counts, args=(path, other))
        process.start()
        line.send(True)
        assert line.recv() == 6
        for number in range(3, 21):
            store.put([make_document(number)])
            store.catch_up()
            if number % 9 == 0:
                line.send(True)
                assert line.recv() == 2 * number + 2
        store.delete([f"doc-{number:05d}" for number in range(10)], tenant="default")
        store.catch_up()
        line.send(True)
        assert line.recv() == 22
        line.send(False)
        process.join()
        assert process.exitcode == 0
