"""What every round shares: a small store to start from, commands in processes of their own, and a judgement.

Processes are forked from one that has imported the program, so that a round takes a second or two; on systems without
`forkserver` they are started anew.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from theworld.demo import corpus_dir
from theworld.errors import TheWorldError
from theworld.stores.knowledge_store import KnowledgeStore

QUERIES = ("planet temperature", "painter born", "天坛 北京", "river Danube", "程序 算法", "a note of an upload")
"""Of the load: some find nothing."""
DERIVED = ("sparse", "dense", "graph")
DOCUMENTS = 8
"""Of the demo's corpus, half of them Chinese."""
WHOLE, TOLD = "whole", "told by name"
PATIENCE_S = 300


@dataclass(frozen=True)
class Base:
    """A store made in one go, its corpus, a corpus in which documents are changed, and what is found in the store."""

    work: Path
    store: Path
    corpus: Path
    changed: Path
    expected: dict[str, object]

    @contextmanager
    def copy(self, *, empty: bool = False) -> Iterator[Path]:
        """Copy the store for one round, or give a folder in which there is none yet."""
        folder = self.work / "round"
        if not empty:
            shutil.copytree(self.store, folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def base() -> Iterator[Base]:
    """Make corpus and store in a scratch folder."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with TemporaryDirectory(prefix="theworld-chaos-") as name:
        work = Path(name)
        corpus, changed, store = work / "corpus", work / "changed", work / "store"
        for language in ("en", "zh"):
            files = sorted((corpus_dir() / language).glob("*.md"))[: DOCUMENTS // 2]
            (corpus / language).mkdir(parents=True)
            for file in files:
                shutil.copy(file, corpus / language)
        shutil.copytree(corpus, changed)
        for file in sorted(changed.rglob("*.md"))[::2]:
            file.write_text(file.read_text("utf-8") + "\n\nA paragraph more, on planets and rivers.\n", "utf-8")
        code, told = ended(start(["ingest", corpus, "--store", store], work / "log"), work / "log")
        if code:
            raise SystemExit(f"the store could not be made: {told}")
        expected = in_process(seen, store)
        if isinstance(expected, str):
            raise SystemExit(f"the store cannot be read: {expected}")
        yield Base(work, store, corpus, changed, expected)


def _context() -> Any:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    here = str(Path(__file__).parent.parent)
    if here not in os.environ.get("PYTHONPATH", ""):  # Python 3.11 starts the first process without our sys.path
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["chaos_measures.preloaded"])
    return context


def start(arguments: list[object], log: Path, command: Callable[[list[str], Path], None] | None = None) -> BaseProcess:
    """Start a command, by default of the program, in a process of its own, which writes what it says into a file."""
    process: BaseProcess = _context().Process(target=command or _command, args=(list(map(str, arguments)), log))
    process.start()
    return process


def _command(arguments: list[str], log: Path) -> None:
    from theworld.cli.app import run

    with log.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.exit(run(arguments))


def ended(process: BaseProcess, log: Path) -> tuple[int, str]:
    """Wait for a command; return its exit code and what it said."""
    process.join(PATIENCE_S)
    if process.is_alive():
        process.kill()
        process.join()
        return -1, "Traceback: it hung"
    return process.exitcode or 0, log.read_text("utf-8", "replace")


def program(arguments: list[object]) -> list[str]:
    """Return the command line of a command that is to be started anew."""
    code = "import sys; from theworld.cli.app import run; sys.exit(run(sys.argv[1:]))"
    return [sys.executable, "-c", code, *map(str, arguments)]


def seen(folder: Path) -> dict[str, object]:
    """Return what a store holds and finds, for comparison; scores rounded to 4 places."""
    with KnowledgeStore.open(folder) as store:
        notes = list(store.iter_notes("default"))
        found: dict[str, object] = {}
        for query in sorted(note.text[:60] for note in notes):  # what surely hits, in both languages
            hits = store.sparse.search(query, tenant="default", filters={}, limit=10)
            assert hits, query
            found[f"BM25 {query}"] = [(hit.note_id, round(hit.score, 4)) for hit in hits]
        found["notes"] = Counter(note.id for note in notes)
        found["contents"] = {note.id: _digest((note.text, note.mentions, note.metadata)) for note in notes}
        found["documents"] = store.documents(tenant="default", limit=10_000).total
        chosen = sorted(note.id for note in notes)[:5]  # not in the order they were written, which a repair changes
        walk = store.graph.rank(
            notes=dict.fromkeys(chosen[:3], 1.0), entities={}, tenant="default", filters={}, limit=10
        )
        found["walk"] = [(hit.note_id, round(hit.score, 4)) for hit in walk]
        written = (change.note.vectors for change in store.ledger.changes(0, 1_000_000)[0] if change.note is not None)
        dimensions = {space: len(made.vector) for one in written for space, made in one.items()}
        for space in store.dense.spaces("default"):
            codes = store.dense.token_codes(space, chosen, "default")
            found[f"codes {space}"] = [None if one is None else one.ids.tolist() for one in codes]
            direction = np.eye(1, dimensions[space], 3, dtype=np.float32)[0]
            near = store.dense.search(space, direction, tenant="default", filters={}, limit=50).hits
            found[f"vectors {space}"] = [(hit.note_id, round(hit.score, 4)) for hit in near]
        return found


def _digest(value: object) -> str:
    return blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def judged(folder: Path, base: Base, *commands: list[object]) -> str:
    """Run commands that bring a store back to the corpus; return in a word what it is then."""
    for arguments in commands:
        code, told = ended(start([*arguments, "--store", folder], base.work / "log"), base.work / "log")
        if code:
            return f"untyped error: {told.strip()[-300:]}" if untyped(told) else f"unusable: {told.strip()[-300:]}"
    return compared(in_process(seen, folder), base.expected)


def untyped(told: str) -> bool:
    """Return whether what a command said is no error that the program knows."""
    return "unexpected" in told or "Traceback" in told or "panicked" in told


def compared(found: dict[str, object] | str, wanted: dict[str, object]) -> str:
    """Return `whole`, or what of a store is other than it was."""
    if isinstance(found, str):
        return found
    counts, expected = found["notes"], wanted["notes"]
    assert isinstance(counts, Counter)
    assert isinstance(expected, Counter)
    other = [name for name in wanted if found.get(name) != wanted[name]]
    wrong = {
        "lost notes": bool(expected - counts),
        "doubled notes": bool(counts - expected),
        f"changed in silence: {', '.join(other)}": bool(other),
    }
    return next((name for name, holds in wrong.items() if holds), WHOLE)


def in_process(function: Callable[[Path], Any], folder: Path) -> Any:
    """Return what a function in a process of its own finds, or in words how it failed."""
    context = _context()
    here, there = context.Pipe()
    process = context.Process(target=_answer, args=(function, folder, there))
    process.start()
    there.close()
    try:
        found = here.recv() if here.poll(PATIENCE_S) else "untyped error: it hung"
    except EOFError:
        found = "untyped error: the process died"
    process.kill()
    process.join()
    return found


def _answer(function: Callable[[Path], Any], folder: Path, answer: Connection) -> None:
    try:
        answer.send(function(folder))
    except TheWorldError as error:
        answer.send(f"unusable: {error}")
    except BaseException as error:
        answer.send(f"untyped error: {type(error).__name__}: {error}")


def shell(arguments: list[object], **options: Any) -> tuple[int, str]:
    """Run a command started anew; return its exit code and what it said of errors."""
    done = subprocess.run(
        program(arguments), capture_output=True, text=True, check=False, timeout=PATIENCE_S, **options
    )
    return done.returncode, done.stderr
