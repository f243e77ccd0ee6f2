"""The snapshot's SQLite file: tables, version, and what is stored in them.

`entity` holds the entries by QID; `ranked` orders them by how well known they are; `name` finds ranks by the identity
key of a name; `words` (FTS5, rowid = rank) finds ranks by the tokens of the names. As FTS5 yields rowids in order, the
best known come first and a search can stop early, however many match.

Names looked up in a snapshot file: the same name first, then names with all its words, then beginnings of words.
"""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from theworld.errors import StoreError, StoreVersionError
from theworld.text import entity_key, tokens
from theworld.wikidata.items import Item, NamedEntry, as_candidate

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

HOMONYMS = 200
"""Entries of one name that are compared, the best known ones."""
MAX_WORDS = 16
MAX_CHARACTERS = 250
MIN_BEGINNING = 3
"""Letters of a word's beginning, unless it is one Chinese character."""
LABEL_BONUS = 1.0
"""What a label counts more than an alias: as much as 2.7 times the sitelinks."""
LABELS_KEPT = 20_000
MAX_KEYS = 500
"""Names looked up at once."""
MAX_NAMED = 1000
"""Entries read for them."""

_NAMED = (
    "SELECT key, alias, qid, sitelinks, data FROM name JOIN ranked USING (rank) JOIN entity USING (qid) "
    "WHERE key IN ({marks}) ORDER BY rank LIMIT ?"
)
_WORDS = (
    "SELECT qid, sitelinks, data FROM (SELECT rowid AS rank FROM words WHERE words MATCH ? ORDER BY rowid LIMIT ?) "
    "JOIN ranked USING (rank) JOIN entity USING (qid) ORDER BY rank"
)


def encode(item: Item) -> bytes:
    """Return what is stored of an item besides its id and sitelinks."""
    parts = [item.labels, item.descriptions, item.aliases, item.facts]
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()


def decode(qid: int, sitelinks: int, data: bytes) -> Item:
    """Return the item stored."""
    labels, descriptions, aliases, facts = json.loads(data)
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


def not_usable(path: Path, error: Exception) -> StoreError:
    """Return the error for a file SQLite cannot read."""
    return StoreError(
        f"the Wikidata snapshot cannot be read: {error}.",
        where=str(path),
        remedy="Make it again with: theworld wikidata build DUMP --out FILE",
    )


class Snapshot(AbstractContextManager["Snapshot"]):
    """An open snapshot; safe to share between threads. Use it as a context, or close it."""

    def __init__(self, path: Path) -> None:
        """Open a finished snapshot.

        Raises StoreError when it is missing, unfinished or no snapshot, StoreVersionError when it is older or newer.
        """
        where = str(path)
        if not path.is_file():
            remedy = "Make one with: theworld wikidata build DUMP --out FILE"
            raise StoreError("there is no such file.", where=where, remedy=remedy)
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        try:
            kind, version = (
                connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
            )
            if kind != APPLICATION_ID:
                raise StoreError("this SQLite file is no Wikidata snapshot.", where=where)
            if version == UNFINISHED:
                remedy = "Run the same `theworld wikidata build` again."
                raise StoreError("the snapshot is not finished.", where=where, remedy=remedy)
            if version != VERSION:
                again = "make it again with: theworld wikidata build DUMP --out FILE --replace."
                raise StoreVersionError(
                    f"the snapshot has version {version}, and this program reads version {VERSION}.",
                    where=where,
                    remedy=f"Update theworld, or {again}" if version > VERSION else f"{again[0].upper()}{again[1:]}",
                )
        except (sqlite3.Error, StoreError) as error:
            connection.close()
            if isinstance(error, StoreError):
                raise
            raise not_usable(path, error) from error
        self._path, self._connection = path, connection
        self._lock = threading.Lock()
        self._labels: dict[tuple[str, str], str] = {}

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @property
    def about(self) -> Mapping[str, str]:
        """What the snapshot holds: source, licence, number of entries."""
        return {
            name: value
            for name, value in self._rows("SELECT name, value FROM meta ORDER BY name")
            if name in {"source", "origin", "license", "entities"}
        }

    def search(self, label: str, language: str, limit: int) -> list[Mapping[str, Any]]:
        """Return entries in the shape of `wbsearchentities` items, best first; [] if none.

        Raises StoreError when the file is damaged.
        """
        name = label[:MAX_CHARACTERS].encode("utf-8", "ignore").decode("utf-8")
        found: dict[str, Item] = {}
        for item in self._matches(name, limit):
            found.setdefault(item.id, item)
            if len(found) >= limit:
                break
        return [as_candidate(item, language, lambda ids: self._names(ids, language)) for item in found.values()]

    def entries_named(self, keys: Sequence[str]) -> dict[str, list[NamedEntry]]:
        """Return key -> every entry with exactly that name (an identity key), the best known first.

        Raises StoreError when the file is damaged.
        """
        found: dict[str, dict[int, NamedEntry]] = {}
        asked = [key for key in dict.fromkeys(keys) if key.isprintable()][:MAX_KEYS]
        statement = _NAMED.format(marks=", ".join("?" * len(asked)))
        for key, _alias, *row in self._rows(statement, (*asked, MAX_NAMED)) if asked else ():
            found.setdefault(key, {})[row[0]] = self._decode(*row).entry()
        return {key: list(entries.values()) for key, entries in found.items()}

    def _matches(self, name: str, limit: int) -> Iterator[Item]:
        if limit < 1:
            return
        rows = self._rows(_NAMED.format(marks="?"), (entity_key(name), HOMONYMS))
        for _, _, *stored in sorted(rows, key=lambda row: (row[1] * LABEL_BONUS - math.log1p(row[3]), row[2])):
            yield self._decode(*stored)
        found = [word(token) for token in dict.fromkeys(tokens(name))][:MAX_WORDS]
        if not found:
            return
        quoted, last = [f'"{token}"' for token in found], tokens(name)[-1]
        queries = [" AND ".join(quoted)]  # all words, then the last one as a beginning
        if len(last) >= MIN_BEGINNING or not last.isascii():
            others = (mark for mark in quoted if mark != f'"{word(last)}"')
            queries.append(" AND ".join([*others, f'"{word(last)}"*']))
        for query in queries:
            for row in self._rows(_WORDS, (query, limit * 2)):
                yield self._decode(*row)

    def _names(self, ids: Sequence[str], language: str) -> dict[str, str]:
        """Return QID -> label of those that are in the snapshot."""
        missing = [qid for qid in ids if (qid, language) not in self._labels]
        if len(self._labels) > LABELS_KEPT:
            self._labels.clear()
            missing = list(ids)
        marks = ", ".join("?" * len(missing))
        statement = f"SELECT qid, sitelinks, data FROM entity WHERE qid IN ({marks})"  # noqa: S608
        for row in self._rows(statement, tuple(int(qid[1:]) for qid in missing)) if missing else ():
            item = self._decode(*row)
            self._labels[item.id, language] = item.text(item.labels, language) or ""
        return {qid: name for qid in ids if (name := self._labels.get((qid, language)))}

    def _decode(self, qid: int, sitelinks: int, data: bytes) -> Item:
        try:
            return decode(qid, sitelinks, data)
        except (ValueError, TypeError, AttributeError) as error:
            raise not_usable(self._path, error) from error

    def _rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise not_usable(self._path, error) from error
