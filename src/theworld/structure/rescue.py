"""For texts without a usable fragment: calls written as text, markdown tables, and the whole answer as one scalar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from theworld.structure.calls import read_text_calls
from theworld.structure.fitting.targets import Target
from theworld.structure.reading.foreign import without_comments
from theworld.structure.reading.fragments import answer_start, find_fences
from theworld.structure.reading.repairing import literal
from theworld.structure.report import Repair

RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*")
CELL = re.compile(r"(?:\\.|[^|\\])*+")
MARKS = re.compile(r"^(\*\*|__|`|\*)(.+)\1$")


def last_resorts(text: str, target: Target) -> Iterator[tuple[str, Any, tuple[Repair, ...]]]:
    """Yield the name of a strategy, plain data to fit to the target, and what it took; cheapest first."""
    answer = text[answer_start(text) :]
    for index, call in enumerate(read_text_calls(answer)):
        yield f"tool_text_{index}", call.arguments, call.repairs
    for index, rows in enumerate(read_tables(answer)):
        yield f"table_{index}", rows, (Repair("table", "rows of a markdown table"),)
    if target.kind == "other":
        texts = [answer, *(answer[fence.start : fence.end] for fence in find_fences(answer))]
        for index, written in enumerate(texts):
            scalar = without_comments(written).strip().strip("\"'`*").strip()
            yield f"scalar_{index}", literal(scalar), ()


def read_tables(text: str) -> Iterator[list[dict[str, str]]]:
    """Yield each table as a list of rows, a dict of header to cell; rows without any cell are left out."""
    lines = text.splitlines()
    index = 1
    while index < len(lines):
        header = lines[index - 1]
        if "|" not in header or len(lines[index]) > 4000 or not RULE.fullmatch(lines[index]):
            index += 1
            continue
        names = _cells(header)
        rows: list[dict[str, str]] = []
        index += 1
        while index < len(lines) and "|" in lines[index]:
            cells = _cells(lines[index])
            if any(cells):
                rows.append(_row(names, cells))
            index += 1
        if rows:
            yield rows


def _row(names: list[str], cells: list[str]) -> dict[str, str]:
    """Pair cells with headers; cells beyond the last header are kept under their number."""
    extra = {f"column_{i + 1}": cell for i, cell in enumerate(cells) if i >= len(names) and cell}
    return {**dict(zip(names, cells, strict=False)), **extra}


def _cells(line: str) -> list[str]:
    """Split a row at its bars; `\\|` is a bar in the text."""
    body = line.strip()
    body = body[1:] if body.startswith("|") else body
    body = body[:-1] if body.endswith("|") and not body.endswith("\\|") else body
    cells: list[str] = []
    position = 0
    while position <= len(body):
        match = CELL.match(body, position)
        stop = match.end() if match else len(body)
        cells.append(_plain(body[position:stop]))
        position = stop + 1
    return cells


def _plain(cell: str) -> str:
    stripped = cell.replace("\\|", "|").strip()
    marked = MARKS.match(stripped)
    return marked[2].strip() if marked else stripped
