"""Kill an ingestion with several processes: its driver, a worker, or, with Ray, one of two simulated machines.

Each round is one ingestion into a new store. It is killed (SIGKILL) at up to eight random moments, begun again whenever
it has ended otherwise than well, verified (`theworld sync --verify`) and compared with the ledger of a run in one go:
documents, notes, mentions, vectors, token codes. A worker or a machine that is killed must not end the ingestion. The
models are stand-ins that take their time asleep, so that most moments lie where notes are made and written.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, cast

from chaos_measures.results import Results
from chaos_measures.rounds import compared, ended, in_process, start, untyped
from chaos_measures.slow_models import slow_models
from theworld.errors import TheWorldError
from theworld.ingestion import ingest
from theworld.settings import IngestionSettings, Settings
from theworld.stores.knowledge_store import KnowledgeStore, open_store
from theworld.stores.ledger.sqlite import FILE_NAME

ROWS, FILES, MOST_KILLS, POLL_S = 1000, 8, 8, 0.1
VICTIMS = {"local": ("driver", "worker"), "ray": ("driver", "worker", "machine")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, default=100, help="at least so many, in as many rounds as that takes")
    parser.add_argument("--engine", choices=tuple(VICTIMS), default="local")
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: argparse.Namespace, results: Results) -> None:
    """Do rounds until there were as many kills as wanted; say what they hit, and how far the store was."""
    hits = Counter[str]()
    with TemporaryDirectory(prefix="theworld-chaos-") as name, _machines(arguments.engine) as (address, replace):
        work = Path(name)
        rounds = _Rounds(work, arguments.engine, address, replace, random.Random(arguments.seed))
        while hits.total() < arguments.kills:
            store = work / f"round-{hits.total()}"
            kills, outcome = rounds.round(store)
            if outcome is None:
                code, told = ended(start(["sync", "--verify", "--store", store], work / "log"), work / "log")
                outcome = f"unusable: {told[-300:]}" if code else compared(in_process(_held, store), rounds.expected)
            shutil.rmtree(store, ignore_errors=True)
            for victim, written in kills:
                when = "before" if not written else "while" if written < rounds.documents else "after"
                hits[f"{victim} {when} documents were written"] += 1
            results.add(f"kills of ingestion, {arguments.engine}", "ingest", outcome, kills=kills, seed=arguments.seed)
            print(f"{hits.total()} kills, {outcome}: {kills}", flush=True)
    print(json.dumps(hits, indent=1, sort_keys=True))


class _Rounds:
    """A corpus, what is found in the store of a run in one go, and rounds in which it is ingested under kills."""

    def __init__(self, work: Path, engine: str, address: str, replace: Callable[[], None], dice: random.Random) -> None:
        self._engine, self._address, self._replace, self._dice = engine, address, replace, dice
        self._corpus, self._log = made_corpus(work / "corpus"), work / "log"
        code, told = ended(self._driver(work / "whole"), self._log)
        if code:
            raise SystemExit(f"the store could not be made: {told}")
        self.expected = in_process(_held, work / "whole")
        self.documents = _written(work / "whole")
        begun = time.monotonic()
        ended(self._driver(work / "again"), self._log)
        self._taken = time.monotonic() - begun
        print(f"{self.documents} documents, {self._taken:.1f} s in one go", flush=True)

    def _driver(self, store: Path) -> BaseProcess:
        return start([self._corpus, store, self._engine, self._address], self._log, _ingest)

    def round(self, store: Path) -> tuple[list[tuple[str, int]], str | None]:
        """Ingest until it ends well; return whom it hit at how many documents, and what went wrong, if anything did."""
        kills: list[tuple[str, int]] = []
        wanted = self._dice.randint(1, MOST_KILLS)
        while True:
            driver, before, begun = self._driver(store), len(kills), time.monotonic()
            while len(kills) < wanted and self._moment(driver, store):
                victim, written = self._dice.choice(VICTIMS[self._engine]), _written(store)
                if victim == "machine":
                    self._replace()
                elif victim == "driver":
                    driver.kill()
                    driver.join()
                elif not self._kill_worker(driver):
                    continue
                kills.append((victim, written))
            code, told = ended(driver, self._log)
            if code == 0:
                self._taken = min(self._taken, time.monotonic() - begun)  # the first was made on a busier machine
                return kills, None
            if code != -signal.SIGKILL:  # a driver may say that what it lost cannot be replaced; the next one goes on
                kind = "untyped error" if untyped(told) else "ended by itself"
                print(f"{kind}, exit code {code}, after {kills[before:]}: {told.strip()[-600:]}", flush=True)
                if untyped(told) or len(kills) == before:
                    return kills, f"{kind}: {told.strip()[-300:]}"

    def _moment(self, driver: BaseProcess, store: Path) -> bool:
        """Wait for a random moment of all the time it takes, or half of the times for a number of documents."""
        if self._dice.random() < 0.5:
            driver.join(self._dice.uniform(0, self._taken))
            return driver.is_alive()
        wanted = self._dice.randrange(self.documents * 3 // 4)
        while driver.is_alive() and _written(store) < wanted:
            driver.join(POLL_S)
        driver.join(self._dice.uniform(0, 2 * POLL_S))
        return driver.is_alive()

    def _kill_worker(self, driver: BaseProcess) -> bool:
        workers = _workers(driver.pid or 0, ray=self._engine == "ray")
        with suppress(ProcessLookupError):
            if workers:
                os.kill(self._dice.choice(workers), signal.SIGKILL)
                return True
        return False


@contextmanager
def _machines(engine: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the address of a cluster of two machines of one core, and what kills the second and puts in another."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")])
    )
    if engine == "local":
        yield "", lambda: None
        return
    from ray.cluster_utils import Cluster

    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)

    def replace() -> None:
        cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        cluster.add_node(num_cpus=1)

    yield cluster.address, replace
    cluster.shutdown()


def _workers(driver: int, *, ray: bool) -> list[int]:
    """Return the workers of Ray that read or model, with what they have started, or what the driver has started."""
    below = {one: parent for one, parent, _ in _processes()}
    if not ray:
        return [one for one, parent in below.items() if parent == driver]
    mine = {os.getpid()}
    while more := {one for one, parent in below.items() if parent in mine} - mine:
        mine |= more
    workers = {one for one, _, command in _processes() if one in mine and command.startswith(b"ray::Map")}
    return sorted(workers | {one for one, parent in below.items() if parent in workers})


def _processes() -> Iterator[tuple[int, int, bytes]]:
    """Yield the number, the parent's number and the command line of each process (Linux)."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            yield int(entry.name), int(parent), (entry / "cmdline").read_bytes()


