"""Several names looked up side by side, within one time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from theworld.nodes.disambiguate_entities.knowledge import EntityKnowledge

SIDE_BY_SIDE = 4
"""Names asked at once; the service's etiquette allows few."""
TIMEOUT_S = 10.0
"""Longest wait for all names together."""


@dataclass(frozen=True)
class LookedUp:
    """What was found in time, and what was not and why."""

    items: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Name -> raw items, in the order of the names."""
    failures: dict[str, Exception] = field(default_factory=dict)
    """Name -> error."""


def look_up(
    knowledge: EntityKnowledge, names: Sequence[str], language: str, limit: int, timeout_s: float = TIMEOUT_S
) -> LookedUp:
    """Look names up; a name that fails or is late leaves the others as they are."""
    found = LookedUp()
    if not names:
        return found
    until = time.monotonic() + timeout_s
    pool = ThreadPoolExecutor(min(SIDE_BY_SIDE, len(names)), thread_name_prefix="entities")
    try:
        asked = {name: pool.submit(knowledge.search, name, language, limit) for name in names}
        for name, future in asked.items():
            wait([future], timeout=max(0.0, until - time.monotonic()))
            _keep(found, name, future, timeout_s)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return found


def _keep(found: LookedUp, name: str, future: Future[list[Mapping[str, Any]]], timeout_s: float) -> None:
    if not future.done():
        found.failures[name] = TimeoutError(f"no reply within {timeout_s:g} s")
        return
    try:
        found.items[name] = future.result()
    except Exception as error:  # a source of the caller may raise anything
        found.failures[name] = error
