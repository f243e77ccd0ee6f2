"""What the projections on servers share: certificates, state, errors, how ids and terms are sent; and BM25's words."""

from __future__ import annotations

import hashlib
import ssl
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from theworld.errors import EngineUnavailableError, SettingsError, StoreError
from theworld.settings import ServerSettings
from theworld.stores.protocols import NoteChange
from theworld.stores.records import Filters, NoteRecord, content_hash, wanted_terms
from theworld.text import tokens

_LONGEST_TERM = 512
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

    def _not_there(self) -> StoreError:
        return StoreError(
            f"the {self._kind} projection is not on the server yet.", where=self.where, remedy="Run `theworld sync`."
        )


def tls_context(settings: ServerSettings) -> ssl.SSLContext:
    """Return what checks the server's certificate, by the authorities of the system or by `ca_file`."""
    try:
        ca_file = settings.ca_file.expanduser() if settings.ca_file is not None else None
        context = ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"the certificate cannot be read: {error}.",
            where="servers.ca_file",
            remedy="It is a PEM file with the certificate of the authority that signed the server's.",
        ) from error
    if not settings.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def identifier(*parts: str) -> str:
    """Return 32 hex digits that stand for the parts: ids on servers are limited in length and alphabet, ours are not.

    A part that is no text (a lone surrogate) is like no stored one.
    """
    return content_hash(*parts, size=16)


def is_text(value: str) -> bool:
    """Return whether a string can be sent: lone surrogates cannot, and nothing stored holds them."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def index_term(value: str) -> str:
    """Return a value as an index holds it; engines refuse very long ones, so a hash stands for them."""
    return value if len(value) <= _LONGEST_TERM else f"hash:{identifier(value)}"


def sendable_terms(filters: Filters) -> list[list[str]]:
    """Return for each filter the terms of which a note must have one; none where no stored note can have any."""
    return [[term for term in some if is_text(term)] for some in wanted_terms(filters)]


def shortened(error: object) -> str:
    """Return an error on one line of at most 200 characters."""
    return " ".join(str(error).split())[:200]


def misunderstood(engine: str, error: BaseException, where: str) -> EngineUnavailableError:
    """Return what to raise for an answer of another shape than the engine's."""
    what = f"{engine} answered something else than it should: {type(error).__name__} {shortened(error)}."
    return EngineUnavailableError(what, where=where)


LONGEST_TOKEN = 255
"""Characters of a token; longer ones are in no index and in no query."""


def indexed_words(title: str, note: NoteRecord) -> list[str]:
    """Return the tokens of title, headings, lead and text, in this order, as one body.

    Each part by itself: where two Chinese headings meet there is no word.
    """
    parts = (title, *note.section, note.lead, note.text)
    return [token for part in parts for token in tokens(part) if len(token) <= LONGEST_TOKEN]


def query_words(text: str) -> Counter[str]:
    """Return the tokens of a query and how often each is asked."""
    return Counter(token for token in tokens(text) if len(token) <= LONGEST_TOKEN and is_text(token))
