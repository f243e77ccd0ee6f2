"""Word, PowerPoint and EPUB through markitdown, OpenDocument through odfdo, Excel, PDF through pdfplumber (`pdf`).

Most are zip archives, in which a few bytes can stand for gigabytes: what one would unpack to is looked at first.
What is small and yet keeps a parser busy without end, or fills the memory, is stopped by the process it runs in. It is
started with the first file and ended when none has come for a while. Each file has so much processor time and memory
(where the system can limit them, which Windows cannot); beyond that the process ends, the file is reported by name, and
the next one gets another process. Offsets refer to the Markdown that files are converted to.
"""

from __future__ import annotations

import re
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any

from theworld.errors import IngestionError
from theworld.ingestion.child import Child, ChildEndedError
from theworld.ingestion.readers.document import (
    SourceDocument,
    needs_extra,
    read_bytes,
    require_text,
    title_from_name,
)
from theworld.ingestion.readers.markdown import described
from theworld.ingestion.readers.markdown_cleaning import cleaned
from theworld.ingestion.readers.pdf import read_pdf
from theworld.ingestion.readers.tables import MOST_SPANNED, Cell, captioned_table

EXTENSIONS = (".pdf", ".docx", ".docm", ".odt", ".pptx", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".epub")
LARGEST_UNPACKED = 500_000_000
"""Bytes; parsers hold several times as much in memory. Books and slides with their pictures are well below."""
SUSPECT_UNPACKED = 50_000_000
MOST_PACKED = 150
"""Times smaller than its content; the XML of real office files packs 5 to 60 times, above 50 MB anything more is meant
to fill the memory (deflate's own limit is 1032)."""
SECONDS, SECONDS_PER_MB = 60.0, 20.0
"""Processor time for a file; a page of PDF takes a tenth of a second, and has 10 kB at least."""
MEMORY = 2_000_000_000
"""Bytes beyond what the parsers themselves take."""
WAITED = 5.0
"""Times its processor time a file is waited for on a busy machine."""
IDLE_S = 30.0

WORD_TITLE = "p[style-name='Title'] => h1:fresh"
"""What a paragraph styled as the document's title is: the heading above all others."""
_HARMFUL = "Divide it, or save it anew without what it embeds."
_NO_HEADER = re.compile(r"^\|(?: *\|)+\n(\|[ |-]+\|)\n(\|.*)$", re.MULTILINE)
"""A table to which markitdown gave an empty header, as to most of Word: its first row is the header."""
_NOTE_LINK = re.compile(r"\[(?:↑|(\[\d+\]))\]\(#(?:foot|end)note-[\w-]+\)")
"""The number of a footnote of Word, which leads to it, and the arrow back."""
_HEADING = re.compile(r"^#", re.MULTILINE)
_BOLD_LINE = re.compile(r"(?<=\n)\n\*\*([^*\n]{1,80})\*\*(?=\n\n)")
"""What stands for a heading in Word where no style says so."""
_Sheets = Iterator[tuple[str, list[list[Cell]]]]
"""Names and rows of a workbook's sheets."""
_Range = tuple[tuple[int, int], tuple[int, int]]
"""First row and column, last row and column of merged cells, from 0."""
_FORMAT = re.compile(r'"([^"]*)"|\[\$([^\]-]*)[^\]]*\]|\\(.)|\[[^\]]*\]|[_*].|([#0?.,]+)|(.)')
"""Of a number's format: text, currencies, single characters, (colours, space), digits, signs."""
_BOOK_TITLE = re.compile(r"\A\*\*Title:\*\* (.+)$", re.MULTILINE)


def read(path: Path) -> Iterator[SourceDocument]:
    """Yield the file's one document; the title is that of the book or workbook, else the first heading or the name."""
    data = read_bytes(path)
    if path.suffix.lower() not in {".pdf", ".xls"}:  # an archive, which must not fill the memory
        try:
            with zipfile.ZipFile(BytesIO(data)) as archive:
                size = sum(entry.file_size for entry in archive.infolist())
        except Exception as error:  # zipfile raises many kinds on damaged archives
            raise _damaged(path, error) from error
        # A size that is declared too low only cuts what is read.
        if size > LARGEST_UNPACKED or (size > SUSPECT_UNPACKED and size > MOST_PACKED * len(data)):
            raise IngestionError(
                f"its {len(data):,} bytes would unpack to {size:,}, more than can be read safely",
                where=str(path),
                remedy=_HARMFUL,
            )
    title, text = converting.ask(data, path)
    if not text.strip():
        remedy = "If its pages are scanned images, run OCR on it first." if path.suffix.lower() == ".pdf" else ""
        raise IngestionError("there is no text in it", where=str(path), remedy=remedy)
    text = require_text(text, path)
    text = text if path.suffix.lower() == ".pdf" else cleaned(text)
    yield described(text, path, title=" ".join(title.split()), only_headings=True)


