"""One file per format: Markdown, plain text, HTML, PDF and Word, corpora in the BEIR layout."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from theworld.errors import IngestionError
from theworld.ingestion.readers import beir, converted, html, markdown, plain, rst
from theworld.ingestion.readers.document import Reader, SourceDocument
from theworld.ingestion.report import FailedSource

READERS: dict[str, Reader] = {
    extension: module.read
    for module in (markdown, rst, plain, html, converted, beir)
    for extension in module.EXTENSIONS
}
"""Reader by file extension, lower case with the dot."""


def read_source(path: Path, root: Path | None = None) -> Iterator[SourceDocument | FailedSource]:
    """Yield the documents of one file; raises IngestionError when the file as a whole cannot be read.

    `root` is the ingested folder, of which a file may include others.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise IngestionError(
            f"files of the kind {path.suffix or path.name!r} are not read",
            where=str(path),
            remedy=f"Supported: {', '.join(sorted(READERS))}.",
        )
    yield from rst.read(path, root) if reader is rst.read else reader(path)


__all__ = ["READERS", "Reader", "SourceDocument", "read_source"]
