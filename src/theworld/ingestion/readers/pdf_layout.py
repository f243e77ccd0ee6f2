"""The layout of a page of PDF, by pdfminer's analysis: the order in which its boxes are read, and its tables."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, groupby, pairwise, product
from math import atan2, inf, pi
from typing import Any

from theworld.ingestion.readers.tables import markdown_table

Box = tuple[float, float, float, float]
"""Left, lower, right and upper edge, in points from the page's lower left corner."""
FEWEST_RULES, MOST_RULES = 4, 3000
"""Lines and rectangles of a page that may hold tables; drawings have thousands."""
FEWEST_COLUMNS, FEWEST_ROWS = 3, 3
"""Of a table without rules, in which most rows have as many cells."""
LONGEST_CELL, LONGEST_CELLS = 40, 20
"""Characters of a cell, and of those of a row on average; lines of columns of prose are longer."""
MOST_APART = 4
"""Times the size of its type that a row of such a table lies below the one before."""
NARROWEST_COLUMN, FULL_LINES = 8, 0.7
"""Times the height of its lines that a paragraph of a column is wide, and share of that its lines have on average."""
ALIKE = 1.5
"""Times the width of half of a line's blanks that the widest is at most if all are alike."""
TOUCHING = 3
"""Points by which boxes may overlap that stand beneath or beside each other."""
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\x00": "", "\xa0": " "}
    | {chr(code): unicodedata.normalize("NFKC", chr(code)) for code in range(0x2F00, 0x2FD6)}  # Kangxi radicals
    | dict(
        zip(
            "⺁⺎⺒⺓⺝⺟⺠⺧⺩⺬⺶⺼⻁⻄⻅⻆⻉⻊⻋⻑⻓⻔⻗⻘⻙⻚⻛⻜⻝⻢⻣⻤⻥⻦⻧⻨⻩⻪⻬⻮⻰⻳",
            "厂兀巳幺月母民牛王示羊肉虎西见角贝足车長长门雨青韦页风飞食马骨鬼鱼鸟卤麦黄黾齐齿龙龟",
            strict=True,
        )
    )
)
"""What looks like other characters: browsers write a radical for the character whose glyph it shares."""
_NO_LETTER = re.compile(r"\(cid:\d+\)")


@cache
def break_ties_in_order() -> None:
    """Let pdfminer put boxes that lie equally far apart together in the order in which it met them.

    It goes by where they lie in memory, so that the same page may read otherwise the next time.
    """
    from pdfminer import layout

    met = count(1)

    def number(item: Any) -> int:
        item.met = getattr(item, "met", None) or next(met)
        return int(item.met)

    vars(layout)["id"] = number


def text_boxes(layout: Any) -> Iterator[Any]:
    """Yield the text boxes of a page, those within figures too; made anew where lines were torn."""
    from pdfminer.layout import IndexAssigner, LAParams, LTFigure, LTTextBox

    boxes = [item for item in layout if isinstance(item, LTTextBox)]
    lines, settings, assigner = [line for box in boxes for line in box], LAParams(), IndexAssigner()
    if len(whole := _mended(lines)) < len(lines):
        boxes = list(layout.group_textlines(settings, whole))
        for group in layout.group_textboxes(settings, boxes):
            group.analyze(settings)
            assigner.run(group)
        boxes.sort(key=lambda box: box.index)
    yield from boxes
    for item in layout:
        if isinstance(item, LTFigure):
            yield from text_boxes(item)


