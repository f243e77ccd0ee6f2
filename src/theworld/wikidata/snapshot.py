"""Names looked up in a snapshot file: the same name first, then names with all its words, then beginnings of words."""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from theworld.text import entity_key, tokens
from theworld.wikidata.items import Item, as_candidate
from theworld.wikidata.named import NamedEntry
from theworld.wikidata.snapshot_file import decode, not_usable, open_read_only, word

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

_EXACT = (
    "SELECT name.alias, qid, sitelinks, data FROM name JOIN ranked USING (rank) JOIN entity USING (qid) "
    "WHERE key = ? ORDER BY rank LIMIT ?"
)
_NAMED = (
    "SELECT key, qid, sitelinks, data FROM name JOIN ranked USING (rank) JOIN entity USING (qid) "
    "WHERE key IN ({marks}) ORDER BY rank LIMIT ?"
)
_WORDS = (
    "SELECT qid, sitelinks, data FROM (SELECT rowid AS rank FROM words WHERE words MATCH ? ORDER BY rowid LIMIT ?) "
    "JOIN ranked USING (rank) JOIN entity USING (qid) ORDER BY rank"
)


class Snapshot:
    """An open snapshot; safe to share between threads. Use it as a context, or close it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = open_read_only(path)
        self._lock = threading.Lock()
        self._labels: dict[tuple[str, str], str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        for key, *row in self._rows(statement, (*asked, MAX_NAMED)) if asked else ():
            item = self._decode(*row)
            said = "; ".join(item.descriptions.values())
            found.setdefault(key, {})[row[0]] = NamedEntry(item.id, tuple(dict.fromkeys(item.names())), said)
        return {key: list(entries.values()) for key, entries in found.items()}

    def _matches(self, name: str, limit: int) -> Iterator[Item]:
        if limit < 1:
            return
        yield from self._same_name(entity_key(name))
        found = [word(token) for token in dict.fromkeys(tokens(name))][:MAX_WORDS]
        if not found:
            return
        for query in _queries(found, tokens(name)[-1]):
            for row in self._rows(_WORDS, (query, limit * 2)):
                yield self._decode(*row)

    def _same_name(self, key: str) -> list[Item]:
        rows = self._rows(_EXACT, (key, HOMONYMS)) if key else []
        ordered = sorted(rows, key=lambda row: (row[0] * LABEL_BONUS - math.log1p(row[2]), row[1]))
        return [self._decode(*row[1:]) for row in ordered]

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


def _queries(found: Sequence[str], last: str) -> Iterator[str]:
    """Yield the queries of FTS5: all words, then the last one as a beginning."""
    quoted = [f'"{token}"' for token in found]
    yield " AND ".join(quoted)
    if len(last) >= MIN_BEGINNING or not last.isascii():
        yield " AND ".join([*(mark for mark in quoted if mark != f'"{word(last)}"'), f'"{word(last)}"*'])
