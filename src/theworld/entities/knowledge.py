"""Where entities are looked up: Wikidata, or a bundled snapshot; several names side by side, in time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from importlib import resources
from itertools import chain
from typing import Any, Protocol

from theworld.packages import cache_folder
from theworld.settings import WikidataSettings
from theworld.text import entity_key
from theworld.wikidata import Endpoint, NamedEntry, ReplyCache, Snapshot, WikidataClient, WikidataTransport
from theworld.wikidata.items import Item, as_candidate

CACHE_FILE = "wikidata.sqlite"
CACHE_DAYS, CACHE_BYTES = 30, 200 * 2**20
"""Entries change slowly; some hundred thousand replies are kept."""


class EntityKnowledge(Protocol):
    """A source of Wikidata candidates."""

    def search(self, label: str, language: str, limit: int) -> list[Mapping[str, Any]]:
        """Return raw items in the shape of `wbsearchentities`, best first; none found is an empty list."""


class SnapshotKnowledge:
    """The bundled entities, found by exact label or alias in any of their languages: a few well-known ones.

    Data from Wikidata, CC0.
    """

    def search(self, label: str, language: str, limit: int) -> list[Mapping[str, Any]]:
        """Return the entities named `label`, those whose main label it is first."""
        items = self._by_name.get(entity_key(label), [])[: max(limit, 0)]
        found = [as_candidate(item, language, lambda _: {}) for item in items]
        unknown = {"sitelinks", "key_props_excerpt"}
        return [{name: value for name, value in one.items() if name not in unknown} for one in found]

    def entries_named(self, keys: Sequence[str]) -> dict[str, list[NamedEntry]]:
        """Return key -> every entity with exactly that name (an identity key), labels before aliases."""
        return {key: [item.entry() for item in items] for key in keys if (items := self._by_name.get(key))}

    @cached_property
    def _by_name(self) -> dict[str, list[Item]]:
        bundled = resources.files("theworld.entities").joinpath("data/entities.json")
        stored = json.loads(bundled.read_text(encoding="utf-8"))["entities"]
        texts: Mapping[str, Any] = {"descriptions": {}, "aliases": {}, "facts": {}, "sitelinks": 0}
        items = [Item(**{**texts, **entry}) for entry in stored]
        labelled = [(name, item) for item in items for name in item.labels.values()]
        aliased = [(name, item) for item in items for name in chain(*item.aliases.values())]
        found: dict[str, list[Item]] = {}
        for name, item in labelled + aliased:
            known = found.setdefault(entity_key(name), [])
            if item not in known:
                known.append(item)
        return found


def make_knowledge(settings: WikidataSettings, *, cached: bool = True) -> EntityKnowledge:
    """Return what the settings name: the service if `online`, else their snapshot, else the bundled one.

    Without `online` no network call is ever made; not `cached`, none is spared. Raises SettingsError for a service
    without an operator contact, StoreError for a snapshot that cannot be read.
    """
    if not settings.online:
        return Snapshot(settings.snapshot) if settings.snapshot else SnapshotKnowledge()
    endpoint = Endpoint(url=settings.api, contact=settings.contact, timeout_s=settings.timeout_s)
    file = (settings.cache or cache_folder()) / CACHE_FILE
    cache = ReplyCache(file, ttl_s=CACHE_DAYS * 86_400, max_bytes=CACHE_BYTES) if cached else None
    return WikidataClient(WikidataTransport(endpoint), cache)


@contextmanager
def open_knowledge(settings: WikidataSettings, *, cached: bool = True) -> Iterator[EntityKnowledge]:
    """Open what the settings name, and close it at the end."""
    knowledge = make_knowledge(settings, cached=cached)
    with knowledge if isinstance(knowledge, AbstractContextManager) else nullcontext():
        yield knowledge


SIDE_BY_SIDE = 4
"""Names asked at once; the service's etiquette allows few."""
TIMEOUT_S = 10.0
"""Longest wait for all names together."""


def look_up(
    knowledge: EntityKnowledge, names: Sequence[str], language: str, limit: int, timeout_s: float = TIMEOUT_S
) -> tuple[dict[str, Sequence[Mapping[str, Any]]], dict[str, Exception]]:
    """Return the raw items by name, in the order of the names, and what was not found in time, or failed, and why."""
    found: dict[str, Sequence[Mapping[str, Any]]] = {}
    failures: dict[str, Exception] = {}
    until = time.monotonic() + timeout_s
    pool = ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="entities")
    try:
        asked = {name: pool.submit(knowledge.search, name, language, limit) for name in names}
        for name, future in asked.items():
            try:
                found[name] = future.result(timeout=max(0.0, until - time.monotonic()))
            except Exception as error:  # a source of the caller may raise anything
                late = isinstance(error, TimeoutError) and not future.done()
                failures[name] = TimeoutError(f"no reply within {timeout_s:g} s") if late else error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return found, failures
