"""PDF, Word, PowerPoint, Excel and EPUB files through markitdown (extra `documents`) and openpyxl, which it brings.

All but PDF are zip archives, in which a few bytes can stand for gigabytes: what one would unpack to is looked at first.
What is small and yet without end for a parser is stopped by the process it runs in (apart.py).
Offsets refer to the Markdown they are converted to.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from theworld.errors import IngestionError
from theworld.ingestion.readers.apart import converted_apart
from theworld.ingestion.readers.document import SourceDocument, needs_extra, require_text, title_from_name
from theworld.ingestion.readers.encoding import read_bytes
from theworld.ingestion.readers.markdown import described
from theworld.ingestion.readers.markdown_cleaning import cleaned
from theworld.ingestion.readers.tables import markdown_table

EXTENSIONS = (".pdf", ".docx", ".pptx", ".xlsx", ".epub")
LARGEST_UNPACKED = 500_000_000
"""Bytes; parsers hold several times as much in memory. Books and slides with their pictures are well below."""
SUSPECT_UNPACKED = 50_000_000
MOST_PACKED = 150
"""Times smaller than its content; the XML of real office files packs 5 to 60 times, above 50 MB anything more is meant
to fill the memory (deflate's own limit is 1032)."""

_BOOK_TITLE = re.compile(r"\A\*\*Title:\*\* (.+)$", re.MULTILINE)


def read(path: Path) -> Iterator[SourceDocument]:
    """Yield the file's one document; the title is that of the book or workbook, else the first heading or the name."""
    data = read_bytes(path)
    if path.suffix.lower() != ".pdf":
        _check_unpacked(data, path)
    title, text = converted_apart(convert, data, path)
    if not text.strip():
        remedy = "If its pages are scanned images, run OCR on it first." if path.suffix.lower() == ".pdf" else ""
        raise IngestionError("there is no text in it", where=str(path), remedy=remedy)
    yield described(cleaned(require_text(text, path)), path, title=" ".join(title.split()))


def convert(data: bytes, path: Path) -> tuple[str, str]:
    """Return title and Markdown; raises IngestionError for missing packages, damaged and exploding files."""
    kind = path.suffix.lower()
    try:
        from markitdown import MissingDependencyException, StreamInfo
        from markitdown.converters import DocxConverter, EpubConverter, PdfConverter, PptxConverter
    except ModuleNotFoundError as error:
        raise needs_extra(path) from error
    # The converter is chosen here: markitdown itself would take a broken file for plain text.
    converters: dict[str, Any] = {
        ".pdf": PdfConverter, ".docx": DocxConverter, ".pptx": PptxConverter, ".epub": EpubConverter
    }  # fmt: skip
    try:
        if kind == ".xlsx":
            return _workbook(data, path)
        text = str(converters[kind]().convert(BytesIO(data), StreamInfo(extension=kind)).markdown)
    except MemoryError:
        raise
    except (MissingDependencyException, ModuleNotFoundError) as error:
        raise needs_extra(path) from error
    except Exception as error:  # whatever the parsers below raise on damaged or encrypted files
        raise _damaged(path, error) from error
    book = _BOOK_TITLE.match(text) if kind == ".epub" else None
    return (book[1] if book else ""), text


def _damaged(path: Path, error: Exception) -> IngestionError:
    reason = " ".join(f"{type(error).__name__} {error}".split())[:300]
    return IngestionError(
        f"it is damaged, encrypted or no {path.suffix} file ({reason})",
        where=str(path),
        remedy="Open it and save it anew.",
    )


def _check_unpacked(data: bytes, path: Path) -> None:
    """Refuse an archive that would fill the memory. A size that is declared too low only cuts what is read."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except Exception as error:  # zipfile raises many kinds on damaged archives
        raise _damaged(path, error) from error
    if size > LARGEST_UNPACKED or (size > SUSPECT_UNPACKED and size > MOST_PACKED * len(data)):
        raise IngestionError(
            f"its {len(data):,} bytes would unpack to {size:,}, more than can be read safely",
            where=str(path),
            remedy="Divide it, or save it without what it embeds.",
        )


def _workbook(data: bytes, path: Path) -> tuple[str, str]:
    """Return title and sheets of a workbook, a heading and a table each, with the values that formulas had."""
    from openpyxl import load_workbook

    book = load_workbook(BytesIO(data), read_only=True, data_only=True)
    sheets = ((sheet.title, list(_rows(sheet))) for sheet in book.worksheets)
    text = "".join(f"## {name}\n\n{_sheet(rows)}\n\n" for name, rows in sheets if rows)
    return book.properties.title or title_from_name(path), text


def _rows(sheet: Any) -> Iterator[list[str]]:
    sheet.reset_dimensions()  # what the file claims of its size may be wrong, or huge
    for row in sheet.iter_rows(values_only=True):
        cells = [_words(value) for value in row]
        if any(cells):
            yield cells


def _sheet(rows: list[list[str]]) -> str:
    """Return rows as a table; lines of one cell above it are its title and notes."""
    width = max(map(len, rows))
    used = [place for place in range(width) if any(place < len(row) and row[place] for row in rows)]
    filled = [[row[place] if place < len(row) else "" for place in used] for row in rows]
    above = next((i for i, row in enumerate(filled) if len(used) == 1 or sum(map(bool, row)) > 1), len(filled))
    table = markdown_table([[(cell, 1, 1) for cell in row] for row in filled[above:]])
    return "\n\n".join(part for part in [*(" ".join(row).strip() for row in filled[:above]), table] if part)


def _words(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes").removesuffix(" 00:00")
    return "" if value is None else str(value).strip()
