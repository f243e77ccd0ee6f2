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
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from theworld.errors import IngestionError
from theworld.ingestion.child import Child, ChildEndedError
from theworld.ingestion.readers.document import (
    SourceDocument,
    needs_extra,
    raised,
    read_bytes,
    require_text,
    title_from_name,
)
from theworld.ingestion.readers.markdown import described
from theworld.ingestion.readers.markdown_cleaning import cleaned
from theworld.ingestion.readers.office import CODE, NOTHING, NUMBER, SPACE, beside_slides, completed, parsed
from theworld.ingestion.readers.pdf import read_pdf
from theworld.ingestion.readers.tables import captioned_table, html_table
from theworld.ingestion.readers.workbooks import WORKBOOKS, packed, read_workbook, rows_of

EXTENSIONS = (".pdf", ".docx", ".docm", ".odt", ".pptx", ".odp", ".epub", *WORKBOOKS)
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

WORD_STYLES = f"p[style-name='Title'] => h1:fresh\np.{CODE} => pre:separator('\\n')"
"""What paragraphs are by their style: the title the heading above all others, lines of code one block."""
_OLE, _ENCRYPTED = b"\xd0\xcf\x11\xe0", "EncryptedPackage".encode("utf-16-le")
"""What older Office files begin with, and newer ones that are encrypted, and what these hold."""
_HARMFUL = "Divide it, or save it anew without what it embeds."
_SIGNS, _STANDING_FOR = "<&{\\#", "\ue002\ue003\ue004\ue005\ue008"
"""What HTML, templates, escapes and headings are made of, and what stands for it where it is text of Word or
PowerPoint: neither is written in Markdown, and nothing of it is cleaned away."""
_LITERAL = str.maketrans(_SIGNS, _STANDING_FOR)
_AS_WRITTEN = str.maketrans(_STANDING_FOR + SPACE, f"{_SIGNS} ", NOTHING)
_PLACE, _TABLE = "\ue000{}\ue001", re.compile("\\s*\ue000(\\d+)\ue001\\s*")
"""Where a table of Word or OpenDocument stands, by its number."""
_HEADING = re.compile(r"^#", re.MULTILINE)
_BOLD_LINE = re.compile(r"(?<=\n)\n\*\*([^*\n]{1,80})\*\*(?=\n\n)")
"""What stands for a heading in Word where no style says so."""
_SLIDE = re.compile(r"<!-- Slide number: (\d+) -->.*?(?=\n+### Notes:|\n+<!-- Slide number:|\Z)", re.DOTALL)
"""A slide but for the notes of who speaks."""
_SPOKEN = re.compile(r"\n+### Notes:")


def read(path: Path) -> Iterator[SourceDocument]:
    """Yield the file's one document; the title is that of the book or workbook, else the first heading or the name."""
    data = read_bytes(path)
    if path.suffix.lower() not in {".pdf", ".xls"}:  # an archive, which must not fill the memory
        if data.startswith(_OLE) and _ENCRYPTED in data:
            raise _needs_password(path)
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
    text = text if path.suffix.lower() == ".pdf" else cleaned(text).translate(_AS_WRITTEN)
    document = described(text, path, title=" ".join(title.split()), only_headings=True)
    yield replace(document, apart=path.suffix.lower() in WORKBOOKS)


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
        if kind == ".pdf" or kind in WORKBOOKS:
            title, text = read_pdf(data) if kind == ".pdf" else read_workbook(data, kind)
            return title or title_from_name(path), text
        if reader := {".odt": _text_of, ".odp": _slides, ".epub": _book}.get(kind):
            return reader(data)
        return _by_markitdown(data, kind)
    except MemoryError:
        raise
    except ModuleNotFoundError as error:
        raise needs_extra(path) from error
    except Exception as error:  # whatever the parsers below raise on damaged or encrypted files
        raise _damaged(path, error) from error


