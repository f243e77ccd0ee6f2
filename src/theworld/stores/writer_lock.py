"""One writer at a time, across processes; the lock of a process that died is free."""

from __future__ import annotations

import os
from pathlib import Path

from filelock import FileLock, Timeout

from theworld.errors import StoreError, StoreLockedError
from theworld.stores.files import read_json, write_atomically


class WriterLock:
    """The right to write to a store folder."""

    def __init__(self, folder: Path) -> None:
        self._owner = folder / "writer.json"
        self._where = folder
        self._lock = FileLock(folder / "writer.lock", timeout=0, thread_local=False)
        self.found_dead = False
        """Whether the writer before died: it has left its name."""

    def acquire(self, *, wait_s: float = 0.0) -> None:
        """Take the lock, waiting so long for it; raises StoreLockedError naming the process that has it."""
        try:
            self._lock.acquire(timeout=wait_s)
            self.found_dead = self._owner.exists()
            write_atomically(self._owner, {"pid": os.getpid()})
        except Timeout as error:
            owner = read_json(self._owner)
            pid = owner.get("pid") if isinstance(owner, dict) else None
            raise StoreLockedError(
                f"process {pid} is writing to this store." if pid else "another process is writing to this store.",
                where=str(self._where),
                remedy="Wait until it has finished, or end it; reading stays possible.",
            ) from error
        except OSError as error:
            self._lock.release()
            raise StoreError(
                f"the store cannot be written to: {error.strerror}.",
                where=str(self._where),
                remedy="Make the folder writable, or open the store for reading.",
            ) from error

    def release(self) -> None:
        """Give the lock back; harmless when it was not taken."""
        if self._lock.is_locked:
            self._owner.unlink(missing_ok=True)
            self._lock.release()
