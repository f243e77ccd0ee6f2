"""PostgreSQL that dies, hangs, refuses, crawls and breaks off: told in time, nothing half-written, recovered from."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from made_documents import assert_congruent, make_document
from services.faulty_proxy import FAULTS, FaultyProxy, until_answered
from services.launching import Server
from services.postgres_ledger import PATIENT_S, drop_schema, settings_for
from theworld.errors import EngineUnavailableError, StoreError
from theworld.graph import build_graph, open_resources
from theworld.settings import LedgerSettings, Settings
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger import Ledger
from theworld.stores.moving import move_ledger
from theworld.stores.projections import Engines

pytestmark = pytest.mark.slow
LIMIT_S = 2.0
TENANT = "default"
QUESTION = {"question": "Who was the commander of Apollo 11?"}


@dataclass
class Behind:
    """A ledger with some documents behind a proxy."""

    proxy: FaultyProxy
    near: LedgerSettings
    folder: Path

    def settings(self, **given: Any) -> LedgerSettings:
        url = f"postgresql+psycopg://127.0.0.1:{self.proxy.port}/{self.near.url.rpartition('/')[2]}"
        return self.near.model_copy(update={"url": url, **given})

    def open(self, **given: Any) -> Ledger:
        return Ledger.open(self.folder, self.settings(**given), writable=True)


@pytest.fixture
def behind(postgres_url: str, ledger: str, tmp_path: Path) -> Iterator[Behind]:
    near = settings_for(postgres_url, ledger)
    proxy = FaultyProxy(postgres_url)
    with Ledger.open(tmp_path, near, create=True) as opened:
        opened.put([make_document(number) for number in range(4)])
    yield Behind(proxy, near, tmp_path)
    proxy.close()
    drop_schema(near)


@pytest.mark.parametrize("fault", [name for name in FAULTS if name != "lie"])
def test_a_fault_is_told_then_costs_nothing_then_is_recovered_from(behind: Behind, fault: str) -> None:
    with until_answered(lambda: behind.open(timeout_s=LIMIT_S, write_timeout_s=LIMIT_S)) as ledger:
        assert until_answered(ledger.sequence) == 8
        FAULTS[fault](behind.proxy)
        for _ in range(3):
            with pytest.raises(EngineUnavailableError, match=r"127\.0\.0\.1"):
                ledger.notes(["doc-00001#0"], tenant=TENANT)
        for _ in range(50):
            with pytest.raises(EngineUnavailableError, match="left alone"):
                ledger.put([make_document(9)])
        behind.proxy.heal()
        behind.proxy.cut()
        assert until_answered(ledger.sequence) == 8
        assert ledger.notes(["doc-00001#0"], tenant=TENANT)


def test_a_write_that_breaks_off_leaves_all_or_nothing_and_may_be_repeated(behind: Behind) -> None:
    with behind.open(failures=100, timeout_s=PATIENT_S, write_timeout_s=3.0) as ledger:
        for number, cut_after in enumerate((0, 100, 400, 1000, 2000), start=10):
            before = until_answered(ledger.sequence)
            document = make_document(number)
            behind.proxy.cut_after = cut_after
            behind.proxy.cut()
            with contextlib.suppress(StoreError):
                ledger.put([document])
            behind.proxy.heal()
            behind.proxy.cut()
            there = until_answered(lambda: ledger.document_hashes(TENANT))
            assert until_answered(ledger.sequence) == before + 2 * (document.id in there)
            until_answered(lambda document=document: ledger.put([document]))
            assert len(until_answered(lambda number=number: ledger.notes([f"doc-{number:05d}#1"], tenant=TENANT))) == 1
            assert until_answered(ledger.sequence) == before + 2


def test_a_writer_that_hangs_in_its_transaction_does_not_keep_the_others_out(behind: Behind) -> None:
    with (
        Ledger.open(behind.folder, behind.near.model_copy(update={"write_timeout_s": 1.0}), writable=True) as hung,
        Ledger.open(behind.folder, behind.near, writable=True) as other,
    ):
        entered, leave = threading.Event(), threading.Event()

        def hang() -> None:
            with contextlib.suppress(StoreError), hung._writing([TENANT]):
                entered.set()
                leave.wait(PATIENT_S)

        thread = threading.Thread(target=hang)
        thread.start()
        assert entered.wait(PATIENT_S)
        assert other.put([make_document(20)]) == 1
        assert not leave.is_set()
        leave.set()
        thread.join()


@pytest.fixture
def own_server(postgres_url: str, servers: dict[str, Server]) -> Server:
    """The session's server, to be broken; one given by an address is left in peace."""
    if "postgres" not in servers:
        pytest.skip("postgres was given by its address: it may not be killed")
    return servers["postgres"]


