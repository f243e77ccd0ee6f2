"""Checksums of the ledger's rows: whatever column of whatever row changes behind its back is told."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from theworld.errors import StoreError
from theworld.models.protocols import Embedded
from theworld.state import Mention
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger.graph_tables import GraphEdgeRecord, GraphNodeRecord
from theworld.stores.ledger.ledger import Ledger
from theworld.stores.ledger.models import Base
from theworld.stores.ledger.sqlite import FILE_NAME
from theworld.stores.records import DocumentRecord, NoteRecord

CHECKED = [table for table in Base.metadata.sorted_tables if "checksum" in table.columns]
CELLS = [
    (table.name, column.name) for table in CHECKED for column in table.columns if column.name not in ("id", "checksum")
]
UNSET = {"token_ids", "token_codes", "qid", "document"}
"""Columns that may be NULL, whose rows here are."""


def _document(number: int, title: str) -> DocumentRecord:
    text = f"Place {number} lies on the river 莱茵河."
    mention = Mention(surface=f"Place {number}", type="place", start=0, end=7, key="place 1")
    vectors = {"space": Embedded(np.eye(1, 4, number, dtype=np.float32)[0])}
    note = NoteRecord(
        f"d{number}#0", 0, text, 0, len(text), "en", mentions=(mention,), vectors=vectors, section=("Rivers",)
    )
    return DocumentRecord(f"d{number}", title, text, "x.md", title, metadata={"year": 1900.5, "a": True}, notes=(note,))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose rows were written, replaced and improved: the second title is a better label of its entity."""
    folder = tmp_path_factory.mktemp("checked") / "store"
    with KnowledgeStore.open(folder, create=True) as opened:
        opened.put([_document(1, "The first"), _document(2, "The second")])
        opened.put([_document(2, "PLACE 1")])
        opened.set_mentions(
            "default", {"d1#0": [Mention(surface="Rhine", type="place", start=20, end=25, key="rhine")]}
        )
    with closing(Ledger.open(folder, writable=True)) as ledger:
        nodes = [GraphNodeRecord("Class", key, key.upper(), {"n": 1}) for key in ("a", "b")]
        ledger.graph.replace(
            "default", nodes, [GraphEdgeRecord(("Class", "a"), ("Class", "b"), "IS_A", 1, {"own": 1.0})]
        )
        links = {
            "default": {
                note: [GraphEdgeRecord(("Note", note), ("Class", key), "REFERS_TO", 0.5, {"name": 0.5}) for key in "ab"]
                for note in ("d1#0", "d2#0")
            }
        }
        last, version = ledger.sequence(), ledger.graph.version()
        assert ledger.graph.apply(links, after=0, upto=last, version=version, weigh=True) is not None
    return folder


def test_rows_as_they_were_written_are_whole(store: Path, tmp_path: Path) -> None:
    shutil.copytree(store, tmp_path / "store")
    with closing(sqlite3.connect(store / FILE_NAME)) as connection:
        for table in CHECKED:
            rows, sums = connection.execute(f"SELECT count(*), count(checksum) FROM {table.name}").fetchone()
            assert rows == sums > 0, table.name
    with KnowledgeStore.open(tmp_path / "store", read_only=False) as opened:
        assert opened.check_files() == []


@pytest.mark.parametrize(("table", "column"), CELLS)
def test_a_changed_cell_is_told(store: Path, tmp_path: Path, table: str, column: str) -> None:
    shutil.copy(store / FILE_NAME, tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection, connection:
        (row, value) = connection.execute(f"SELECT rowid, {column} FROM {table} ORDER BY rowid DESC LIMIT 1").fetchone()
        if value is None:
            assert column in UNSET | {"written_at"}
            other: object = 1 if column == "document" else "Q1" if column == "qid" else b"12"
        elif isinstance(value, bytes):
            other = value[:-1] + bytes([value[-1] ^ 1])
        elif isinstance(value, str):
            other = '["other"]' if value.startswith(("[", "{")) else f"{value}x"
        else:
            other = value + 1
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (other, row))
    with (
        closing(Ledger.open(tmp_path, writable=True)) as ledger,
        pytest.raises(StoreError, match="the ledger is damaged"),
    ):
        ledger.check()
