"""Workbooks of Excel and OpenDocument as tables of Markdown, a sheet each, with what a person sees in the cells."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from io import BytesIO
from itertools import groupby, pairwise, product
from typing import Any
from zipfile import ZipFile

from theworld.ingestion.readers.office import comments_of_sheet
from theworld.ingestion.readers.tables import MOST_ABOVE, MOST_SPANNED, Cell, captioned_table

_Row = dict[int, Cell]
"""Cells by their columns; one that a cell above spans has no words, and spans nothing itself."""
_Sheets = Iterator[tuple[str, list[_Row]]]
"""Names and rows of a workbook's sheets."""
_Range = tuple[tuple[int, int], tuple[int, int]]
"""First row and column, last row and column of merged cells."""
_Words = dict[tuple[int, int], str]
"""What the cells of a sheet say that say something, by row and column."""
_FORMAT = re.compile(r'"([^"]*)"|\[\$([^\]-]*)[^\]]*\]|\\(.)|\[[^\]]*\]|[_*].|([#0?.,]+)|(.)')
"""Of a number's format: text, currencies, single characters, (colours, space), digits, signs."""
_NO_RESULT = re.compile(rb"(?:</f>|<f\b[^>]*/>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>")
"""A formula whose value is not stored."""
_BESIDE = "\xa0"
"""Stands between what a cell says and a comment on it; a space in the end."""
_PARAGRAPHS = "descendant::*[self::text:p or self::text:h][not(ancestor::office:annotation)]"
_WORD = re.compile(r"\W*[^\W\d_]")
"""What begins with a letter, as no number and no date does."""
_UNNAMED = re.compile(r"(?i:sheet|工作表)[ _]?\d*")
"""How programs call a sheet that nobody has named; the only one of a workbook has no heading then."""


def read_workbook(data: bytes, kind: str) -> tuple[str, str]:
    """Return title and sheets of a workbook, a heading and a table each, with the values that formulas had.

    `kind` is its file's extension; whatever the parsers below raise on damaged and encrypted files passes through.
    """
    title, sheets = WORKBOOKS[kind](data)
    tables = [(name, table) for name, rows in sheets if (table := _tables(rows))]
    named = len(tables) != 1 or not _UNNAMED.fullmatch(tables[0][0])
    return title, "".join(f"## {name}\n\n" * named + f"{table}\n\n" for name, table in tables)


def _tables(rows: list[_Row]) -> str:
    """Return the tables of a sheet and the lines above, between and below them.

    Behind an empty row a table begins where a row is like a header: without digits where rows below have some, or
    where these fill the same columns and the table above fills others. Other rows go on with the table above.
    """
    parts, lines, columns = list[list[_Row]](), list[_Row](), set[int]()
    said = groupby(rows, lambda row: any(words for words, *_ in row.values()))
    for region in (list(group) for something, group in said if something):
        _say_above_header(region)
        filled = list(map(_filled, region))
        first = next((place for place, places in enumerate(filled) if len(places) > 1), None)
        if first is None:
            lines += region
            continue
        head, end = filled[first], len(filled)
        while filled[end - 1] == {min(head)}:
            end -= 1
        if any(len(places) < 2 for places in filled[first:end]):  # rows of one cell are like others here
            end = len(filled)
        begins = not parts or _begins_with_header(region[first:end], filled[first:end], columns)
        if begins and not (parts and len(parts[-1]) == 1 and len(_side_by_side(parts[-1] + region)) > 1):  # titles
            parts.append([])
            columns = head
        parts[-1] += lines + region[:end]
        lines = region[end:]
    if not parts:
        return captioned_table(packed(lines), least=1)
    last = (" ".join(words.split()) for row in lines for words, *_ in row.values() if words)
    return "\n\n".join([*map(_shown, parts), *last])


def _shown(part: list[_Row]) -> str:
    sides = _side_by_side(part)
    return "\n\n".join(map(_tables, sides)) if len(sides) > 1 else captioned_table(packed(part), least=1)


def _side_by_side(rows: list[_Row]) -> list[list[_Row]]:
    """Return tables that empty columns part, from left to right; the rows as they are where they belong together.

    They do unless each row on the right begins with words of its own, or the header there as the one on the left.
    """
    taken = set[int]()
    for row in rows:
        said = [range(x, x + max(wide, 1)) for x, (words, wide, _) in row.items() if words or not wide]
        if len(said) > 1:  # else a line above
            taken.update(*said)
    edges = [0, *[column for column in sorted(taken) if column - 1 not in taken][1:], sys.maxsize]
    if len(edges) == 2:
        return [rows]
    sides = [
        [{x: cell for x, cell in row.items() if left <= x < right} for row in rows] for left, right in pairwise(edges)
    ]
    first, *others = map(_keys, sides)
    if first and all(
        keys and (keys[0] == first[0] or (len(set(keys)) == len(keys) and all(map(_WORD.match, keys))))
        for keys in others
    ):
        return sides
    return [rows]