def test_a_killed_or_hung_server_loses_nothing(own_server: Server, behind: Behind, tmp_path: Path) -> None:
    hasty = Engines(ledger=behind.near.model_copy(update={"timeout_s": LIMIT_S, "write_timeout_s": 4.0}))
    with until_answered(lambda: KnowledgeStore.open(tmp_path / "one", create=True, engines=hasty)) as store:
        until_answered(lambda: store.put([make_document(number) for number in range(5)]))
        until_answered(store.catch_up)
        kept = until_answered(lambda: store.notes(["doc-00001#0"], tenant=TENANT))
        own_server.suspend()
        try:
            with pytest.raises(EngineUnavailableError):
                store.put([make_document(7)])
            with pytest.raises(EngineUnavailableError):
                store.refresh()
            found = store.sparse.search("river", tenant=TENANT, filters={}, limit=3)
            assert found
            assert store.remembered(["doc-00001#0"], tenant=TENANT) == kept
        finally:
            own_server.resume()
        until_answered(lambda: store.put([make_document(7)]))
        own_server.kill()
        with pytest.raises(EngineUnavailableError):
            store.put([make_document(8)])
        own_server.start()
        until_answered(lambda: store.put([make_document(8), make_document(7)]))
        until_answered(store.refresh)
        notes = assert_congruent(store)
        assert {note.document_id for note in notes} == {f"doc-{number:05d}" for number in (0, 1, 2, 3, 4, 7, 8)}
    with KnowledgeStore.open(tmp_path / "two", engines=Engines(ledger=behind.near)) as other:
        assert [note.id for note in assert_congruent(other)] == [note.id for note in notes]


def test_questions_are_answered_or_say_what_is_missing(
    copy_of_demo: Callable[[], Path], postgres_url: str, ledger: str
) -> None:
    store, near, proxy = copy_of_demo(), settings_for(postgres_url, ledger), FaultyProxy(postgres_url)
    far = settings_for(f"{postgres_url.rpartition(':')[0]}:{proxy.port}/{postgres_url.rpartition('/')[2]}", ledger)
    with open_resources(Settings(store=store, retrieval={"deadline_ms": 60_000})) as embedded:
        expected = build_graph(embedded).invoke(QUESTION)
    assert move_ledger(Settings(store=store, ledger=near)) > 100
    settings = Settings(
        store=store, ledger=far.model_copy(update={"timeout_s": 10.0}), retrieval={"deadline_ms": 60_000}
    )
    with open_resources(settings) as resources:
        graph = build_graph(resources)

        def ask() -> dict[str, Any]:
            resources.store._notes.forget()
            return graph.invoke(QUESTION)

        def gist(output: dict[str, Any]) -> tuple[Any, ...]:
            return output["answer"], [candidate.note_id for candidate in output["candidates"]], output["degradations"]

        assert gist(ask()) == gist(expected)
        proxy.refuse()
        without = ask()
        assert {"receive_question", "fuse_candidates"} <= {one.stage for one in without["degradations"]}
        assert without["answer"]
        proxy.heal()
        deadline = time.monotonic() + PATIENT_S
        while ask()["degradations"] and time.monotonic() < deadline:
            time.sleep(0.05)
        assert gist(ask()) == gist(expected)
    proxy.close()
    drop_schema(near)
