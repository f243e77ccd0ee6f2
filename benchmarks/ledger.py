"""Measure the ledger on PostgreSQL against the SQLite file: ingestion, reading, many writers, leaks and faults.

python benchmarks/ledger.py --notes 4000 --leaks 10000 --faults 200

Starts PostgreSQL as `make test-services` does; THEWORLD_TEST_POSTGRES_URL names a running one instead. Ratios are of
wall-clock times taken in turns, batch by batch, so that both databases see the same machine.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from environment import environment

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from ledger_suite import leaks_of_ledger
from made_documents import make_document
from services.faulty_proxy import FAULTS, FaultyProxy
from services.launching import PostgresServer
from services.postgres_ledger import drop_schema, settings_for
from theworld.demo import corpus_dir
from theworld.errors import EngineUnavailableError
from theworld.ingestion import ingest
from theworld.models.registry import Models, load_models
from theworld.settings import LedgerSettings, Settings
from theworld.stores.knowledge_store import open_store
from theworld.stores.ledger import Ledger
from theworld.stores.records import DocumentRecord

TENANT = "default"
BATCH = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=4000, help="made-up notes to write (default 4000)")
    parser.add_argument("--leaks", type=int, default=10_000, help="random operations of the leak test")
    parser.add_argument("--faults", type=int, default=200, help="faults injected into reads and writes")
    arguments = parser.parse_args()
    print(environment())
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = serve(folder, stack)

        def schema() -> LedgerSettings:
            chosen = settings_for(url, secrets.token_hex(4))
            stack.callback(drop_schema, chosen)
            return chosen

        write_and_read(folder, schema(), arguments.notes)
        whole_ingestion(folder, schema)
        many_writers(folder, schema, arguments.notes)
        look_for_leaks(folder, schema(), arguments.leaks)
        inject(folder, url, schema(), arguments.faults)


def serve(folder: Path, stack: ExitStack) -> str:
    given = os.environ.get("THEWORLD_TEST_POSTGRES_URL")
    if given:
        return given
    server = PostgresServer(folder / "postgres")
    stack.callback(server.stop)
    server.start()
    return server.url


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def documents(notes: int, tenant: str = TENANT) -> list[list[DocumentRecord]]:
    """Return batches as ingestion writes them: vectors of 384 numbers, 60 token vectors a note."""
    made = [make_document(n, tenant=tenant, dimension=384, tokens=60) for n in range(notes // 2)]
    return [made[first : first + BATCH] for first in range(0, len(made), BATCH)]


def write_and_read(folder: Path, settings: LedgerSettings, notes: int) -> None:
    """Write the same batches to both in turns, replay them, and ask what a query asks."""
    with (
        Ledger.open(_new(folder / "file"), create=True) as file,
        Ledger.open(folder, settings, create=True) as server,
    ):
        spent = {"SQLite": 0.0, "PostgreSQL": 0.0}
        ledgers = {"SQLite": file, "PostgreSQL": server}
        for number, batch in enumerate(documents(notes)):
            for name in sorted(ledgers, reverse=bool(number % 2)):
                spent[name] += timed(lambda name=name, batch=batch: ledgers[name].put(batch))
        print(f"\n{'':12}{'put, notes/s':>14}{'replay, notes/s':>17}{'sequence, ms':>14}{'20 notes, ms':>14}")
        ids = [f"doc-{random.Random(n).randrange(notes // 2):05d}#0" for n in range(20)]
        for name, ledger in ledgers.items():
            replayed = timed(lambda ledger=ledger: _replay(ledger))
            looks = _median(ledger.sequence)
            reads = _median(lambda ledger=ledger: ledger.notes(ids, tenant=TENANT))
            print(f"{name:12}{notes / spent[name]:14.0f}{notes / replayed:17.0f}{looks:14.2f}{reads:14.2f}")
        print(f"writing into PostgreSQL is {spent['SQLite'] / spent['PostgreSQL']:.2f}x of SQLite")


def _replay(ledger: Ledger) -> None:
    after, last = 0, ledger.sequence()
    while after < last:
        _, after = ledger.changes(after, 256)


def _median(work: Callable[[], object], times: int = 200) -> float:
    return statistics.median(timed(work) for _ in range(times)) * 1000


def whole_ingestion(folder: Path, schema: Callable[[], LedgerSettings]) -> None:
    """Ingest the demo corpus with the real models into both, in turns."""
    spent: dict[str, list[float]] = {"SQLite": [], "PostgreSQL": []}
    models = load_models(Settings())
    models.warm()
    for turn in range(3):
        for name in sorted(spent, reverse=bool(turn % 2)):
            ledger = schema() if name == "PostgreSQL" else LedgerSettings()
            settings = Settings(store=folder / f"ingested {name} {turn}", ledger=ledger)
            spent[name].append(timed(lambda settings=settings: _ingest(settings, models)))
    means = {name: statistics.mean(times) for name, times in spent.items()}
    told = ", ".join(f"{name} {mean:.1f} s" for name, mean in means.items())
    print(f"\ningesting the demo corpus: {told}: {means['SQLite'] / means['PostgreSQL']:.2f}x")


def _ingest(settings: Settings, models: Models) -> None:
    with open_store(settings, create=True) as store:
        report = ingest([corpus_dir()], store, models, settings)
    assert not report.failed


def many_writers(folder: Path, schema: Callable[[], LedgerSettings], notes: int) -> None:
    """Let 1 to 8 writers, each with connections of its own, write at once: one tenant's documents, and each its own."""
    print(f"\n{'writers':>8}{'one tenant, notes/s':>22}{'a tenant each, notes/s':>25}")
    for writers in (1, 2, 4, 8):
        rates = [_write_at_once(folder, schema(), notes, writers, apart=apart) for apart in (False, True)]
        print(f"{writers:8}{rates[0]:22.0f}{rates[1]:25.0f}")


