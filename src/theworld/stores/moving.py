"""A store's ledger moved from its folder to a server."""

from __future__ import annotations

from contextlib import closing

from theworld.settings import Settings
from theworld.stores.ledger import Ledger
from theworld.stores.ledger.copying import Progress, copy_ledger
from theworld.stores.ledger.opening import open_database
from theworld.stores.store_folder import check_folder, remember
from theworld.stores.writer_lock import WriterLock


def move_ledger(settings: Settings, progress: Progress | None = None) -> int:
    """Copy the ledger in the store's folder to the server that the settings name; return the number of rows.

    The projections of the folder go on where they are. Raises StoreError when the folder has no ledger or the server's
    has documents, StoreLockedError while another process writes.
    """
    check_folder(settings.store, create=False)
    lock = WriterLock(settings.store)
    lock.acquire()
    try:
        with (
            closing(open_database(settings.store, writable=True)) as source,
            closing(open_database(settings.store, settings.ledger_server, create=True)) as target,
        ):
            Ledger(source).identity()
            rows = copy_ledger(source, target, progress)
            remember(settings.store, Ledger(target))
            return rows
    finally:
        lock.release()
