"""The ledger on a real PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

from ledger_suite import LedgerConformance, assert_ledger_twins, leaks_of_ledger
from ledger_writers import ServiceLedgerConformance, write_side_by_side
from made_documents import assert_congruent, make_document
from services.postgres_ledger import PATIENT_S, drop_schema, settings_for
from theworld.errors import StoreError, StoreVersionError
from theworld.settings import LedgerSettings, Settings
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger import Ledger
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.models import Base
from theworld.stores.ledger.opening import migrate_tables, open_database
from theworld.stores.moving import move_ledger
from theworld.stores.projections import Engines

pytestmark = pytest.mark.slow
Make = Callable[..., Ledger]


@pytest.fixture
def settings(postgres_url: str, ledger: str) -> Iterator[LedgerSettings]:
    """A schema that no other test has."""
    chosen = settings_for(postgres_url, ledger)
    yield chosen
    drop_schema(chosen)


@pytest.fixture
def make(settings: LedgerSettings, tmp_path: Path) -> Make:
    Ledger.open(tmp_path, settings, create=True).close()
    return lambda *, writable: Ledger.open(tmp_path, settings, writable=writable)


class TestPostgresLedger(LedgerConformance):
    @pytest.fixture
    def make(self, make: Make) -> Make:
        return make


class TestPostgresServiceLedger(ServiceLedgerConformance):
    @pytest.fixture
    def make_service(self, make: Make, settings: LedgerSettings, tmp_path: Path) -> Callable[[], Database]:
        return lambda: open_database(tmp_path, settings, writable=True)


def test_its_tables_are_those_of_the_models(settings: LedgerSettings, tmp_path: Path) -> None:
    with closing(open_database(tmp_path, settings, create=True)) as database, database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


def test_older_tables_are_brought_up_to_date_when_it_is_told_to(settings: LedgerSettings, tmp_path: Path) -> None:
    with closing(open_database(tmp_path, settings, create=True)) as database:
        with database.writing() as connection:
            connection.execute(text("ALTER TABLE document DROP COLUMN written_at"))
            connection.execute(text("UPDATE meta SET number = 5 WHERE key = 'schema_version'"))
        with pytest.raises(StoreVersionError, match="theworld ledger migrate"):
            Ledger.open(tmp_path, settings)
        assert migrate_tables(database) == [6, 7]
        with database.reading() as connection:
            assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


def test_it_tells_what_the_embedded_twin_tells(make: Make, tmp_path: Path) -> None:
    with make(writable=True) as server, Ledger.open(tmp_path, create=True) as file:
        assert_ledger_twins(file, server, rounds=10, seed=4)


@pytest.mark.parametrize(("tenants", "seed"), [(1, 1), (3, 2)])
def test_writers_on_many_machines_lose_and_double_nothing(make: Make, tenants: int, seed: int) -> None:
    write_side_by_side(make, writers=4, rounds=5, tenants=tenants, seed=seed)


def test_a_reader_on_another_machine_follows(settings: LedgerSettings, tmp_path: Path) -> None:
    engines = Engines(ledger=settings)
    with (
        KnowledgeStore.open(tmp_path / "here", create=True, engines=engines) as here,
        KnowledgeStore.open(tmp_path / "there", engines=engines) as there,
        KnowledgeStore.open(tmp_path / "both", read_only=False, engines=engines) as both,
    ):
        assert there.read_only
        here.put([make_document(number) for number in range(3)])
        both.put([make_document(number) for number in range(2, 5)])
        until_follows(there, last=here.ledger.sequence())
        for store in (here, both):
            store.refresh()
        assert assert_congruent(there) == assert_congruent(here) == assert_congruent(both)
        here.delete(["doc-00001"], tenant="default")
        until_follows(there, last=here.ledger.sequence())
        assert "doc-00001#0" not in {note.id for note in assert_congruent(there)}


def until_follows(store: KnowledgeStore, last: int) -> None:
    """Ask as queries do, until the projections of the reader's folder have been brought up to date behind them."""
    deadline = time.monotonic() + PATIENT_S
    while any(store.info()["lag"].values()) or store._seen != last:
        assert time.monotonic() < deadline, store.info()["lag"]
        store.refresh()
        time.sleep(0.02)


def test_a_folder_follows_one_ledger_at_a_time(settings: LedgerSettings, tmp_path: Path) -> None:
    with KnowledgeStore.open(tmp_path / "store", create=True) as store:
        store.put([make_document(number) for number in range(4)])
    moved = Settings(store=tmp_path / "store", ledger=settings)
    assert move_ledger(moved) > 20
    with pytest.raises(StoreError, match="has documents already"):
        move_ledger(moved)
    with KnowledgeStore.open(tmp_path / "store", read_only=False, engines=Engines(ledger=settings)) as store:
        assert not any(store.info()["lag"].values())
        store.put([make_document(number) for number in range(3, 6)])
        store.catch_up()
        notes = assert_congruent(store)
        assert len(notes) == 12
    with KnowledgeStore.open(tmp_path / "store") as file:
        assert len(assert_congruent(file)) == 8
    other = settings.model_copy(update={"namespace": f"{settings.namespace}_b"})
    try:
        with KnowledgeStore.open(tmp_path / "store", create=True, engines=Engines(ledger=other)) as store:
            assert assert_congruent(store) == []
    finally:
        drop_schema(other)


def test_nothing_of_a_tenant_is_shown_to_another(make: Make) -> None:
    with make(writable=True) as ledger:
        assert leaks_of_ledger(ledger, operations=400, seed=3) == []