class _Converting:
    """The process that converts, asked by one thread at a time."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self._lock = threading.Lock()
        self._idle: threading.Timer | None = None

    def ask(self, data: bytes, path: Path) -> tuple[str, str]:
        """Return what `convert` makes of a file; raises what it raises, and IngestionError where it takes too much."""
        seconds = SECONDS + SECONDS_PER_MB * len(data) / 1e6
        with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            if self.child is None or self.child.process.poll() is not None:
                self._end()
                self.child = Child(_make, quiet=True)
            late = threading.Timer(WAITED * seconds, self.child.kill)
            late.start()
            try:
                title, text = self.child.ask((data, path, seconds, MEMORY))
            except IngestionError:
                raise
            except BaseException as error:
                self._end()
                if not isinstance(error, ChildEndedError):
                    raise
                reason = f"reading it took more than {seconds:,.0f} s of processor time, or all memory, and was ended"
                raise IngestionError(reason, where=str(path), remedy=_HARMFUL) from error
            finally:
                late.cancel()
                self._idle = threading.Timer(IDLE_S, self.close)
                self._idle.daemon = True
                self._idle.start()
        return title, text

    def close(self) -> None:
        """End the process, unless a file is being read."""
        if self._lock.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._lock.release()

    def _end(self) -> None:
        child, self.child = self.child, None
        if child is not None:
            child.kill()
            child.close()


converting = _Converting()


def _make() -> Callable[[tuple[bytes, Path, float, int]], tuple[str, str]]:
    """Return what converts in the process itself."""
    return _convert_within


def _convert_within(question: tuple[bytes, Path, float, int]) -> tuple[str, str]:
    """Convert a file within so many seconds more and with so many bytes more."""
    data, path, seconds, memory = question
    try:
        if sys.platform != "win32":
            import resource

            used = int(time.process_time() + seconds) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (used, resource.RLIM_INFINITY))
            with suppress(OSError, ValueError):  # systems other than Linux
                pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
                most = pages * resource.getpagesize() + memory
                resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
        return convert(data, path)
    except MemoryError:
        reason = f"reading it takes more than {memory:,} bytes of memory"
        raise IngestionError(reason, where=str(path), remedy=_HARMFUL) from None


def convert(data: bytes, path: Path) -> tuple[str, str]:
    """Return title and Markdown; raises IngestionError for missing packages, damaged and exploding files."""
    kind = path.suffix.lower()
    try:
        if kind == ".pdf":
            title, text = read_pdf(data)
            return title or title_from_name(path), text
        if kind in WORKBOOKS:
            return _workbook(data, path)
        if kind == ".odt":
            from odfdo import Document

            text = str(Document(BytesIO(data)).to_markdown())
            return "", text.replace("\n\\\n", "\n\n")  # an empty line within a paragraph
        # It takes over a second to import, which other kinds need not wait for.
        from markitdown import MissingDependencyException, StreamInfo
        from markitdown.converters import DocxConverter, EpubConverter, PptxConverter

        # The converter is chosen here: markitdown itself would take a broken file for plain text.
        converters: dict[str, Any] = {".pptx": PptxConverter, ".epub": EpubConverter}
        try:
            converter = converters.get(kind, DocxConverter)()
            text = str(converter.convert(BytesIO(data), StreamInfo(extension=kind), style_map=WORD_TITLE).markdown)
        except MissingDependencyException as error:
            raise ModuleNotFoundError(str(error)) from error
        book = _BOOK_TITLE.match(text) if kind == ".epub" else None
        if kind not in converters and not _HEADING.search(text):
            text = _BOLD_LINE.sub(r"\n## \1", f"\n\n{text}").strip()
        return (book[1] if book else ""), _NOTE_LINK.sub(r"\1", _NO_HEADER.sub(r"\2\n\1", text))
    except MemoryError:
        raise
    except ModuleNotFoundError as error:
        raise needs_extra(path) from error
    except Exception as error:  # whatever the parsers below raise on damaged or encrypted files
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> IngestionError:
    if type(error).__name__ == "PDFPasswordIncorrect":
        return IngestionError("it needs a password", where=str(path), remedy="Save it without one.")
    reason = " ".join(f"{type(error).__name__} {error}".split())[:300]
    reason = f"it is damaged, encrypted or no {path.suffix} file ({reason})"
    return IngestionError(reason, where=str(path), remedy="Open it and save it anew.")


def _workbook(data: bytes, path: Path) -> tuple[str, str]:
    """Return title and sheets of a workbook, a heading and a table each, with the values that formulas had."""
    title, sheets = WORKBOOKS[path.suffix.lower()](data)
    tables = ((name, captioned_table(rows, least=1)) for name, rows in sheets)
    return title or title_from_name(path), "".join(f"## {name}\n\n{table}\n\n" for name, table in tables if table)


def _excel(data: bytes) -> tuple[str, _Sheets]:
    """Return title and sheets of Excel 2007 and later; numbers with the signs and units of their format."""
    from openpyxl import load_workbook
    from python_calamine import CalamineError, CalamineWorkbook

    book, merged = load_workbook(BytesIO(data), read_only=True, data_only=True), dict[str, list[_Range] | None]()
    with suppress(CalamineError):  # openpyxl does not tell them without reading all into memory
        other = CalamineWorkbook.from_object(BytesIO(data))
        merged = {name: other.get_sheet_by_name(name).merged_cell_ranges for name in other.sheet_names}
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # what the file claims of its size may be wrong, or huge
    return book.properties.title or "", (
        (
            sheet.title,
            _spanning(
                [[_words(cell.value, cell.number_format or "") for cell in row] for row in sheet.iter_rows()],
                merged.get(sheet.title),
            ),
        )
        for sheet in book.worksheets
    )


def _older_excel(data: bytes) -> tuple[str, _Sheets]:
    """Return no title and the sheets of Excel's binary formats."""
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_object(BytesIO(data))
    sheets = map(book.get_sheet_by_name, book.sheet_names)
    return "", (
        (
            sheet.name,
            _spanning(
                [[_words(value) for value in row] for row in sheet.to_python(skip_empty_area=False)],
                sheet.merged_cell_ranges,
            ),
        )
        for sheet in sheets
    )


