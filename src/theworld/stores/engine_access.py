"""What servers share: certificates, state, errors, how ids and terms are sent. One that does not answer is waited for
no longer than a query has time, and left alone when it keeps failing.
"""

from __future__ import annotations

import hashlib
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from theworld.deadline import Deadline, begin
from theworld.errors import EngineUnavailableError, SettingsError, StoreError, TheWorldError
from theworld.settings import ServerSettings
from theworld.stores.protocols import NoteChange
from theworld.stores.records import Filters, content_hash, is_text, wanted_terms

T = TypeVar("T")
_LONGEST_TERM = 512
CA_FILE = "It is a PEM file with the certificate of the authority that signed the server's."
Held = tuple[str, int]
"""The key of a note on the server, and the sequence number of the change that put it there."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A number of notes and a checksum that does not depend on their order."""

    notes: int = 0
    checksum: int = 0

    @classmethod
    def of(cls, held: Iterable[Held]) -> Sum:
        """Return the sum of notes; one that is there twice, missing, or of another sequence number makes another."""
        notes = checksum = 0
        for key, sequence in held:
            digest = hashlib.blake2b(f"{key} {sequence}".encode(), digest_size=8).digest()
            notes, checksum = notes + 1, (checksum + int.from_bytes(digest, "big")) % (1 << 64)
        return cls(notes, checksum)

    def __str__(self) -> str:
        return f"{self.notes} notes, checksum {self.checksum:016x}"


class RemoteProjection:
    """How far a projection on a server came, asked once and then remembered; nothing is sent before it is needed."""

    def __init__(self, kind: str, where: str, *, writable: bool) -> None:
        """`kind` is sparse, dense or graph, `where` the server for people."""
        self._kind, self.where, self._writable = kind, where, writable
        self._applied: int | None = None
        self._lock = threading.RLock()

    @property
    def applied(self) -> int:
        """Sequence number of the last change applied durably; asked of the server when it is not known."""
        with self._lock:
            if self._applied is None:
                self._applied = self._read_applied()
            return self._applied

    def _read_applied(self) -> int:
        raise NotImplementedError

    def refresh(self) -> None:
        """Ask again how far it came; searches always see what has been applied."""
        with self._lock:
            self._applied = None

    def key_of(self, change: NoteChange) -> str:
        """Return the key of a note on the server."""
        raise NotImplementedError

    def held(self) -> Iterable[Held]:
        """Yield all notes that the server holds."""
        raise NotImplementedError

    def _check_writable(self) -> None:
        if not self._writable:
            raise StoreError(f"the {self._kind} projection was opened for reading.", where=self.where)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Enter as the one who writes; how far it came is asked again, unless it is noted at the end."""
        with self._lock:
            self._check_writable()
            self.refresh()
            yield

    def _not_there(self) -> StoreError:
        what = f"the {self._kind} projection is not on the server yet."
        return StoreError(what, where=self.where, remedy="Run `theworld sync`.")

    def _overtaken(self) -> StoreError:
        what = "another process has written newer changes."
        return StoreError(what, where=self.where, remedy="Run one writer at a time.")


def tls_context(settings: ServerSettings) -> ssl.SSLContext:
    """Return what checks the server's certificate, by the authorities of the system or by `ca_file`."""
    try:
        ca_file = settings.ca_file.expanduser() if settings.ca_file is not None else None
        context = ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        what = f"the certificate cannot be read: {error}."
        raise SettingsError(what, where="servers.ca_file", remedy=CA_FILE) from error
    if not settings.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


identifier = partial(content_hash, size=16)
"""32 hex digits that stand for some parts: ids on servers are limited in length and alphabet, ours are not.

A part that is no text (a lone surrogate) is like no stored one.
"""


def index_term(value: str) -> str:
    """Return a value as an index holds it; engines refuse very long ones, so a hash stands for them."""
    return value if len(value) <= _LONGEST_TERM else f"hash:{identifier(value)}"


def sendable_terms(filters: Filters) -> list[list[str]]:
    """Return for each filter the terms of which a note must have one; none where no stored note can have any."""
    return [[term for term in some if is_text(term)] for some in wanted_terms(filters)]


def shortened(error: object) -> str:
    """Return an error on one line of at most 200 characters."""
    return " ".join(str(error).split())[:200]


NOT_UNDERSTOOD = (LookupError, TypeError, ValueError, AttributeError)
"""What reading a reply of another shape raises."""


def misunderstood(engine: str, error: BaseException, where: str) -> EngineUnavailableError:
    """Return what to raise for an answer of another shape than the engine's."""
    what = f"{engine} answered something else than it should: {type(error).__name__} {shortened(error)}."
    return EngineUnavailableError(what, where=where)


_FIRST_PROBE_S = 0.05


class CircuitBreaker:
    """Counts the failures in a row of one server; when there are too many, calls are refused at once.

    While it refuses, a thread of its own asks whether the server answers, first soon and then less and less often, at
    least every `probe_s` seconds, so that no query has to try it. Thread-safe. Source: Nygard, Release It!, 2007.
    """

    def __init__(self, name: str, settings: ServerSettings, probe: Callable[[], object]) -> None:
        """Guard the server called `name`; `probe` returns when it answers, and raises otherwise."""
        self._name, self._limit, self._probe_s, self._probe = name, settings.failures, settings.probe_s, probe
        self._lock = threading.Lock()
        self._failed = 0
        self.reason: str | None = None
        """Why the server is left alone; None while it is asked."""
        self._closed = threading.Event()

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Let the block run; EngineUnavailableError at once while the server is left alone.

        Only an EngineUnavailableError counts as a failure: a server that refuses one request is alive.
        """
        reason = self.reason
        if reason is not None:
            raise EngineUnavailableError(
                f"it failed {self._limit} times in a row and is left alone until it answers again; the last: {reason}",
                where=self._name,
            )
        try:
            yield
        except EngineUnavailableError as error:
            with self._lock:
                self._failed += 1
                enough = self._failed >= self._limit and self.reason is None and not self._closed.is_set()
                if enough:
                    self.reason = error.what
            if enough:
                threading.Thread(target=self._watch, name=f"probe {self._name}", daemon=True).start()
            raise
        with self._lock:
            self._failed = 0

    def _watch(self) -> None:
        wait = min(_FIRST_PROBE_S, self._probe_s)
        while not self._closed.wait(wait):
            try:
                self._probe()
            except TheWorldError:
                wait = min(2 * wait, self._probe_s)
                continue
            with self._lock:
                self._failed, self.reason = 0, None
            return

    def close(self) -> None:
        """Stop asking."""
        self._closed.set()


class TimeoutGuard:
    """Runs one kind of work under deadlines; while a late one still hangs, nobody waits for another. Thread-safe."""

    def __init__(self, name: str, where: Callable[[], str]) -> None:
        """Name the threads, and tell whose answer is being waited for."""
        self._name, self._where = name, where
        self._late: set[Future[Any]] = set()

    def run(self, work: Callable[[], T], within: Deadline) -> T:
        """Return what the work returns; EngineUnavailableError at the deadline, or at once while a late one hangs."""
        if self._late:
            raise EngineUnavailableError("it has not answered yet; the last look still waits.", where=self._where())
        remaining = within.remaining_ms()
        if remaining > 0:
            running = begin(work, name=self._name)
            if wait([running], remaining / 1000).done:
                return running.result()
            self._late.add(running)
            running.add_done_callback(self._late.discard)
        what = f"it did not answer in time: not done after {remaining:.0f} ms."
        raise EngineUnavailableError(what, where=self._where())
