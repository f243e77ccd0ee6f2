"""Candidates from the Wikidata service: one search, one batch of details, one batch of names of their values.

Its answers are kept on disk. Own code, because the known library for this (diskcache) had its last release in 2023 and
reads pickles, which lets whoever can write the file run code.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

from theworld.errors import WikidataUnavailableError
from theworld.wikidata.items import CODES, KNOWN_TYPE, QID, Item, as_candidate, key_properties, read_item
from theworld.wikidata.transport import WikidataTransport

_LOG = logging.getLogger(__name__)
BATCH = 50
"""Entries the service gives per call without special rights."""
MAX_SEARCH_CHARACTERS = 250
SEARCHED: Mapping[str, tuple[str, ...]] = {"zh": ("zh", "en"), "en": ("en", "mul")}
"""Our language -> languages the names are searched in, until one finds something."""


class WikidataClient(AbstractContextManager["WikidataClient"]):
    """Looks names up; safe to share between threads. Use it as a context, or close it."""

    def __init__(self, transport: WikidataTransport, cache: ReplyCache | None = None) -> None:
        self._transport, self._cache = transport, cache

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections and cache."""
        self._transport.close()
        if self._cache is not None:
            self._cache.close()

    def search(self, label: str, language: str, limit: int) -> list[Mapping[str, Any]]:
        """Return items of `wbsearchentities` with aliases and key facts, in the order of the service; [] if none.

        Raises WikidataUnavailableError when the service does not answer.
        """
        name = " ".join(label.split())[:MAX_SEARCH_CHARACTERS].encode("utf-8", "ignore").decode("utf-8")
        limit = min(limit, BATCH)
        if not name or limit < 1:
            return []
        key = f"search/{language}/{limit}/{unicodedata.normalize('NFKC', name).casefold()}"
        known = self._cache.get(key) if self._cache is not None else None
        if isinstance(known, list):
            return known
        deadline = time.monotonic() + self._transport.endpoint.timeout_s
        found: list[Mapping[str, Any]] = []
        for code in SEARCHED.get(language, SEARCHED["en"]):
            asked = {"search": name, "language": code, "uselang": code, "type": "item", "limit": str(limit)}
            reply = self._transport.call({"action": "wbsearchentities", **asked}, deadline)
            if not isinstance(listed := reply.get("search"), list):
                said = 'the reply of the search has no list "search".'
                raise WikidataUnavailableError(said, where="wbsearchentities")
            hits: dict[str, Mapping[str, Any]] = {}  # by QID, in the order of the service
            for hit in listed:
                if isinstance(hit, Mapping) and isinstance(hit.get("id"), str) and QID.fullmatch(hit["id"]):
                    hits.setdefault(hit["id"], hit)
            if hits:
                found = self._candidates(dict(list(hits.items())[:limit]), language, deadline)
                break
        if self._cache is not None:
            self._cache.put(key, found)
        return found

    def _candidates(
        self, hits: Mapping[str, Mapping[str, Any]], language: str, deadline: float
    ) -> list[Mapping[str, Any]]:
        """Return the candidates in the order of the hits, each entry once."""
        items = self._entities(list(hits), "labels|descriptions|aliases|claims|sitelinks", deadline)
        known = {item.id: item for qid in hits if (item := items.get(qid))}
        order: dict[str, None] = {}  # types of every item first, then the other properties, first values first
        for code in sorted(key_properties(), key=lambda code: code != KNOWN_TYPE):
            for values in zip_longest(*(item.facts.get(code, ()) for item in known.values())):
                order.update(dict.fromkeys(value for value in values if value and QID.fullmatch(value)))
        names = self._labels(list(order), language, deadline)
        found: dict[str, Mapping[str, Any]] = {}
        for qid, hit in hits.items():
            item = items.get(qid)
            if item is not None:
                candidate = as_candidate(item, language, lambda _: names)
            else:  # a hit without details, reduced to what is used
                aliases = hit.get("aliases")
                others = [name for name in aliases if isinstance(name, str)] if isinstance(aliases, list) else []
                texts = {name: hit[name] for name in ("label", "description") if isinstance(hit.get(name), str)}
                candidate = {"id": qid, **texts, "aliases": others}
            found.setdefault(candidate["id"], candidate)
        return list(found.values())

    def _labels(self, ids: Sequence[str], language: str, deadline: float) -> dict[str, str]:
        """Return QID -> label of values; what the cache does not know is asked in one batch."""
        cache, prefix = self._cache, f"label/{language}/"
        known = {qid: cache.get(prefix + qid) for qid in ids} if cache is not None else {}
        names = {qid: name for qid, name in known.items() if isinstance(name, str)}
        missing = [qid for qid in ids if qid not in names][:BATCH]
        for qid, item in self._entities(missing, "labels", deadline).items() if missing else ():
            if name := item.text(item.labels, language):
                names[qid] = name
                if cache is not None:
                    cache.put(prefix + qid, name)
        return names

    def _entities(self, ids: Sequence[str], properties: str, deadline: float) -> dict[str, Item]:
        """Return asked QID -> item; a redirected entry is found under its old QID and carries the new one."""
        asked = {"ids": "|".join(ids[:BATCH]), "props": properties, "languages": "|".join(CODES), "redirects": "yes"}
        reply = self._transport.call({"action": "wbgetentities", **asked}, deadline)
        entities = reply.get("entities")
        if not isinstance(entities, Mapping):
            raise WikidataUnavailableError('the reply of the details has no "entities".', where="wbgetentities")
        found: dict[str, Item] = {}
        for key, entity in entities.items():
            try:
                item = read_item(entity)
            except ValueError:
                continue
            redirects = entity.get("redirects")
            old = redirects.get("from") if isinstance(redirects, Mapping) else None
            for name in (key, item.id, old) if "missing" not in entity else ():
                if isinstance(name, str):
                    found.setdefault(name, item)
        return found


_SCHEMA = """
CREATE TABLE IF NOT EXISTS reply (
    key TEXT PRIMARY KEY, value TEXT NOT NULL, written REAL NOT NULL, bytes INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS reply_written ON reply (written);
"""
KEPT_SHARE = 0.8
"""A cache over its limit loses its oldest entries until this share of the limit is left."""


class ReplyCache:
    """Key -> JSON in one SQLite file, with a time to live and a size limit; safe between threads and processes.

    The cache is only ever a saving: when it fails, the service is asked.
    """

    def __init__(self, path: Path, *, ttl_s: float, max_bytes: int, now: Callable[[], float] = time.time) -> None:
        self._path, self._ttl, self._max, self._now = path, ttl_s, max_bytes, now
        self._lock = threading.RLock()
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
                if self._connection is None:
                    self._path.parent.mkdir(parents=True, exist_ok=True)
                    self._connection = sqlite3.connect(
                        self._path, timeout=2.0, check_same_thread=False, isolation_level=None
                    )
                    self._connection.execute("PRAGMA journal_mode = WAL")
                    self._connection.execute("PRAGMA synchronous = NORMAL")
                    self._connection.executescript(_SCHEMA)
                return self._connection.execute(statement, values).fetchall()
            except (sqlite3.Error, OSError, UnicodeError) as error:
                _LOG.warning("the cache of Wikidata replies %s is not usable: %s", self._path, error)
                self.close()
                for suffix in ("", "-wal", "-shm") if type(error) is sqlite3.DatabaseError else ():
                    with suppress(OSError):  # in a folder one may only read; else the next use begins a new file
                        self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
                return []
