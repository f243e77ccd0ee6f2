"""Candidates from the Wikidata service: one search, one batch of details, one batch of names of their values."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Self

from theworld.errors import WikidataUnavailableError
from theworld.wikidata.cache import ReplyCache
from theworld.wikidata.items import CODES, KNOWN_TYPE, QID, Item, as_candidate, key_properties, read_item
from theworld.wikidata.transport import WikidataTransport

BATCH = 50
"""Entries the service gives per call without special rights."""
MAX_SEARCH_CHARACTERS = 250
SEARCHED: Mapping[str, tuple[str, ...]] = {"zh": ("zh", "en"), "en": ("en", "mul")}
"""Our language -> languages the names are searched in, until one finds something."""


class WikidataClient:
    """Looks names up; safe to share between threads. Use it as a context, or close it."""

    def __init__(self, transport: WikidataTransport, cache: ReplyCache | None = None) -> None:
        self._transport, self._cache = transport, cache

    def __enter__(self) -> Self:
        return self

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
        lookup = _Lookup(self._transport, self._cache, language)
        found: list[Mapping[str, Any]] = []
        for code in SEARCHED.get(language, SEARCHED["en"]):
            if hits := lookup.hits(name, code, limit):
                found = lookup.candidates(hits)
                break
        if self._cache is not None:
            self._cache.put(key, found)
        return found


class _Lookup:
    """The calls of one search, which share its time."""

    def __init__(self, transport: WikidataTransport, cache: ReplyCache | None, language: str) -> None:
        self._transport, self._cache, self._language = transport, cache, language
        self._deadline = time.monotonic() + transport.timeout_s

    def hits(self, name: str, code: str, limit: int) -> dict[str, Mapping[str, Any]]:
        """Return QID -> search hit, in the order of the service."""
        asked = {"search": name, "language": code, "uselang": code, "type": "item", "limit": str(limit)}
        reply = self._transport.call({"action": "wbsearchentities", **asked}, self._deadline)
        hits = reply.get("search")
        if not isinstance(hits, list):
            raise WikidataUnavailableError('the reply of the search has no list "search".', where="wbsearchentities")
        found: dict[str, Mapping[str, Any]] = {}
        for hit in hits:
            if isinstance(hit, Mapping) and isinstance(hit.get("id"), str) and QID.fullmatch(hit["id"]):
                found.setdefault(hit["id"], hit)
        return dict(list(found.items())[:limit])

    def candidates(self, hits: Mapping[str, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the candidates in the order of the hits, each entry once."""
        items = self._entities(list(hits), "labels|descriptions|aliases|claims|sitelinks")
        known = {item.id: item for qid in hits if (item := items.get(qid))}
        order: dict[str, None] = {}  # types of every item first, then the other properties, first values first
        for code in sorted(key_properties(), key=lambda code: code != KNOWN_TYPE):
            for place in range(max((len(item.facts.get(code, ())) for item in known.values()), default=0)):
                for item in known.values():
                    values = item.facts.get(code, ())[place : place + 1]
                    order.update(dict.fromkeys(value for value in values if QID.fullmatch(value)))
        names = self._labels(list(order))
        found: dict[str, Mapping[str, Any]] = {}
        for qid, hit in hits.items():
            item = items.get(qid)
            if item is not None:
                candidate = as_candidate(item, self._language, lambda _: names)
            else:  # a hit without details, reduced to what is used
                aliases = hit.get("aliases")
                others = [name for name in aliases if isinstance(name, str)] if isinstance(aliases, list) else []
                texts = {name: hit[name] for name in ("label", "description") if isinstance(hit.get(name), str)}
                candidate = {"id": qid, **texts, "aliases": others}
            found.setdefault(candidate["id"], candidate)
        return list(found.values())

    def _labels(self, ids: Sequence[str]) -> dict[str, str]:
        """Return QID -> label of values; what the cache does not know is asked in one batch."""
        cache, prefix = self._cache, f"label/{self._language}/"
        known = {qid: cache.get(prefix + qid) for qid in ids} if cache is not None else {}
        names = {qid: name for qid, name in known.items() if isinstance(name, str)}
        missing = [qid for qid in ids if qid not in names][:BATCH]
        for qid, item in self._entities(missing, "labels").items() if missing else ():
            if name := item.text(item.labels, self._language):
                names[qid] = name
                if cache is not None:
                    cache.put(prefix + qid, name)
        return names

    def _entities(self, ids: Sequence[str], properties: str) -> dict[str, Item]:
        """Return asked QID -> item; a redirected entry is found under its old QID and carries the new one."""
        asked = {"ids": "|".join(ids[:BATCH]), "props": properties, "languages": "|".join(CODES), "redirects": "yes"}
        reply = self._transport.call({"action": "wbgetentities", **asked}, self._deadline)
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