def _keys(rows: list[_Row]) -> list[str]:
    """Return what the rows of a table begin with, its header's first; none where it has no full header, or gaps."""
    filled = list(map(_filled, rows))
    head = next((y for y, places in enumerate(filled) if len(places) > 1), len(filled))
    end = max((y + 1 for y, places in enumerate(filled) if places), default=0)
    columns = set().union(*filled[head:])
    if end - head < 3 or not all(filled[head:end]) or not columns <= filled[head] | filled[head + 1]:
        return []
    begun = (min(columns) in places for places in filled[head:end])
    return [
        next((words for words, *_ in row.values() if words), "") if key else ""
        for key, row in zip(begun, rows[head:end], strict=True)
    ]


def _say_above_header(rows: list[_Row]) -> None:
    """Put into one cell each what rows with gaps say above a row that names all columns, as a table's header does.

    That is one without digits where rows below have some; a table whose first row lacks but one column begins with it.
    """
    filled = list(map(_filled, rows))
    columns = set().union(*filled)
    for place in range(min(MOST_ABOVE, len(rows) - 1)):
        if place and filled[place] == columns and not _digits([rows[place]]) and _digits(rows[place + 1 :]):
            rows[:place] = [{0: (" ".join(words for words, *_ in row.values() if words), 1, 1)} for row in rows[:place]]
            return
        if len(filled[place]) >= len(columns) - 1:
            return


def _begins_with_header(rows: list[_Row], filled: list[set[int]], above: set[int]) -> bool:
    """Return whether the first row is a header; `above` are the columns of the table that the rows may go on with."""
    others = len(rows) > 2 and filled[0] != above and all(places == filled[0] for places in filled)
    return not _digits(rows[:1]) and (_digits(rows[1:]) or others)


def _filled(row: _Row) -> set[int]:
    """Return the columns of a row where cells begin that say something, and those that a cell above spans."""
    return {column for column, (words, wide, _) in row.items() if words or not wide}


def _digits(rows: list[_Row]) -> bool:
    said = (words.partition(_BESIDE)[0] for row in rows for words, *_ in row.values())
    return any(character.isdigit() for words in said for character in words)


def _excel(data: bytes) -> tuple[str, _Sheets]:
    """Return title and sheets of Excel 2007 and later; numbers with the signs and units of their format."""
    from openpyxl import load_workbook
    from openpyxl.cell.read_only import ReadOnlyCell
    from openpyxl.utils.cell import coordinate_to_tuple
    from openpyxl.worksheet._reader import WorkSheetParser

    book, archive = load_workbook(BytesIO(data), read_only=True, data_only=True), ZipFile(BytesIO(data))
    formats = book.epoch, book._date_formats, book._timedelta_formats

    def rows(sheet: Any) -> list[_Row]:
        content, said = archive.read(sheet._worksheet_path), _Words()
        passes = (False, True) if _NO_RESULT.search(content) else (True,)  # what is not computed, by its formula
        for computed in passes:
            parser = WorkSheetParser(BytesIO(content), sheet._shared_strings, computed, *formats)
            for cell in (ReadOnlyCell(sheet, **cell) for _, row in parser.parse() for cell in row):
                if words := _words(getattr(cell.value, "text", cell.value), cell.number_format or ""):
                    said[cell.row, cell.column] = words
        for name, comment in comments_of_sheet(archive, sheet._worksheet_path).items():
            cell = coordinate_to_tuple(name)
            said[cell] = f"{said.get(cell, '')}{_BESIDE}{comment}".strip()
        merged = parser.merged_cells.mergeCell if parser.merged_cells else ()
        return _spanning(said, [((one.min_row, one.min_col), (one.max_row, one.max_col)) for one in merged])

    visible = (sheet for sheet in book.worksheets if sheet.sheet_state == "visible")
    return book.properties.title or "", ((sheet.title, rows(sheet)) for sheet in visible)


def _older_excel(data: bytes) -> tuple[str, _Sheets]:
    """Return no title and the sheets of Excel's binary formats."""
    from python_calamine import CalamineWorkbook

    book, sheets = CalamineWorkbook.from_object(BytesIO(data)), dict[str, list[_Row]]()
    for sheet in map(book.get_sheet_by_name, book.sheet_names):
        rows = enumerate(sheet.to_python(skip_empty_area=False))
        said = {(y, x): words for y, row in rows for x, value in enumerate(row) if (words := _words(value))}
        sheets[sheet.name] = _spanning(said, sheet.merged_cell_ranges or ())
    return "", iter(sheets.items())


