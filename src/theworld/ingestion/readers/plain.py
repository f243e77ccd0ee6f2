"""Plain text: the whole file is the text, its name is the title."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from theworld.ingestion.readers.document import SourceDocument, require_text, title_from_name
from theworld.ingestion.readers.encoding import read_text

EXTENSIONS = (".txt", ".text")


def read(path: Path) -> Iterator[SourceDocument]:
    """Yield the file's one document."""
    yield plain_document(read_text(path), path)


def plain_document(text: str, path: Path) -> SourceDocument:
    """Return a document of paragraphs; raises IngestionError where there is no text."""
    return SourceDocument(title_from_name(path), require_text(text, path))
