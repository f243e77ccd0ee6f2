"""Keep a store in step with folders: once at the start, then after every burst of changes. Needs watchfiles.

The operating system's notices only say that something changed; what, `ingest` finds out by itself (content hashes, and
`prune` for files that are gone), so that a lost notice, a rename or a restart can leave nothing behind. Watching begins
before the first run: a file saved meanwhile is seen. A run that cannot write now, because another process does, is
tried again at the next tick.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from theworld.errors import SettingsError, StoreLockedError
from theworld.extras import install_command
from theworld.ingestion.sources import INSTALLED

TICK_MS = 2_000
"""How often it is looked whether a postponed run is due, and whether to stop."""
BURST_MS = 1_600
"""Changes closer together than this are one burst: an editor saves a file in several steps."""


def check_watchable(folders: Sequence[Path]) -> None:
    """Raise SettingsError when watchfiles is missing or one of them is no folder."""
    if find_spec("watchfiles") is None:
        remedy = f"Install it: {install_command('watch')}"
        raise SettingsError("watching needs the package watchfiles", where="watch", remedy=remedy)
    for folder in folders:
        if not folder.is_dir():
            raise SettingsError("there is no such folder", where=str(folder), remedy="Name a folder to watch.")


def watch(
    folders: Sequence[Path],
    bring_up_to_date: Callable[[], None],
    *,
    store: Path,
    stop: threading.Event,
    on_busy: Callable[[StoreLockedError], None],
) -> None:
    """Call `bring_up_to_date` at once and after every burst of changes below the folders, until `stop` is set.

    Files of the store, hidden ones and those of installed packages wake nobody. Raises what
    `check_watchable` and `bring_up_to_date` raise, but for StoreLockedError, which goes to `on_busy`.
    """
    check_watchable(folders)
    import watchfiles

    inside = store.resolve()

    def concerns(_change: watchfiles.Change, path: str) -> bool:
        place = Path(path)
        if place.is_relative_to(inside):
            return False
        below = next((place.relative_to(root).parts for root in roots if place.is_relative_to(root)), place.parts)
        return not any(part.startswith(".") or part in INSTALLED for part in below)

    roots = [folder.resolve() for folder in folders]
    due = True
    bursts = watchfiles.watch(
        *roots,
        watch_filter=concerns,
        debounce=BURST_MS,
        rust_timeout=TICK_MS,
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=True,
    )
    for changes in bursts:
        if changes or due:
            try:
                bring_up_to_date()
                due = False
            except StoreLockedError as error:
                due = True
                on_busy(error)