def _mended(lines: Sequence[Any]) -> list[Any]:
    """Return lines, those of justified text whole: the analysis tears them at blanks as wide as two characters.

    The blanks of such a line are alike, and it begins and ends where another line does that is whole: one of some
    words in type as large.
    """
    parts, gone = list(_parts(lines)), set[Any]()
    others = [line for line, *rest in parts if not rest and len(_blanks([line])) >= FEWEST_ROWS]
    for first, *rest in (part for part in parts if len(part) > 1):
        alike = len(blanks := _blanks([first, *rest])) == 1 or blanks[-1] <= ALIKE * blanks[(len(blanks) - 1) // 2]
        near = (line for line in others if abs(line.height - first.height) < 1)
        if alike and any(abs(first.x0 - one.x0) <= TOUCHING >= abs(rest[-1].x1 - one.x1) for one in near):
            for item in (item for line in rest for item in line if hasattr(item, "x0")):
                first.add(item)
            gone.update(rest)
    return [line for line in lines if line not in gone]


def _blanks(part: Iterable[Any]) -> list[float]:
    """Return the widths of the blanks between the words of lines that stand at one height, the widest last."""
    items = (item for line in part for item in line)
    words = [list(word) for blank, word in groupby(items, lambda item: item.get_text().isspace()) if not blank]
    return sorted(right[0].x0 - left[-1].x1 for left, right in pairwise(words))


def _parts(lines: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield the upright lines that stand at one height, from the left, where only wide blanks are between them.

    Where some lines of a column begin and no line crosses their edge, a gutter is between them.
    """
    begun: dict[int, list[Any]] = defaultdict(list)
    for line in lines:
        begun[round(line.x0)].append(line)
    edges = {edge: there for edge, there in begun.items() if len(there) >= FEWEST_ROWS}

    for row in _rows(line for line in lines if is_upright(line)):
        row.sort(key=lambda line: line.x0)
        starts = [at for at in range(1, len(row)) if _is_apart(row[at - 1], row[at], lines, edges)]
        yield from (row[first:last] for first, last in pairwise([0, *starts, len(row)]))


def _is_apart(left: Any, right: Any, lines: Sequence[Any], edges: Mapping[int, Sequence[Any]]) -> bool:
    """Return whether a gutter is between two lines at one height, or a blank that tears no line."""
    from pdfminer.layout import LAParams

    for edge in (edge for edge in edges if left.x1 < edge <= round(right.x0)):
        across = [line for line in lines if line.x0 + TOUCHING < edge < line.x1 - TOUCHING]
        upper = min((line.y0 for line in across if line.y0 >= right.y0), default=inf)
        lower = max((line.y0 for line in across if line.y0 < right.y0), default=-inf)
        if sum(lower < line.y0 < upper for line in edges[edge]) >= FEWEST_ROWS:
            return True
    last, first = (next(item for item in items if hasattr(item, "x0")) for items in (reversed(list(left)), right))
    return bool(first.x0 - last.x1 < LAParams().char_margin * max(last.width, first.width))


def _rows(items: Iterable[Any]) -> list[list[Any]]:
    """Return items, each row of those at one height together, from the top."""
    rows: list[list[Any]] = []
    for item in sorted(items, key=lambda item: (-(item.y0 + item.y1) / 2, item.x0)):
        same = rows and (rows[-1][0].y0 + rows[-1][0].y1 - item.y0 - item.y1) / 2 < 0.4 * (item.y1 - item.y0)
        rows[-1:] = [[*rows[-1], item]] if same else [*rows[-1:], [item]]
    return rows


def is_upright(items: Iterable[Any]) -> bool:
    """Return whether most characters stand upright, not along the side of the page."""
    characters = [item for item in items if hasattr(item, "upright")]
    return 2 * sum(bool(one.upright) for one in characters) > len(characters)


def made_upright(page: Any, lines: Iterable[Iterable[Any]]) -> Any:
    """Return a page turned so that its characters stand upright where two thirds of them stand another way, or it."""
    across = (item.matrix[:2] for items in lines for item in items if hasattr(item, "matrix"))
    turns = Counter(round(atan2(y, x) / (pi / 2)) % 4 for x, y in across)
    quarters, often = max(turns.items(), key=lambda turn: turn[1], default=(0, 0))
    if not quarters or 3 * often < 2 * turns.total():
        return page
    page.page_obj.attrs["Rotate"] = page.page_obj.rotate = (page.rotation // 90 + quarters) * 90 % 360
    return type(page)(page.pdf, page.page_obj, page.page_number, page.initial_doctop)


def is_again(item: Any, printed: dict[tuple[str, int, int], Any]) -> bool:
    """Return whether a character was printed at this place already, as some programs do to make it bold."""
    if not hasattr(item, "x0"):
        return False
    text, x, y = item.get_text(), round(item.x0), round(item.y0)
    near = (printed.get((text, x + right, y + up)) for right in (-1, 0, 1) for up in (-1, 0, 1))
    again = any(one is not None and abs(one.x0 - item.x0) < 1 and abs(one.y0 - item.y0) < 1 for one in near)
    printed.setdefault((text, x, y), item)
    return again


def in_columns(
    text: Iterable[tuple[int, Any, Any]], boxes: Sequence[Any], tables: Sequence[Table]
) -> list[tuple[int, Any, Any]]:
    """Return the lines of tables and the upright ones, each (number of its box, line, characters), column by column."""
    placed = [(next((one for one in tables if within(line[1], one.box)), boxes[line[0]]), line) for line in text]
    shown = [(box, line) for box, line in placed if isinstance(box, Table) or is_upright(line[2])]
    order = _by_columns(list(dict.fromkeys(box for box, _ in shown)))
    return [line for _, line in sorted(shown, key=lambda one: order.index(one[0]))]


def _by_columns(boxes: list[Any]) -> list[Any]:
    """Return boxes column by column, in each band of the page between what stands across the gutter; else as given."""
    rows: list[list[Any]] = []
    for box in sorted(boxes, key=lambda box: -box.y1):
        beside = rows and box.y1 - TOUCHING > min(other.y0 for other in rows[-1])
        rows[-1:] = [[*rows[-1], box]] if beside else [*rows[-1:], [box]]
    edges = sorted({round(box.x0) for box in boxes if _is_running([box])})
    across = {edge: {box for box in boxes if box.x0 + TOUCHING < edge < box.x1 - TOUCHING} for edge in edges}
    for edge in sorted(edges, key=lambda edge: len(across[edge])):
        if parts := _parted(boxes, rows, edge, across[edge]):
            return [box for part in parts for box in _by_columns(part)]
    return boxes


def _parted(boxes: list[Any], rows: list[list[Any]], edge: int, across: Set[Any]) -> list[list[Any]]:
    """Return the boxes left and right of an edge in each band of rows that has columns, the others as they are.

    Nothing where none has: then the edge is no gutter.
    """
    parts, found = list[list[Any]](), False
    for crossed, group in groupby(rows, key=lambda row: not across.isdisjoint(row)):
        band = list(group)
        within = [box for box in boxes if any(box in row for row in band)]
        halves = [[box for box in within if (box.x0 + TOUCHING >= edge) is right] for right in (False, True)]
        level = [len(row) > 1 and abs(row[0].y1 - row[1].y1) < TOUCHING for row in band]
        # Two that begin at one height and end at others are the cells of a row if the next row begins at one, too.
        pairs = (row for row, *both in zip(band, level, [*level[1:], True], strict=True) if len(row) == 2 and all(both))
        cells = [1 for one, other in pairs if abs(one.y0 - other.y0) > TOUCHING]
        columns = not crossed and len(cells) < 2 and all(map(_is_running, halves))
        parts, found = parts + (halves if columns else [within]), found or columns
    return parts if found else []


def _is_running(boxes: Iterable[Any]) -> bool:
    """Return whether most of the text is paragraphs: of more than one line, each about as long as the longest."""
    words = running = 0
    for box in boxes:
        if isinstance(box, Table):
            continue
        *lines, last = box
        full = sum(line.width for line in lines) >= FULL_LINES * box.width * max(len(lines), 1)
        words += len(box.get_text())
        running += len(box.get_text()) if full and box.width >= NARROWEST_COLUMN * last.height else 0
    return 0 < words <= 2 * running


def tables_of(page: Any, text: Sequence[tuple[Any, Sequence[Any]]]) -> list[Table]:
    """Return the tables of a page, filled from its lines and what these consist of: ruled ones, and those by place."""
    from pdfminer.layout import LTCurve

    rules = sum(isinstance(item, LTCurve) for item in page.layout)
    (left, top), height = page.mediabox[:2], page.height

    def placed(cell: Box) -> Box:  # pdfplumber measures from the top
        return cell[0] - left, height + top - cell[3], cell[2] - left, height + top - cell[1]

    found = page.find_tables() if FEWEST_RULES <= rules <= MOST_RULES else ()
    tables = [Table([list(map(placed, filter(None, row.cells))) for row in table.rows]) for table in found]
    for (line, items), table in product(text, tables):
        table.take(items if within(line, table.box) else ())
    tables = [table for table in tables if table.is_one]
    pieces = [
        piece for line, items in text if not any(within(line, one.box) for one in tables) for piece in _pieces(items)
    ]
    aligned = [Table(rows) for rows in _aligned(pieces)]
    for table in aligned:
        table.take([piece for piece in pieces if within(piece, table.box)])
    return tables + aligned


class Table:
    """A table of the layout, its cells filled with the characters within: rows of (left, lower, right, upper).

    Among boxes of text it is one without text of its own.
    """

    def __init__(self, rows: Sequence[Sequence[Box]]) -> None:
        self.rows = rows
        lefts, lowers, rights, uppers = zip(*(cell for row in rows for cell in row), strict=True)
        self.box: Box = min(lefts), min(lowers), max(rights), max(uppers)
        self.x0, self.y0, self.x1, self.y1 = self.box
        self.words: dict[Box, str] = defaultdict(str)
        self.shown = False

    def take(self, items: Sequence[Any]) -> None:
        """Put a line's characters, and the blanks between them, into the cells in which they stand."""
        cell = None
        for item in items:
            if hasattr(item, "x0"):
                cell = next((one for row in self.rows for one in row if within(item, one)), None)
            if cell is not None:
                self.words[cell] += item.get_text()

    @property
    def is_one(self) -> bool:
        """Whether it is a table: two columns and rows at least, of which every other cell is filled; no frame."""
        cells = [cell for row in self.rows for cell in row]
        filled = [cell for cell in cells if self.words[cell].strip()]
        return len(self.rows) > 1 and max(map(len, self.rows)) > 1 and 2 * len(filled) >= len(cells)

    def markdown(self) -> str:
        """Return it as Markdown the first time, then nothing."""
        first, self.shown = not self.shown, True
        edges = sorted({round(cell[0]) for row in self.rows for cell in row})
        spans = {cell: sum(cell[0] - 1 < edge < cell[2] - 1 for edge in edges) for row in self.rows for cell in row}
        rows = [[(clean(self.words[cell]), max(1, spans[cell]), 1) for cell in row] for row in self.rows]
        return markdown_table(rows) if first else ""


def _aligned(pieces: Iterable[_Piece]) -> Iterator[list[list[Box]]]:
    """Yield the cells of tables without rules, in most of whose rows pieces have the same columns."""
    for region in filter(None, _regions(pieces)):
        usual, times = Counter(map(len, region)).most_common(1)[0]
        full = [row for row in region if len(row) == usual]
        columns = [(min(one.x0 for one in each), max(one.x1 for one in each)) for each in zip(*full, strict=True)]
        gaps = [(one[1], other[0]) for one, other in pairwise(columns)]
        if usual >= FEWEST_COLUMNS and times >= FEWEST_ROWS and all(end < start for end, start in gaps):
            edges = [columns[0][0] - 1, *(sum(gap) / 2 for gap in gaps), columns[-1][1] + 1]
            heights = [row[0].middle for row in region]
            between = [(one + other) / 2 for one, other in pairwise(heights)]
            levels = [2 * heights[0] - between[0], *between, 2 * heights[-1] - between[-1]]
            yield [[(left, low, right, high) for left, right in pairwise(edges)] for high, low in pairwise(levels)]


def _regions(pieces: Iterable[_Piece]) -> list[list[list[_Piece]]]:
    """Return runs of rows of short pieces, which may be tables: pieces at one height, from the top."""
    rows = _rows(piece for piece in pieces if len(piece.text.strip()) <= LONGEST_CELL)
    regions: list[list[list[_Piece]]] = [[]]
    for row in rows:
        short = len(row) > 1 and sum(len(piece.text.strip()) for piece in row) <= LONGEST_CELLS * len(row)
        if not short or (regions[-1] and regions[-1][-1][0].middle - row[0].middle > MOST_APART * row[0].size):
            regions.append([])
        regions[-1] += [row] if short else []
    return regions


@dataclass(slots=True)
class _Piece:
    """Characters that stand together, apart from others of their line, as one item of the layout."""

    x0: float
    x1: float
    y0: float
    y1: float
    middle: float
    """Half way from y0 to y1."""
    size: float
    text: str

    def get_text(self) -> str:
        return f"{self.text} "


def _pieces(items: Iterable[Any]) -> list[_Piece]:
    """Return the pieces of a line, which end where a gap is as wide as its type is high."""
    found: list[_Piece] = []
    for item in items:
        if not hasattr(item, "x0") or not item.get_text().strip():
            found[-1:] = [replace(one, text=one.text + item.get_text()) for one in found[-1:]]
        elif found and item.x0 - found[-1].x1 < item.size:
            found[-1].x1, found[-1].text = item.x1, found[-1].text + item.get_text()
        elif item.upright:
            middle = (item.y0 + item.y1) / 2
            found.append(_Piece(item.x0, item.x1, item.y0, item.y1, middle, item.size, item.get_text()))
    return found


def within(item: Any, box: Box) -> bool:
    """Return whether the middle of a line or character is in a box."""
    x, y = (item.x0 + item.x1) / 2, (item.y0 + item.y1) / 2
    return bool(box[0] <= x <= box[2] and box[1] <= y <= box[3])


def clean(text: str) -> str:
    """Return text without ligatures, radicals in a character's place, and what has no letter: (cid:12) of pdfminer."""
    return " ".join(_NO_LETTER.sub("", text.translate(_LIGATURES)).split())
