"""Tables: as text (CSV, TSV), rows of cells and tables of HTML as Markdown; corpora in the BEIR layout.

A table as text becomes one of Markdown: a block whose parts are its rows and whose lead is the first. The delimiter is
the one that gives most rows the same number of values; where a quote is never closed, and in one column, lines are the
rows.
A corpus is JSON lines of `_id`, `title`, `text` and optional `metadata` and `aliases`; other JSON lines are rows.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import StringIO
from itertools import zip_longest
from pathlib import Path

from bs4 import Tag

from theworld.errors import IngestionError
from theworld.ingestion.notes import Block
from theworld.ingestion.readers.document import (
    LONGEST_LINE,
    SourceDocument,
    decode,
    names_in,
    plain_metadata,
    read_text,
    require_text,
    title_from_name,
    unreadable,
    without_surrogates,
)
from theworld.ingestion.report import FailedSource

EXTENSIONS = (".csv", ".tsv", ".tab")
Cell = tuple[str, int, int]
"""Words, columns and rows it spans."""
MOST_SPANNED = 50
"""Columns or rows; more is a mistake, or meant to fill memory."""
MOST_ABOVE = 10
"""Lines above the header of a table as text."""
BETWEEN_ITEMS = " / "
"""What keeps the items of a list apart in a cell, which has one line."""

_NUMBER = re.compile(r"\{?\s*(\d{1,3})\s*\}?\Z")
"""A span in HTML, or in the braces of JSX."""
_APART = "\0"
_SAMPLE = 20_000
_LINE = re.compile(r"[^\r\n]+")


def read(path: Path) -> Iterator[SourceDocument]:
    """Yield the file's one document, titled by its name; the first row of several values is the table's header.

    Lines above it are a paragraph.
    """
    text = require_text(read_text(path), path)

    def agreeing(delimiter: str) -> tuple[int, int]:
        """Return how many rows have as many values as each other, and how many values these are."""
        widths = Counter(map(len, csv.reader(StringIO(text[:_SAMPLE], newline=""), delimiter=delimiter)))
        return max(((rows, width) for width, rows in widths.items() if width > 1), default=(0, 0))

    delimiter = max(",;\t|" if path.suffix.lower() == ".csv" else "\t,;|", key=agreeing)
    try:
        rows = [
            cells for cells in csv.reader(StringIO(text, newline=""), delimiter=delimiter) if any(map(str.strip, cells))
        ]
    except csv.Error:  # a field as long as a file: a quote that is never closed
        rows = []
    several = [sum(map(bool, map(str.strip, cells))) > 1 for cells in rows]
    above = several.index(True) if True in several[: MOST_ABOVE + 1] else 0
    if 2 * sum(several[above:]) <= len(several) - above:  # a column of sentences, some with a comma
        rows, above = [[line] for line in _LINE.findall(text) if line.strip()], 0
    said = "\n".join(" ".join(filter(None, map(str.strip, cells))) for cells in rows[:above])
    table = markdown_table([(cell, 1, 1) for cell in cells] for cells in rows[above:])
    begins = len(said) + 2 * bool(said)
    _, rule, *parts = [(begins + line.start(), begins + line.end()) for line in _LINE.finditer(table)]
    lead = (begins, rule[1]) if parts else None
    blocks = [Block("table", begins, begins + len(table), parts=tuple(parts), lead=lead)]
    if said:
        blocks.insert(0, Block("paragraph", 0, len(said)))
    shown = "\n\n".join(filter(None, (said, table)))
    yield SourceDocument(title_from_name(path), shown, blocks=tuple(blocks))


def markdown_table(rows: Iterable[Sequence[Cell]], *, header: bool = True) -> str:
    """Return rows as a Markdown table, the first its header (else it has an empty one); "" for no rows.

    Cells are repeated where they span, empty rows and columns dropped. Below the header, a first cell that alone spans
    columns names its row, or is about the rows after it, and stands in the first one. Where cells of the header span
    columns, and the next row says more below these but nothing in the first column, it is part of the header: "Fee"
    over "Adults" is "Fee Adults".
    """
    filled = list(_filled(rows, header=header))
    if not filled:
        return ""
    columns = list(zip_longest(*(row for row, _ in filled), fillvalue=""))
    wide, first = filled[0][1], 1
    while (
        header
        and wide
        and 0 not in wide  # rows of data have something in the first column
        and first < len(filled)
        and columns[0][first] in ("", columns[0][first - 1])
        and all(columns[place][first] for place in wide)
    ):
        wide, first = filled[first][1], first + 1
    columns = [(" ".join(dict.fromkeys(filter(None, column[:first]))), *column[first:]) for column in columns]
    table = list(zip(*(column for column in columns if any(column)), strict=True))
    cells = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in table]
    lines = [f"| {' | '.join(row)} |" for row in [*([] if header else [[""] * len(cells[0])]), *cells]]
    return "\n".join([lines[0], f"|{' --- |' * len(cells[0])}", *lines[1:]])


def captioned_table(
    rows: list[list[Cell]], captions: Iterable[str] = (), *, least: int = 3, header: bool = True
) -> str:
    """Return a Markdown table, above it its captions and what its first rows say, one thing across all columns.

    A row of at least so many cells, all but one of them empty, counts as well. Without a `header` it has an empty one.
    """
    above, first = list(captions), 0
    width = max((sum(columns for _, columns, _ in row) for row in rows), default=0)
    said = [[cell for cell in row if cell[0].strip()] for row in rows]
    while max(map(len, said), default=0) > 1 and len(said[first]) < 2:
        if said[first]:
            words, columns, deep = said[first][0]
            if deep > 1 or not (1 < width <= columns or len(rows[first]) >= least):
                break  # a header
            above.append(" ".join(words.split()))
        first += 1
    return "\n\n".join(part for part in (*above, markdown_table(rows[first:], header=header)) if part)


def html_table(table: Tag) -> str:
    """Return a table of HTML as a Markdown table, above it its caption and what its first rows say across it."""

    def span(value: object) -> int:
        number = _NUMBER.match(str(value))
        return int(number[1]) if number else 1

    def words(cell: Tag) -> str:
        return BETWEEN_ITEMS.join(part.strip() for part in cell.get_text(" ").split(_APART) if part.strip())

    for inner in table.select(":is(td, th) table :is(tr, td, th)"):  # rows within a cell are items of a list there
        inner.name = "li" if inner.name == "tr" else "span"
    for item in table.find_all(["ol", "ul", "li"]):
        item.insert_before(_APART)
        item.insert_after(_APART)
    cells = [
        [cell for cell in row.find_all(["td", "th"]) if cell.find_parent("tr") is row] for row in table.find_all("tr")
    ]
    rows = [[(words(cell), span(cell.get("colspan")), span(cell.get("rowspan"))) for cell in row] for row in cells]
    # Where the first row begins with its own name and goes on with data, so does each, and none is a header.
    first = next((row for row in cells if len(row) > 1), [])
    named = bool(first) and first[0].name == "th" and first[0].get_text().strip() != ""
    caption = table.find("caption")
    captions = [" ".join(caption.get_text(" ").split())] if caption else []
    return captioned_table(rows, captions, header=not named or all(cell.name == "th" for cell in first))


def _filled(rows: Iterable[Sequence[Cell]], *, header: bool) -> Iterator[tuple[list[str], set[int]]]:
    """Yield each row's words by column, those of spanning cells repeated, and the columns of cells that span several.

    A row without words of its own is none. What names a row is not repeated in its columns, but in those of a header.
    """
    spanning: dict[int, tuple[int, str]] = {}
    for row in rows:
        cells, several = list[str](), set[int]()
        naming = not header and 0 not in spanning and all(wide == 1 for _, wide, _ in row[1:])
        for words, wide, deep in [*row, ("", 0, 0)]:
            while len(cells) in spanning:
                left, above = spanning.pop(len(cells))
                if left > 1:
                    spanning[len(cells)] = (left - 1, above)
                cells.append(above)
            for _ in range(min(wide, MOST_SPANNED)):
                said = "" if naming and wide > 1 and cells else words
                if deep > 1:
                    spanning[len(cells)] = (min(deep, MOST_SPANNED) - 1, said)
                if wide > 1:
                    several.add(len(cells))
                cells.append(said)
        if any(words for words, *_ in row):
            yield cells, several
            header = False


CORPUS = "corpus.jsonl"
MOST_FAILURES = 100
"""Bad lines named one by one; further ones are counted."""


def read_lines(path: Path) -> Iterator[SourceDocument | FailedSource]:
    """Yield a document for every good line and a failure for every bad one; blank lines are passed over.

    Where the first line is an object without `_id`, the file is no corpus but one table, a row a line. Raises
    IngestionError when the file cannot be read or holds no line.
    """
    if not path.is_file():
        raise IngestionError("this is not a regular file", where=str(path))
    good, bad = 0, 0
    try:
        with path.open("rb") as file:
            first = next(filter(bytes.strip, file), b"")
            if first.lstrip(b"\xef\xbb\xbf \t").startswith(b"{") and b'"_id"' not in first:
                yield _rows_of_json(path)
                return
            file.seek(0)
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


def _rows_of_json(path: Path) -> SourceDocument:
    text = require_text(read_text(path), path)
    if "\\u" in text:
        text = "\n".join(map(_unescaped, text.splitlines()))
    rows = tuple(match.span() for match in _LINE.finditer(text) if match.group().strip())
    return SourceDocument(title_from_name(path), text, blocks=(Block("table", rows[0][0], rows[-1][1], parts=rows),))


def _unescaped(line: str) -> str:
    """Return JSON with the characters themselves in place of their numbers, what is no JSON as it is."""
    with suppress(ValueError, RecursionError):
        return json.dumps(json.loads(line), ensure_ascii=False)
    return line


def _document(line: bytes, path: Path) -> SourceDocument:
    try:
        row = json.loads(decode(line, path))
    except (ValueError, RecursionError) as error:
        at = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
        raise IngestionError(f"not valid JSON: {at}") from error
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
