"""A whole ledger replayed into empty servers, by `theworld sync`."""

from __future__ import annotations

import time
from pathlib import Path

from engine_measures.common import TENANT, Urls, copy_ledger, engines_at, on_servers, sync, write
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger import Ledger


def replay(path: Path, urls: Urls, notes: int, ledger_of: Path | None) -> None:
    """Time `theworld sync --verify` into one empty server after the other, and print what they hold afterwards.

    The ledger is that of the store `ledger_of`, copied, or one of made-up notes.
    """
    if ledger_of is None:
        write(path, notes)
    else:
        copy_ledger(ledger_of, path)
    engines = engines_at(urls)
    with Ledger.open(path) as ledger:
        notes = sum(1 for _ in ledger.iter_notes(TENANT))
    with KnowledgeStore.open(path, read_only=False):
        print(f"\nreplay of {notes} notes; what is embedded is there already")
    for name, settings in engines.remote().items():
        begun = time.perf_counter()
        left, told = sync(path, {name: settings})
        spent = time.perf_counter() - begun
        print(f"{name}: {spent:.1f} s, {notes / spent:.0f} notes/s, exits with {left}: {told[-1]}")
    with on_servers(path, engines) as far:
        for name, (expected, held) in far.verify().items():
            print(f"{name}: the ledger has {expected}, the server {held}{'' if expected == held else ': NOT EQUAL'}")
