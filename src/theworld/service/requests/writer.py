"""Writes records off the hot path: a bounded queue, batches, retention; what it cannot keep up with is counted."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from theworld.errors import StoreError
from theworld.service.requests.record import FinishedRequest, record_of
from theworld.stores.ledger.request_log import RequestJournal

log = logging.getLogger(__name__)

QUEUE = 2000
"""Records that may wait to be written: some 20 MB."""
BATCH = 64
"""Records written in one transaction."""
LINGER_S = 0.02
"""Pause after a request before its record is made, so that its reply goes out first."""
LONGEST_DELAY_S = 0.25
"""How long records wait at most for a moment in which no request is worked on."""
RETRY_S = 1.0
"""Pause after the ledger refused a batch."""
PRUNE_S = 3600.0
"""Time between two deletions of what is too old."""
DAY_S = 86_400


class RequestWriter:
    """One thread that turns finished requests into rows.

    `put` never waits: with the queue full, the oldest record is dropped and counted. Rows are made in this thread, so a
    request pays for one append; and it works while no request does (`busy`), since two threads of one interpreter
    take turns, at the latest after `LONGEST_DELAY_S`, when a batch is full, or when somebody waits for a record.
    A batch is one transaction: a process that is killed leaves a record whole or not at all.
    """

    def __init__(
        self,
        journal: RequestJournal,
        *,
        retention_days: float,
        busy: Callable[[], bool] = lambda: False,
        watch: Callable[[int, int, int], None] = lambda *_: None,
    ) -> None:
        """Start the thread; `watch` is told how many records wait, were written and dropped, when these change."""
        self._watch = watch
        self._journal, self._busy, self._keep_s = journal, busy, retention_days * DAY_S
        self._queue: deque[FinishedRequest] = deque()
        self._pending: set[tuple[str, str]] = set()
        """Tenant and request id of what is neither written nor dropped yet."""
        self._wake = threading.Condition()
        self._awaited = 0
        self._closing = False
        self.written = self.dropped = 0
        """Records written, and those dropped, the oldest first: the queue was full, or they could not be kept."""
        self._next_prune = 0.0
        self._last_warning = 0.0
        self._thread = threading.Thread(target=self._work, name="request-log", daemon=True)
        self._thread.start()

    def put(self, asked: FinishedRequest) -> None:
        """Take a finished request; drops the oldest one waiting when there is no room."""
        with self._wake:
            if len(self._queue) >= QUEUE:
                self._forget([self._queue.popleft()])
                self._dropped(1, "the request log cannot keep up")
            self._queue.append(asked)
            self._pending.add((asked.tenant, asked.request_id))
            if len(self._queue) in {1, BATCH}:
                self._wake.notify_all()
            self._watch(len(self._queue), self.written, self.dropped)

    def waiting(self) -> int:
        """Return how many records wait."""
        return len(self._queue)

    def settle(self, request_id: str, *, tenant: str, timeout_s: float = 5.0) -> None:
        """Wait until a tenant's request is written, if it is among those that wait; returns at once if it is not."""
        key = (tenant, request_id)
        if key in self._pending:
            self._until(lambda: key not in self._pending, timeout_s)

    def flush(self, timeout_s: float = 30.0) -> bool:
        """Wait until everything put so far is written; False when that took too long."""
        return self._until(lambda: not self._pending, timeout_s)

    def close(self, timeout_s: float = 30.0) -> None:
        """Write what waits, then stop."""
        with self._wake:
            self._closing = True
            self._wake.notify_all()
        self._thread.join(timeout_s)

    def _until(self, done: Callable[[], bool], timeout_s: float) -> bool:
        with self._wake:
            self._awaited += 1
            self._wake.notify_all()
            try:
                return self._wake.wait_for(done, timeout_s)
            finally:
                self._awaited -= 1

    def _work(self) -> None:
        while True:
            with self._wake:
                self._wake.notify_all()
                self._wake.wait_for(lambda: self._queue or self._closing, PRUNE_S)
                end = time.monotonic() + LONGEST_DELAY_S  # requests go first, for a while
                while self._queue and time.monotonic() < end:
                    hurried = self._wake.wait_for(
                        lambda: self._closing or self._awaited or len(self._queue) >= BATCH, LINGER_S
                    )
                    if hurried or not self._busy():
                        break
                batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
                closing = self._closing
            if batch:
                self._write(batch, closing=closing)
                self._watch(len(self._queue), self.written, self.dropped)
            elif closing:
                return
            if time.monotonic() >= self._next_prune:
                self._next_prune = time.monotonic() + PRUNE_S
                try:
                    self._journal.prune(int((time.time() - self._keep_s) * 1000))
                except StoreError as error:
                    log.warning("old requests could not be deleted: %s", error)

    def _write(self, batch: list[FinishedRequest], *, closing: bool) -> None:
        records = []
        for asked in batch:
            try:
                records.append(record_of(asked))
            except Exception:
                log.exception("request %s cannot be put on record", asked.request_id)
                self._dropped(1, "a request cannot be put on record")
        try:
            self._journal.write(records)
            self.written += len(records)
            self._forget(batch)
        except StoreError as error:
            log.warning("requests could not be put on record: %s", error)
            if not self._journal.accepts():
                with self._wake:  # back in front, as far as there is room, and a pause
                    room = 0 if closing else max(0, QUEUE - len(self._queue))
                    kept = batch[max(0, len(batch) - room) :]
                    if len(kept) < len(batch):
                        self._forget(batch[: len(batch) - len(kept)])
                        self._dropped(len(batch) - len(kept), "the ledger does not take the request log")
                    self._queue.extendleft(reversed(kept))
                    self._wake.wait_for(lambda: self._closing, RETRY_S)
            elif len(batch) > 1:  # the ledger is well: some record is not, and must not keep the others out for ever
                for asked in batch:
                    self._write([asked], closing=closing)
            else:
                self._forget(batch)
                self._dropped(1, "a request cannot be put on record")

    def _forget(self, batch: list[FinishedRequest]) -> None:
        self._pending.difference_update((asked.tenant, asked.request_id) for asked in batch)

    def _dropped(self, count: int, why: str) -> None:
        self.dropped += count
        if time.monotonic() - self._last_warning > 10:
            self._last_warning = time.monotonic()
            log.warning("%s: %d records dropped so far, the oldest first", why, self.dropped)
