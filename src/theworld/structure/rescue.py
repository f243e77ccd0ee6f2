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
LONGEST_RULE = 4000
BAR = re.compile(r"(?<!\\)\|")
MARKS = re.compile(r"^(\*\*|__|`|\*)(.+)\1$")


def last_resorts(text: str, target: Target) -> Iterator[tuple[str, Any, tuple[Repair, ...]]]:
    """Yield the name of a strategy, plain data to fit to the target, and what it took; cheapest first."""
    answer = text[answer_start(text) :]
    for index, (arguments, repairs) in enumerate(read_text_calls(answer)):
        yield f"tool_text_{index}", arguments, repairs
    for index, rows in enumerate(read_tables(answer)):
        yield f"table_{index}", rows, (Repair("table", "rows of a markdown table"),)
    if target.kind == "other":
        texts = [answer, *(answer[fence.start : fence.end] for fence in find_fences(answer))]
        for index, written in enumerate(texts):
            scalar = without_comments(written).strip().strip("\"'`*").strip()
            yield f"scalar_{index}", literal(scalar), ()


def read_tables(text: str) -> Iterator[list[dict[str, str]]]:
    """Yield each table as a list of rows, a dict of header to cell; rows without any cell are left out.

    Cells beyond the last header are kept under their number.
    """
    lines = text.splitlines()
    index = 1
    while index < len(lines):
        header = lines[index - 1]
        if "|" not in header or len(lines[index]) > LONGEST_RULE or not RULE.fullmatch(lines[index]):
            index += 1
            continue
        names = _cells(header)
        rows: list[dict[str, str]] = []
        index += 1
        while index < len(lines) and "|" in lines[index]:
            cells = _cells(lines[index])
            extra = {f"column_{i + 1}": cell for i, cell in enumerate(cells) if i >= len(names) and cell}
            if any(cells):
                rows.append({**dict(zip(names, cells, strict=False)), **extra})
            index += 1
        if rows:
            yield rows


def _cells(line: str) -> list[str]:
    """Split a row at its bars, less the marks around a cell; `\\|` is a bar in the text."""
    body = line.strip().removeprefix("|")
    body = body if body.endswith("\\|") else body.removesuffix("|")
    cells = []
    for cell in BAR.split(body):
        plain = cell.replace("\\|", "|").strip()
        marked = MARKS.match(plain)
        cells.append(marked[2].strip() if marked else plain)
    return cells
