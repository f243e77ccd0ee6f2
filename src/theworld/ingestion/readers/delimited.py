"""Tables as text (CSV, TSV): the file as it is written, one block whose parts are its rows and whose lead is the first.

The delimiter is found by the csv module; a row may hold line breaks within quotes. Where quotes are never closed, lines
are the rows.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

from theworld.ingestion.notes import Block
from theworld.ingestion.readers.document import SourceDocument, read_text, require_text, title_from_name

EXTENSIONS = (".csv", ".tsv", ".tab")

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