def _write_at_once(folder: Path, settings: LedgerSettings, notes: int, writers: int, *, apart: bool) -> float:
    batches = documents(notes)
    with ExitStack() as stack:
        ledgers = [stack.enter_context(Ledger.open(folder, settings, create=True)) for _ in range(writers)]
        for ledger in ledgers:
            ledger.sequence()

        def write(number: int) -> None:
            tenant = f"tenant {number}" if apart else TENANT
            for batch in batches[number::writers]:
                ledgers[number].put([replaced(document, tenant) for document in batch])

        with ThreadPoolExecutor(writers) as pool:
            spent = timed(lambda: list(pool.map(write, range(writers))))
        assert ledgers[0].sequence() == sum(len(document.notes) for batch in batches for document in batch)
    return notes / spent


def replaced(document: DocumentRecord, tenant: str) -> DocumentRecord:
    return replace(document, tenant=tenant)


def look_for_leaks(folder: Path, settings: LedgerSettings, operations: int) -> None:
    with Ledger.open(folder, settings, create=True) as ledger:
        begun = time.perf_counter()
        found = leaks_of_ledger(ledger, operations=operations, seed=1)
        print(f"\n{operations} operations of hostile tenants: {len(found)} leaks, {time.perf_counter() - begun:.0f} s")


def inject(folder: Path, url: str, near: LedgerSettings, faults: int) -> None:
    """Read and write while the network misbehaves; whatever failed is repeated, and counted at the end."""
    proxy = FaultyProxy(url)
    address = f"postgresql+psycopg://127.0.0.1:{proxy.port}/{(near.url or '').rpartition('/')[2]}"
    hasty = near.model_copy(update={"url": address, "timeout_s": 0.5, "write_timeout_s": 2.0})
    names = [name for name in FAULTS if name != "lie"]
    told, late, recoveries = 0, 0, []
    with Ledger.open(folder, near, create=True), Ledger.open(folder, hasty, writable=True) as ledger:
        for number in range(faults):
            document = make_document(number)
            FAULTS[names[number % len(names)]](proxy)
            begun = time.perf_counter()
            try:
                ledger.put([document]) if number % 2 else ledger.sequence()
            except EngineUnavailableError:
                told += 1
            late += time.perf_counter() - begun > hasty.write_timeout_s + 1
            proxy.heal()
            proxy.cut()
            begun = time.perf_counter()
            until_done(lambda document=document: ledger.put([document]))
            recoveries.append(time.perf_counter() - begun)
        whole = ledger.sequence() == 2 * faults == len(list(ledger.iter_notes(TENANT)))
    proxy.close()
    worst = max(recoveries, default=0.0)
    print(f"\n{faults} faults: {told} told as the ledger's, {late} later than its limit; ", end="")
    print(f"recovered in {statistics.median(recoveries):.2f} s (longest {worst:.2f} s); ", end="")
    print("nothing lost or doubled" if whole else "NOTES LOST OR DOUBLED")


def until_done(work: Callable[[], object]) -> None:
    while True:
        try:
            work()
        except EngineUnavailableError:
            time.sleep(0.02)
        else:
            return


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main()
