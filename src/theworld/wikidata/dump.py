"""A Wikidata JSON dump as lines: plain, gzip or bzip2, from any position, in bounded memory.

A dump is one JSON array with one entity a line (`[`, lines ending in a comma, `]`); lines without array are read too.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from theworld.errors import IngestionError

MAX_LINE = 64 * 2**20
"""Bytes of a line that is read; the longest entities are a few megabytes."""
_GZIP, _BZIP2 = b"\x1f\x8b", b"BZh"


@dataclass(frozen=True, slots=True)
class Position:
    """A place between two lines, with what proves that another file is the same up to there."""

    line: int = 0
    """Lines before it."""
    offset: int = 0
    """Bytes before it, after unpacking."""
    length: int = 0
    """Bytes of the line before it."""
    digest: str = ""
    """Digest of that line."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a dump."""

    content: bytes | None
    """The line without comma; empty for brackets and blank lines, None when it is longer than `MAX_LINE`."""
    after: Position
    """Where the next line begins."""
    opens: bool = False
    """Whether it is the bracket that begins the array."""
    closes: bool = False
    """Whether it is the bracket that ends the array."""


class Dump:
    """An open dump. Use it as a context."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._raw = path.open("rb")
        except OSError as error:
            raise IngestionError(f"the dump cannot be read: {error.strerror}.", where=str(path)) from error
        if not self._raw.seekable():
            self._raw.close()
            raise IngestionError(
                "the dump is a pipe, from which a stopped build could not go on.",
                where=str(path),
                remedy="Give a file.",
            )
        head = self._raw.read(3)
        self._raw.seek(0)
        self.size = path.stat().st_size
        """Bytes of the file as it is on disk."""
        self._stream: io.BufferedIOBase = self._raw
        if head.startswith(_GZIP):
            self._stream = gzip.GzipFile(fileobj=self._raw)
        elif head.startswith(_BZIP2):
            self._stream = bz2.BZ2File(self._raw)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self._raw.close()

    def read_so_far(self) -> int:
        """Return the bytes of the file on disk that were read."""
        return self._raw.tell()

    def lines(self, start: Position) -> Iterator[Line]:
        """Yield the lines from a position of an earlier reading.

        Raises IngestionError when the file is cut off or damaged, or is not the one the position belongs to.
        """
        at = start
        try:
            self._go_to(start)
            while content := self._stream.readline(MAX_LINE + 1):
                size, digest, whole = len(content), hashlib.sha256(content), len(content) <= MAX_LINE
                while not whole and not content.endswith(b"\n") and (content := self._stream.readline(MAX_LINE)):
                    size += len(content)
                    digest.update(content)
                at = Position(at.line + 1, at.offset + size, size, digest.hexdigest())
                bare = content.strip().removesuffix(b",") if whole else None
                yield Line(b"" if bare in {b"[", b"]"} else bare, at, opens=bare == b"[", closes=bare == b"]")
        except (EOFError, OSError, zlib.error) as error:
            raise IngestionError(
                f"the dump is cut off or damaged after line {at.line} ({error}).",
                where=str(self._path),
                remedy="Get it again and run the same command: it goes on from there.",
            ) from error

    def _go_to(self, position: Position) -> None:
        self._stream.seek(position.offset - position.length)
        digest = hashlib.sha256()
        left = position.length
        while left and (part := self._stream.read(min(left, 2**20))):
            digest.update(part)
            left -= len(part)
        if position.offset and (left or digest.hexdigest() != position.digest):
            raise IngestionError(
                f"this is not the dump that was begun: line {position.line} differs.",
                where=str(self._path),
                remedy="Give the same dump, or delete the .partial file to begin anew.",
            )
