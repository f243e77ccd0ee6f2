"""Tables: as text (CSV, TSV), and rows of cells and tables of HTML as Markdown.

A table as text is read as it is written: one block whose parts are its rows and whose lead is the first. The delimiter
is found by the csv module; a row may hold line breaks within quotes. Where quotes are never closed, lines are the rows.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from theworld.ingestion.notes import Block
from theworld.ingestion.readers.document import SourceDocument, read_text, require_text, title_from_name

if TYPE_CHECKING:
    from bs4 import Tag

EXTENSIONS = (".csv", ".tsv", ".tab")
Cell = tuple[str, int, int]
"""Words, columns and rows it spans."""
MOST_SPANNED = 50
"""Columns or rows; more is a mistake, or meant to fill memory."""

_NUMBER = re.compile(r"\{?\s*(\d{1,3})\s*\}?\Z")
"""A span in HTML, or in the braces of JSX."""
_SAMPLE = 20_000
_LINE = re.compile(r"[^\r\n]+")


def read(path: Path) -> Iterator[SourceDocument]:
    """Yield the file's one document, titled by its name; its first row is taken for the table's header."""
    text = require_text(read_text(path), path)
    try:
        delimiter = csv.Sniffer().sniff(text[:_SAMPLE], delimiters=",;\t|").delimiter
    except csv.Error:  # one column, or rows of different length
        delimiter = "," if path.suffix.lower() == ".csv" else "\t"
    try:
        rows = list(_rows(text, delimiter))
    except csv.Error:  # a field as long as a file: a quote that is never closed
        rows = [match.span() for match in _LINE.finditer(text) if match.group().strip()]
    header, *parts = rows
    block = Block("table", header[0], rows[-1][1], parts=tuple(parts or rows), lead=header if parts else None)
    yield SourceDocument(title_from_name(path), text, blocks=(block,))


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each row that holds something; raises csv.Error where a field has no end."""
    start = end = 0

    def lines() -> Iterator[str]:
        nonlocal end
        for line in StringIO(text, newline=""):
            end += len(line)
            yield line

    for _ in csv.reader(lines(), delimiter=delimiter):
        row = text[start:end]
        if row.strip():
            yield start + len(row) - len(row.lstrip("\r\n\ufeff")), start + len(row.rstrip("\r\n"))
        start = end


def markdown_table(rows: Iterable[Sequence[Cell]], *, header: bool = True) -> str:
    """Return rows as a Markdown table, the first its header (else it has an empty one); "" for no rows.

    Cells are repeated where they span, empty rows dropped.
    """
    filled = [row for row in _filled(rows) if any(row)]
    if not filled:
        return ""
    width = max(map(len, filled))
    lines = [table_row([*row, *[""] * (width - len(row))]) for row in [*([] if header else [list[str]()]), *filled]]
    return "\n".join([lines[0], f"|{' --- |' * width}", *lines[1:]])


def table_row(cells: Iterable[str]) -> str:
    """Return one row of a Markdown table."""
    return f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} |"


def html_table(table: Tag) -> str:
    """Return a table of HTML as a Markdown table, its caption above it."""

    def span(value: object) -> int:
        number = _NUMBER.match(str(value))
        return int(number[1]) if number else 1

    rows = [
        [
            (cell.get_text(" "), span(cell.get("colspan")), span(cell.get("rowspan")))
            for cell in row.find_all(["td", "th"])
            if cell.find_parent("tr") is row
        ]
        for row in table.find_all("tr")
    ]
    caption = table.find("caption")
    above = caption.get_text(" ").strip() if caption else ""
    return "\n\n".join(part for part in (above, markdown_table(rows)) if part)


def _filled(rows: Iterable[Sequence[Cell]]) -> Iterable[list[str]]:
    """Yield each row's words by column, those of spanning cells repeated."""
    spanning: dict[int, tuple[int, str]] = {}
    for row in rows:
        cells: list[str] = []
        for words, wide, deep in [*row, ("", 0, 0)]:
            while len(cells) in spanning:
                left, above = spanning.pop(len(cells))
                if left > 1:
                    spanning[len(cells)] = (left - 1, above)
                cells.append(above)
            for _ in range(min(wide, MOST_SPANNED)):
                if deep > 1:
                    spanning[len(cells)] = (min(deep, MOST_SPANNED) - 1, words)
                cells.append(words)
        yield cells
