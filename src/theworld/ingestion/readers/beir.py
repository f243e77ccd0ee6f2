"""Corpora in the BEIR layout: JSON lines of `_id`, `title`, `text` and optional `metadata` and `aliases`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from theworld.errors import IngestionError
from theworld.ingestion.readers.document import (
    LONGEST_LINE,
    SourceDocument,
    decode,
    names_in,
    plain_metadata,
    unreadable,
    without_surrogates,
)
from theworld.ingestion.report import FailedSource

EXTENSIONS = (".jsonl",)
CORPUS = "corpus.jsonl"
MOST_FAILURES = 100
"""Bad lines named one by one; further ones are counted."""


def read(path: Path) -> Iterator[SourceDocument | FailedSource]:
    """Yield a document for every good line and a failure for every bad one; blank lines are passed over.

    Raises IngestionError when the file cannot be read or holds no line.
    """
    if not path.is_file():
        raise IngestionError("this is not a regular file", where=str(path))
    good, bad = 0, 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    document = _document(line.removeprefix(b"\xef\xbb\xbf"), path)
                except IngestionError as error:
                    bad += 1
                    if bad <= MOST_FAILURES:
                        yield FailedSource(f"{path}:{number}", error.what)
                else:
                    good += 1
                    yield document
    except OSError as error:
        raise unreadable(path, error) from error
    if bad > MOST_FAILURES:
        yield FailedSource(str(path), f"{bad - MOST_FAILURES:,} further lines are not documents")
    if not good and not bad:
        raise IngestionError("there is no document in it", where=str(path), remedy="A line is {_id, title, text}.")


def _document(line: bytes, path: Path) -> SourceDocument:
    try:
        row = json.loads(decode(line, path))
    except (ValueError, RecursionError) as error:
        raise IngestionError(f"not valid JSON: {error}") from error
    if not isinstance(row, dict):
        raise IngestionError("not a JSON object with `_id` and `text`")
    identity, text, title = row.get("_id"), row.get("text"), row.get("title") or ""
    metadata = row.get("metadata") or {}
    if isinstance(identity, bool) or not isinstance(identity, str | int) or not str(identity).strip():
        raise IngestionError("`_id` is missing")
    if not str(identity).isprintable():
        raise IngestionError("`_id` has control characters")
    if not isinstance(text, str) or not isinstance(title, str):
        raise IngestionError("`text` is missing" if text is None else "`text` and `title` must be text")
    if not text.strip():
        raise IngestionError("`text` is empty")
    if len(text) > LONGEST_LINE:
        raise IngestionError(f"`text` has {len(text):,} characters, more than {LONGEST_LINE:,}: divide it")
    if not isinstance(metadata, dict):
        raise IngestionError("`metadata` must be an object")
    return SourceDocument(
        " ".join(without_surrogates(title).split()),
        without_surrogates(text),
        id=without_surrogates(str(identity)),
        aliases=names_in(row.get("aliases", metadata.get("aliases"))),
        metadata=plain_metadata({key: value for key, value in metadata.items() if key != "aliases"}),
        passage=True,
    )