def _by_markitdown(data: bytes, kind: str) -> tuple[str, str]:
    """Return no title and Markdown; of Word headings where no style makes any but a title."""
    # It takes over a second to import, which other kinds need not wait for.
    from markitdown import MissingDependencyException, StreamInfo

    converter, beside = _converter(kind), list[str]()
    with suppress(Exception):  # of a damaged file as much as can be read
        if kind == ".pptx":
            beside = beside_slides(data)
        else:
            data, beside = completed(data)
    try:
        text = str(converter.convert(BytesIO(data), StreamInfo(extension=kind), style_map=WORD_STYLES).markdown)
    except MissingDependencyException as error:
        raise ModuleNotFoundError(str(error)) from error
    if kind == ".pptx":
        return "", _apart(text, beside)
    if not _HEADING.search(text, text.startswith("# ")):
        text = _BOLD_LINE.sub(r"\n## \1", f"\n\n{text}").strip()
    return "", _headed(text, [line.translate(_LITERAL) for line in beside])


def _book(data: bytes) -> tuple[str, str]:
    """Return title and text of a book without the pages that list its contents: its navigation, as its guide says."""
    from markitdown import StreamInfo
    from markitdown.converters import EpubConverter

    with zipfile.ZipFile(BytesIO(data)) as archive:
        package = parsed(archive, parsed(archive, "META-INF/container.xml").find(".//{*}rootfile").get("full-path"))
    listed = set(package.xpath("//*[contains(@properties, 'nav') or @type = 'toc']/@href"))
    contents = listed if len(package.findall(".//{*}itemref")) > len(listed) else set[str]()  # it has no others

    class Book(EpubConverter):
        def _resolve_manifest_href(self, href: str, base_path: str, zip_names: set[str]) -> str:
            return "" if href in contents else super()._resolve_manifest_href(href, base_path, zip_names)

    text = str(Book().convert(BytesIO(data), StreamInfo(extension=".epub")).markdown)  # type: ignore[no-untyped-call]
    return package.findtext(".//{*}title") or "", text


def _converter(kind: str) -> Any:
    """Return what converts a kind of file; markitdown itself would take a broken file for plain text."""
    from markitdown.converters import DocxConverter, HtmlConverter, PptxConverter

    class WithTables(HtmlConverter):
        """Makes tables as they are made of pages: markitdown forgets which cells span others."""

        def convert_string(self, html_content: str, **options: Any) -> Any:
            soup = BeautifulSoup(raised(html_content), "html.parser")
            for items in soup("ol"):
                if number := NUMBER.match(items.get_text()):
                    items["start"] = number[1]
            for words in soup.find_all(string=True):
                words.replace_with(NUMBER.sub("", words).translate(_LITERAL))
            for code in soup("pre"):
                code.string = code.get_text().rstrip(f"\n{NOTHING}")
            tables = [table for table in soup("table") if table.find_parent("table") is None]
            for place, table in enumerate(tables):
                table.replace_with(_PLACE.format(place))
            found = super().convert_string(str(soup), escape_asterisks=False, escape_underscores=False, **options)
            found.markdown = _TABLE.sub(lambda at: f"\n\n{html_table(tables[int(at[1])])}\n\n", found.markdown)
            return found

    class Slides(PptxConverter):
        def _is_picture(self, shape: Any) -> Any:
            # The first question about a shape, so that here it is made what the next ones can be asked about.
            for own in shape._element.iter("{*}cNvSpPr"):
                own.set("txBox", "1")  # a shape of no kind that is known has text, too
            for words in shape._element.iter("{*}t"):
                words.text = (words.text or "").translate(_LITERAL)
            return super()._is_picture(shape)  # type: ignore[no-untyped-call]

        def _convert_table_to_markdown(self, table: Any, **_: Any) -> str:
            rows = ([cell for cell in row.cells if not cell.is_spanned] for row in table.rows)
            cells = [[(cell.text, cell.span_width, cell.span_height) for cell in row] for row in rows]
            return f"{captioned_table(cells)}\n"

    converter: Any = (Slides if kind == ".pptx" else DocxConverter)()
    if kind != ".pptx":
        converter._html_converter = WithTables()
    return converter


