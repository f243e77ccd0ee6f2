"""What a reader makes of a source, and the small steps that readers share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from theworld.errors import IngestionError
from theworld.extras import install_command
from theworld.ingestion.blocks import Block
from theworld.ingestion.report import FailedSource

Plain = str | int | float | bool | list[str]

LONGEST_LINE = 1_000_000
"""Characters; a longer line is data (minified, encoded), not text."""

_SURROGATES = re.compile(r"[\ud800-\udfff\x00]")


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document as its source gives it."""

    title: str
    """Title; may be empty in a corpus file."""
    text: str
    """The text that every offset refers to."""
    id: str | None = None
    """The source's own id, None to take the file's path."""
    aliases: tuple[str, ...] = ()
    """Other names of what the document is about."""
    metadata: Mapping[str, Plain] = field(default_factory=dict)
    """Plain metadata for filters."""
    body_start: int = 0
    """Where the text proper begins, after front matter and the title's heading."""
    blocks: tuple[Block, ...] = ()
    """What it is made of, in order; none: paragraphs."""
    passage: bool = False
    """True for a ready-made passage of a corpus: it is cut later than other text."""


Reader = Callable[[Path], Iterator[SourceDocument | FailedSource]]
"""Reads one file. Raises IngestionError when nothing of it can be read; yields FailedSource for parts of it."""


def needs_extra(path: Path) -> IngestionError:
    """Return the error for a kind of file whose packages are not installed."""
    return IngestionError(
        f"{path.suffix} files need an extra package", where=str(path), remedy=f"Run: {install_command('documents')}"
    )


def title_from_name(path: Path) -> str:
    """Return a title made of a file's name."""
    return re.sub(r"[-_\s]+", " ", path.stem).strip() or path.name


def without_surrogates(text: str) -> str:
    """Replace lone surrogates and NUL characters, which no database or tokenizer takes."""
    return _SURROGATES.sub("\ufffd", text)


def require_text(text: str, path: Path) -> str:
    """Return the text; raises IngestionError when it is blank or made of endless lines."""
    if not text.strip():
        raise IngestionError("there is no text in it", where=str(path))
    longest = max(map(len, text.splitlines()), default=0)
    if longest > LONGEST_LINE:
        raise IngestionError(
            f"a line of {longest:,} characters looks like data, not text",
            where=str(path),
            remedy=f"Break it into lines of at most {LONGEST_LINE:,} characters.",
        )
    return without_surrogates(text)


def plain_metadata(raw: Mapping[Any, object], prefix: str = "") -> dict[str, Plain]:
    """Return metadata as plain values: dates as ISO text, nested keys joined by dots, nothing left out but nulls.

    What no database takes is told as text: numbers that are not finite, lone surrogates, NUL.
    """
    plain: dict[str, Plain] = {}
    for key, value in raw.items():
        name = without_surrogates(f"{prefix}{key}")
        if isinstance(value, Mapping):
            plain |= plain_metadata(value, f"{name}.")
        elif value is not None:
            plain[name] = _plain(value)
    return plain


def names_in(raw: object) -> tuple[str, ...]:
    """Return the aliases of a metadata field: a list, or one text separated by commas or semicolons."""
    parts = re.split(r"[,;，；、]", raw) if isinstance(raw, str) else raw if isinstance(raw, list) else []
    given = (without_surrogates(str(part)).strip() for part in parts if part is not None)
    return tuple(dict.fromkeys(name for name in given if name))


def _plain(value: object) -> Plain:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple | set):
        return [str(_plain(item)) for item in value if item is not None]
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return without_surrogates(str(value))
