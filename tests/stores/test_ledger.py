"""The ledger in a SQLite file does what every ledger must."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ledger_suite import LedgerConformance, leaks_of_ledger
from ledger_writers import ServiceLedgerConformance, write_side_by_side
from theworld.stores.ledger import Ledger
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.opening import open_database


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Ledger]:
    Ledger.open(tmp_path, create=True).close()
    return lambda *, writable: Ledger.open(tmp_path, writable=writable)


class TestSqliteLedger(LedgerConformance):
    @pytest.fixture
    def make(self, make: Callable[..., Ledger]) -> Callable[..., Ledger]:
        return make


class TestSqliteServiceLedger(ServiceLedgerConformance):
    @pytest.fixture
    def make_service(self, make: Callable[..., Ledger], tmp_path: Path) -> Callable[[], Database]:
        return lambda: open_database(tmp_path, writable=True)


@pytest.mark.slow
def test_writers_in_many_threads_lose_and_double_nothing(make: Callable[..., Ledger]) -> None:
    write_side_by_side(make, writers=3, rounds=6, tenants=2, seed=1)


def test_nothing_of_a_tenant_is_shown_to_another(make: Callable[..., Ledger]) -> None:
    with make(writable=True) as ledger:
        assert leaks_of_ledger(ledger, operations=600, seed=2) == []