def _apart(text: str, beside: list[str]) -> str:
    """Return slides, each with the comments on it behind its text; one without a title is no part of that before it."""
    # A vertical tab is the end of a line within a paragraph.
    lines = (line.replace("\v", " " if line.startswith("# ") else "\n") for line in text.split("\n"))
    titled = False

    def shown(slide: re.Match[str]) -> str:
        nonlocal titled
        said, number = slide[0], int(slide[1])
        if "\n# " in said:
            titled = True
        elif titled and (cleaned(said).strip() or _SPOKEN.match(slide.string, slide.end())):
            said = said.replace("-->", f"-->\n# Slide {number}\n", 1)
        return "\n\n".join([said, *filter(None, beside[number - 1 :][:1])])

    return _SLIDE.sub(shown, "\n".join(lines))


def _headed(text: str, beside: list[str]) -> str:
    """Return the text of Word with the lines of headers and footers below its title, those left out that it has."""
    said = {line.strip("#* ") for line in text.split("\n")}
    lines = "\n".join(line for line in beside if line not in said)
    start = text.find("\n") + 1 if text.startswith("# ") and "\n# " not in text else 0
    return f"{text[:start]}\n{lines}\n\n{text[start:].lstrip()}".strip() if lines else text


def _needs_password(path: Path) -> IngestionError:
    return IngestionError("it needs a password", where=str(path), remedy="Save it without one.")


def _damaged(path: Path, error: Exception) -> IngestionError:
    if type(error).__name__ == "PDFPasswordIncorrect":
        return _needs_password(path)
    reason = " ".join(f"{type(error).__name__} {error}".split())[:300]
    reason = f"it is damaged, encrypted or no {path.suffix} file ({reason})"
    return IngestionError(reason, where=str(path), remedy="Open it and save it anew.")


def _text_of(data: bytes) -> tuple[str, str]:
    """Return no title and a text of OpenDocument, its tables with the cells that span others."""
    from odfdo import Document, Paragraph

    book = Document(BytesIO(data))
    outer = book.body.get_elements("descendant::table:table[not(ancestor::table:table)]")
    tables = [captioned_table(packed(rows_of(table))).translate(_LITERAL) for table in outer]
    for place, table in enumerate(outer):
        table.parent.replace_element(table, Paragraph(_PLACE.format(place)))  # type: ignore[union-attr]
    text = str(book.to_markdown()).replace("\n\\\n", "\n\n")  # an empty line within a paragraph
    return "", _TABLE.sub(lambda at: f"\n\n{tables[int(at[1])]}\n\n", text)


def _slides(data: bytes) -> tuple[str, str]:
    """Return title and slides of OpenDocument: each its title as a heading, its texts and tables, the notes."""
    from odfdo import Document

    def shown(box: Any) -> str:
        if tables := box.get_elements("descendant::table:table"):
            return "\n\n".join(captioned_table(packed(rows_of(table)), least=1) for table in tables)
        said = (
            (one.text_recursive.strip(), len(one.get_elements("ancestor::text:list"))) for one in box.get_paragraphs()
        )
        return "\n".join(f"{'  ' * (depth - 1)}- {text}" if depth else f"{text}\n" for text, depth in said if text)

    book, slides = Document(BytesIO(data)), list[str]()
    for page in book.body.get_draw_pages():
        boxes = page.get_elements("descendant::draw:frame | descendant::draw:custom-shape")
        heads = [box for box in boxes if box.get_attribute("presentation:class") == "title"]
        title = " ".join(" ".join(head.text_recursive for head in heads).split()) or page.name or ""
        slides.append("\n\n".join([f"# {title}", *(shown(box) for box in boxes if box not in heads)]))
    return book.meta.title or "", "\n\n".join(slides)