def _open_document(data: bytes) -> tuple[str, _Sheets]:
    """Return title and sheets of OpenDocument, numbers as they are shown."""
    from odfdo import Document

    book = Document(BytesIO(data))
    return book.meta.title or "", ((sheet.name or "", rows_of(sheet)) for sheet in book.body.tables)


def rows_of(table: Any) -> list[_Row]:
    """Return the cells of a table of OpenDocument, with how many columns and rows each spans."""

    def times(element: Any, what: str) -> int:
        return int(element.get_attribute(f"table:number-{what}") or 1)

    said, merged, y = _Words(), list[_Range](), 0
    depth = len(table.get_elements("ancestor::table:table")) + 1
    for row in table.get_elements(f"descendant::table:table-row[count(ancestor::table:table)={depth}]"):
        deep, x = times(row, "rows-repeated"), 0
        for cell in row.get_elements("table:table-cell | table:covered-table-cell"):
            wide, shown = times(cell, "columns-repeated"), ""
            if cell.tag == "table:table-cell":
                shown = " ".join(paragraph.text_recursive for paragraph in cell.get_elements(_PARAGRAPHS)).strip()
                shown = _words(cell.value) if cell.type == "date" or not shown else shown
            if shown:
                said |= dict.fromkeys(product(range(y, y + deep), range(x, x + wide)), shown)
                last = y + times(cell, "rows-spanned") - 1, x + times(cell, "columns-spanned") - 1
                merged += [((y, x), last)] * (last != (y, x))
            x += wide
        y += deep
    return _spanning(said, merged)


WORKBOOKS = {
    **dict.fromkeys((".xlsx", ".xlsm"), _excel),
    **dict.fromkeys((".xlsb", ".xls"), _older_excel),
    ".ods": _open_document,
}


def packed(rows: Iterable[_Row]) -> list[list[Cell]]:
    """Return rows as tables of HTML have them: without the cells that others span."""
    return [[cell for cell in row.values() if cell[1]] for row in rows]


def _spanning(said: _Words, merged: Iterable[_Range]) -> list[_Row]:
    """Return rows of cells; of the empty rows and columns between two cells, which may be a million, one is left."""
    spans, covered, below = dict[tuple[int, int], tuple[int, int]](), set[tuple[int, int]](), set[tuple[int, int]]()
    ends = dict(sorted(said))
    for (top, left), (bottom, right) in merged:
        if bottom - top < MOST_SPANNED and right - left < MOST_SPANNED:
            spans[top, left] = (right - left + 1, bottom - top + 1)
            covered |= set(product(range(top, bottom + 1), range(left, right + 1))) - {(top, left)}
            if left <= ends.get(top, -1):
                below |= set(product(range(top + 1, bottom + 1), range(left, right + 1)))
    places = ({cell[axis] for cells in (said, covered) for cell in cells} for axis in (0, 1))
    ys, xs = (sorted(some | {place + 1 for place in some}) for some in places)
    return [
        {
            column: ("", 0, 0) if (y, x) in below else (said.get((y, x), ""), *spans.get((y, x), (1, 1)))
            for column, x in enumerate(xs)
            if (y, x) in below or (x <= ends.get(y, -1) and (y, x) not in covered)
        }
        for y in ys
    ]


def _words(value: object, shown_as: str = "") -> str:
    """Return a cell's value: dates as in ISO 8601, a number with what its format puts before and after it."""
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes").removesuffix(" 00:00")
    if isinstance(value, timedelta):
        minutes, seconds = divmod(abs(round(value.total_seconds())), 60)
        return f"{'-' * (value < timedelta())}{minutes // 60}:{minutes % 60:02}" + f":{seconds:02}" * (seconds > 0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value).strip()
    before, after, whole, decimals = _signs(shown_as)
    number = f"{value * 100:.12g}" if "%" in after else f"{value:.15g}"
    if number.lstrip("-").replace(".", "").isdigit():  # the zeros of 0123 and 2.50; further decimals stay
        left, _, right = number.partition(".")
        right = right.ljust(decimals, "0")
        number = left.zfill(whole + left.startswith("-")) + f".{right}" * bool(right)
    return f"{before}{number}{after}".strip()


@lru_cache(256)
def _signs(shown_as: str) -> tuple[str, str, int, int]:
    """Return what a number's format puts before and after it, and digits and decimals that it has at least.

    Nothing for one of a date, a fraction or a text.
    """
    around, shape = ["", ""], ""
    for quoted, currency, escaped, digits, sign in _FORMAT.findall(shown_as.partition(";")[0]):
        if sign.isalpha() or sign in {"/", "@"} or (digits and around[1]):  # "General"; 555-1234
            return "", "", 0, 0
        shape += digits
        around[shape != ""] += quoted or currency or escaped or sign
    whole, _, decimals = shape.partition(".")
    return around[0], around[1], whole.count("0"), decimals.count("0")