def _open_document(data: bytes) -> tuple[str, _Sheets]:
    """Return title and sheets of OpenDocument, numbers as they are shown."""
    from odfdo import Document

    def words(cell: Any) -> str:
        shown = " ".join(paragraph.text_recursive for paragraph in cell.get_elements("text:p")).strip()
        return _words(cell.value) if cell.type == "date" or not shown else shown

    def spanned(cell: Any, what: str) -> int:
        return int(cell.get_attribute(f"table:number-{what}-spanned") or 1)

    book = Document(BytesIO(data))
    for sheet in book.body.tables:
        sheet.rstrip(aggressive=True)  # it may have a million empty rows
    return book.meta.title or "", (
        (
            sheet.name or "",
            [
                [
                    (words(cell), spanned(cell, "columns"), spanned(cell, "rows"))
                    for cell in row.traverse()
                    if cell.tag != "table:covered-table-cell"
                ]
                for row in sheet.traverse()
            ],
        )
        for sheet in book.body.tables
    )


WORKBOOKS = {
    **dict.fromkeys((".xlsx", ".xlsm"), _excel),
    **dict.fromkeys((".xlsb", ".xls"), _older_excel),
    ".ods": _open_document,
}


def _spanning(rows: list[list[str]], merged: Iterable[_Range] | None) -> list[list[Cell]]:
    """Return rows of cells, those of merged ones but the first left out."""
    spans, covered = dict[tuple[int, int], tuple[int, int]](), set[tuple[int, int]]()
    for (top, left), (bottom, right) in merged or ():
        if bottom - top < MOST_SPANNED and right - left < MOST_SPANNED:
            spans[top, left] = (right - left + 1, bottom - top + 1)
            covered |= set(product(range(top, bottom + 1), range(left, right + 1))) - {(top, left)}
    return [
        [(words, *spans.get((y, x), (1, 1))) for x, words in enumerate(row) if (y, x) not in covered]
        for y, row in enumerate(rows)
    ]


def _words(value: object, shown_as: str = "") -> str:
    """Return a cell's value: dates as in ISO 8601, a number with what its format puts before and after it."""
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes").removesuffix(" 00:00")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value).strip()
    before, after = _signs(shown_as)
    number = f"{value * 100:.12g}" if "%" in after else f"{value:.15g}"
    return f"{before}{number}{after}".strip()


@lru_cache(256)
def _signs(shown_as: str) -> tuple[str, str]:
    """Return what a number's format puts before and after it; nothing for one of a date, a fraction or a text."""
    around, after = ["", ""], False
    for quoted, currency, escaped, digits, sign in _FORMAT.findall(shown_as.partition(";")[0]):
        if sign.isalpha() or sign in {"/", "@"} or (digits and around[1]):  # "General"; 555-1234
            return "", ""
        after = after or digits != ""
        around[after] += quoted or currency or escaped or sign
    return around[0], around[1]
