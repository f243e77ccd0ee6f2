"""Ledgers of older schema versions are brought up to date, and to just what a new one has."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from theworld.errors import StoreVersionError
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger import opening
from theworld.stores.ledger.models import SCHEMA_VERSION, Base
from theworld.stores.ledger.opening import open_database
from theworld.stores.ledger.sqlite import FILE_NAME, SqliteDatabase
from theworld.stores.records import DocumentRecord, NoteRecord

SCHEMAS = Path(__file__).parent / "ledger_schemas"
STATEMENTS = {5: ["sqlite_5.sql"], 6: ["sqlite_5.sql", "written_6.sql"]}
"""The files that make a ledger of each version: 6 adds a column to those of 5."""


def differences(folder: Path) -> list[object]:
    """Return what the tables of a ledger lack of those of the models, or have beyond them."""
    with closing(open_database(folder)) as database, database.reading() as connection:
        return list(compare_metadata(MigrationContext.configure(connection), Base.metadata))


def write_ledger(folder: Path, *files: str) -> None:
    """Write a ledger by the statements of an older program."""
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        for file in files:
            connection.executescript((SCHEMAS / file).read_text(encoding="utf-8"))


@pytest.fixture(params=range(opening.OLDEST, SCHEMA_VERSION))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of a store as an older program made it."""
    write_ledger(tmp_path, *STATEMENTS[request.param])
    return tmp_path


def test_an_old_ledger_becomes_what_a_new_one_is(old: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with closing(SqliteDatabase(old / FILE_NAME, writable=True)) as database:
        assert opening.is_older(opening.read_version(database))
        with pytest.raises(StoreVersionError, match="theworld ledger migrate"):
            opening.check_version(database)
        assert opening.migrate_tables(database)[-1] == SCHEMA_VERSION
        assert opening.migrate_tables(database) == []
    assert differences(old) == []
    new = tmp_path_factory.mktemp("new")
    open_database(new, create=True).close()
    assert differences(new) == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["reader", "writer", "service"])
def test_a_file_is_brought_up_to_date_by_whoever_opens_it(old: Path, how: str) -> None:
    if how == "service":
        open_database(old, writable=True).close()
    else:
        KnowledgeStore.open(old, read_only=how == "reader").close()
    assert differences(old) == []
    with KnowledgeStore.open(old) as store:
        assert store.info()["versions"]["schema"] == SCHEMA_VERSION


def test_notes_of_an_older_ledger_are_read_and_written_anew(old: Path) -> None:
    with KnowledgeStore.open(old, read_only=False) as store:
        (first, second) = store.iter_notes("t")
        assert (first.text, first.section, first.kind, first.lead) == ("Ask your manager.", ("Leave",), "list", "")
        assert [hit.note_id for hit in store.sparse.search("manager", tenant="t", filters={}, limit=5)] == ["a#0"]
        document = DocumentRecord(
            id="a", title="Leave", text="Ask your manager.", source="a.md", content_hash="2", tenant="t",
            notes=(NoteRecord("a#0", 0, "Ask your manager.", 0, 17, "en", ("Parental leave",), "list", "Who asks:"),),
        )  # fmt: skip
        store.put([document])
        (first,) = store.notes(["a#0"], tenant="t")
        assert (first.section, first.kind, first.lead) == (("Parental leave",), "list", "Who asks:")
        assert store.notes(["b#0"], tenant="t") == [second]
