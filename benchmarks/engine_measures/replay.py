"""A whole ledger replayed into empty servers."""

from __future__ import annotations

import time
from pathlib import Path

from engine_measures.common import Urls, engines_at, on_servers, write


def replay(path: Path, urls: Urls, notes: int, *, grpc: bool) -> None:
    """Time `theworld sync` of a whole ledger into empty servers."""
    write(path, notes)
    begun = time.perf_counter()
    with on_servers(path, engines_at(urls, grpc=grpc)) as far:
        spent = time.perf_counter() - begun
        equal = all(expected == held for expected, held in far.verify().values())
        names = ", ".join(urls)
        print(f"\nreplay of {notes} notes into {names}: {spent:.1f} s, {notes / spent:.0f} notes/s, ", end="")
        print(f"{'verified' if equal else 'NOT EQUAL'}, troubles {dict(far.troubles)}")