def _written(store: Path) -> int:
    """Count the documents; not as a reader of the store, who would finish what a dead writer has left to do."""
    address = f"file:{store / FILE_NAME}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(address, uri=True)) as ledger:  # it may be being made now
        return int(ledger.execute("SELECT count(*) FROM document").fetchone()[0])
    return 0


def _held(store: Path) -> dict[str, object]:
    """Return what a ledger holds, in the order of notes, not of writing."""
    with KnowledgeStore.open(store) as opened:
        found: dict[str, object] = {"documents": opened.document_hashes("default")}
        changes, _ = opened.ledger.changes(0, 100_000)
    notes = [(change.note_id, change.note) for change in changes if change.note is not None]
    for identity, note in notes:
        vectors = {space: one.vector.tobytes() for space, one in note.vectors.items()}
        codes = {space: (one.ids.tobytes(), one.codes.tobytes()) for space, one in note.codes.items()}
        found[identity] = (note.text, note.section, note.mentions, vectors, codes)
    return found | {"notes": Counter(identity for identity, _ in notes)}


def made_corpus(folder: Path) -> Path:
    """Write short documents in both languages that name each other: rows of a file, and files of many notes."""
    folder.mkdir()
    texts = ["宁波的天一阁。" if i % 5 == 0 else f"Ada Lovelace knew Title {i + 1:04}." for i in range(ROWS)]
    rows = [{"_id": f"d{i:04}", "title": f"Title {i:04}", "text": text} for i, text in enumerate(texts)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    for number in range(FILES):
        text = "\n\n".join(f"Ada Lovelace wrote note {i} of file {number}." * 4 for i in range(40))
        (folder / f"{number:02}.md").write_text(f"# File {number}\n\n{text}\n", "utf-8")
    return folder


def _ingest(arguments: list[str], log: Path) -> None:
    """Be the driver: what `theworld ingest` does, with other models; exit code 3 for a known error."""
    corpus, store, engine, address = arguments
    with log.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    settings = Settings(store=Path(store), ingestion=IngestionSettings(processes=2))
    kind = cast(Literal["local", "ray"], engine)
    try:
        with open_store(settings, create=True) as opened:
            report = ingest([corpus], opened, slow_models(), settings, engine=kind, address=address or None)
    except TheWorldError as error:
        print(error)
        sys.exit(3)
    print(*report.failed, sep="\n")
    sys.exit(4 if report.failed else 0)
