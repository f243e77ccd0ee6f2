"""PDF and Word files through markitdown (extra `documents`); offsets refer to the converted text."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from theworld.errors import IngestionError
from theworld.ingestion.readers.document import SourceDocument, require_text
from theworld.ingestion.readers.encoding import read_bytes
from theworld.ingestion.readers.markdown import described

EXTENSIONS = (".pdf", ".docx")
INSTALL = 'pip install "theworld[documents]"'


def read(path: Path) -> Iterator[SourceDocument]:
    """Yield the file's one document; the first heading, else the file's name, is its title."""
    data = read_bytes(path)
    text = _convert(data, path)
    if not text.strip():
        raise IngestionError(
            "there is no text in it", where=str(path), remedy="If its pages are scanned images, run OCR on it first."
        )
    yield described(require_text(text, path), path)


def _convert(data: bytes, path: Path) -> str:
    try:
        from markitdown import MissingDependencyException, StreamInfo
        from markitdown.converters import DocxConverter, PdfConverter
    except ModuleNotFoundError as error:
        raise _missing(path) from error
    # The converter is chosen here: markitdown itself would take a broken file for plain text.
    converters: dict[str, Any] = {".pdf": PdfConverter, ".docx": DocxConverter}
    kind = path.suffix.lower()
    try:
        return str(converters[kind]().convert(BytesIO(data), StreamInfo(extension=kind)).markdown)
    except MissingDependencyException as error:
        raise _missing(path) from error
    except Exception as error:  # whatever the parsers below raise on damaged or encrypted files
        reason = " ".join(f"{type(error).__name__} {error}".split())[:300]
        raise IngestionError(
            f"it is damaged, encrypted or no {path.suffix} file ({reason})",
            where=str(path),
            remedy="Open it and save it anew.",
        ) from error


def _missing(path: Path) -> IngestionError:
    return IngestionError(f"{path.suffix} files need an extra package", where=str(path), remedy=f"Run: {INSTALL}")
