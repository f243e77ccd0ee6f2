"""The snapshot's SQLite file: tables, version, and what is stored in them.

`entity` holds the entries by QID; `ranked` orders them by how well known they are; `name` finds ranks by the identity
key of a name; `words` (FTS5, rowid = rank) finds ranks by the tokens of the names. As FTS5 yields rowids in order, the
best known come first and a search can stop early, however many match.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from theworld.errors import StoreError, StoreVersionError
from theworld.text import tokens
from theworld.wikidata.items import Item

APPLICATION_ID = 0x54575744
VERSION = 2
"""Of the file format, and of the keys and tokens of names; a file of another one is refused."""
UNFINISHED = 0

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entity (qid INTEGER PRIMARY KEY, sitelinks INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS ranked (rank INTEGER PRIMARY KEY, qid INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS name (key TEXT NOT NULL, rank INTEGER NOT NULL, alias INTEGER NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words
    USING fts5(names, content='', detail='none', columnsize=0, prefix='3 7', tokenize='ascii');
"""
LICENSE = "CC0-1.0"
SOURCE = "https://www.wikidata.org"


def encode(item: Item) -> bytes:
    """Return what is stored of an item besides its id and sitelinks."""
    return orjson.dumps([item.labels, item.descriptions, item.aliases, item.facts])


def decode(qid: int, sitelinks: int, data: bytes) -> Item:
    """Return the item stored."""
    labels, descriptions, aliases, facts = orjson.loads(data)
    return Item(
        id=f"Q{qid}",
        labels=labels,
        descriptions=descriptions,
        aliases={language: tuple(names) for language, names in aliases.items()},
        facts={code: tuple(values) for code, values in facts.items()},
        sitelinks=sitelinks,
    )


def word(token: str) -> str:
    """Return a token as a word of the index: ASCII, so that SQLite never cuts it; beginnings stay beginnings."""
    return token if token.isascii() and token.isalnum() else "x" + token.encode("utf-8", "replace").hex()


def words(names: Iterable[str]) -> list[str]:
    """Return the distinct words of names."""
    return list(dict.fromkeys(word(token) for name in names for token in tokens(name)))


def open_read_only(path: Path) -> sqlite3.Connection:
    """Return a connection to a finished snapshot, usable from any thread (one at a time).

    Raises StoreError when it is missing, unfinished or no snapshot, StoreVersionError when it is older or newer.
    """
    if not path.is_file():
        raise StoreError(
            "there is no such file.", where=str(path), remedy="Make one with: theworld wikidata build DUMP --out FILE"
        )
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    try:
        _check(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise not_usable(path, error) from error
    except StoreError:
        connection.close()
        raise
    return connection


def not_usable(path: Path, error: Exception) -> StoreError:
    """Return the error for a file SQLite cannot read."""
    return StoreError(
        f"the Wikidata snapshot cannot be read: {error}.",
        where=str(path),
        remedy="Make it again with: theworld wikidata build DUMP --out FILE",
    )


def _check(connection: sqlite3.Connection, path: Path) -> None:
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise StoreError("this SQLite file is no Wikidata snapshot.", where=str(path))
    version = _pragma(connection, "user_version")
    if version == UNFINISHED:
        raise StoreError(
            "the snapshot is not finished.", where=str(path), remedy="Run the same `theworld wikidata build` again."
        )
    if version != VERSION:
        again = "make it again with: theworld wikidata build DUMP --out FILE --replace"
        raise StoreVersionError(
            f"the snapshot has version {version}, and this program reads version {VERSION}.",
            where=str(path),
            remedy=f"Update theworld, or {again}." if version > VERSION else f"{again[0].upper()}{again[1:]}.",
        )


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    row: tuple[Any, ...] = connection.execute(f"PRAGMA {name}").fetchone()
    return int(row[0])
