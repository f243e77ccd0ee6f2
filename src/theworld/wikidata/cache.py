"""Answers of the service on disk: JSON in one SQLite file, with a time to live and a size limit.

Own code, because the known library for this (diskcache) had its last release in 2023 and reads pickles, which lets
whoever can write the file run code. The cache is only ever a saving: when it fails, the service is asked.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_LOG = logging.getLogger(__name__)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS reply (
    key TEXT PRIMARY KEY, value TEXT NOT NULL, written REAL NOT NULL, bytes INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS reply_written ON reply (written);
"""
KEPT_SHARE = 0.8
"""A cache over its limit loses its oldest entries until this share of the limit is left."""


class ReplyCache:
    """Key -> JSON value; safe to share between threads and processes."""

    def __init__(self, path: Path, *, ttl_s: float, max_bytes: int, now: Callable[[], float] = time.time) -> None:
        self._path, self._ttl, self._max, self._now = path, ttl_s, max_bytes, now
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._bytes: int | None = None

    def get(self, key: str) -> Any | None:
        """Return the value unless it is missing or too old."""
        rows = self._run("SELECT value FROM reply WHERE key = ? AND written > ?", (key, self._now() - self._ttl))
        try:
            return json.loads(rows[0][0]) if rows else None
        except (ValueError, TypeError):
            return None

    def put(self, key: str, value: Any) -> None:
        """Keep a value; the oldest go when there are too many."""
        text = json.dumps(value, ensure_ascii=False)
        size = len(key.encode("utf-8", "replace")) + len(text.encode("utf-8", "replace"))
        if size > self._max:
            return
        self._run("INSERT OR REPLACE INTO reply VALUES (?, ?, ?, ?)", (key, text, self._now(), size))
        self._bytes = self.size() if self._bytes is None else self._bytes + size
        if self._bytes > self._max:
            self._run("DELETE FROM reply WHERE written <= ?", (self._now() - self._ttl,))
            excess = self.size() - int(self._max * KEPT_SHARE)
            oldest_first = "SELECT key, sum(bytes) OVER (ORDER BY written, key) - bytes AS before FROM reply"
            self._run(f"DELETE FROM reply WHERE key IN (SELECT key FROM ({oldest_first}) WHERE before < ?)", (excess,))  # noqa: S608
            self._bytes = self.size()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def size(self) -> int:
        """Return the bytes of all keys and values."""
        rows = self._run("SELECT coalesce(sum(bytes), 0) FROM reply")
        return int(rows[0][0]) if rows else 0

    def _run(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement; a cache that cannot be used says so in the log and yields nothing."""
        with self._lock:
            try:
                return self._open().execute(statement, values).fetchall()
            except (sqlite3.Error, OSError, UnicodeError) as error:
                _LOG.warning("the cache of Wikidata replies %s is not usable: %s", self._path, error)
                if self._connection is not None:
                    self._connection.close()
                    self._connection = None
                for suffix in ("", "-wal", "-shm") if type(error) is sqlite3.DatabaseError else ():
                    with suppress(OSError):  # in a folder one may only read; else the next use begins a new file
                        self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
                return []

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=2.0, check_same_thread=False, isolation_level=None)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.executescript(_SCHEMA)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection
