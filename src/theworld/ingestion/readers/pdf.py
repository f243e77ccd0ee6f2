"""PDF files as Markdown, by pdfplumber and the layout analysis of pdfminer, on which it is built.

1. The layout analysis groups characters to lines and boxes and orders these. Characters within a table go into its
   cells: one with rules, or at least three rows of short pieces in the same columns. On a page without tables, boxes
   left of a gutter come before those right of it if paragraphs stand on both sides; what stands across the gutter,
   such as a title, divides the page into bands, read from the top, and each column may have columns again.
2. What stands at the top or bottom of many pages, numbers aside, is a running head or foot and left out.
3. A line is a heading where the file's outline names it. In a file without one it is a heading where it is set larger
   than most of the text, or alone in bold type above a longer line; the larger, the higher its level.
4. Lines become paragraphs again: words divided at a line's end are joined, and a paragraph goes on in the next column
   or on the next page where it has not ended. Items of lists stay apart; lines of a typewriter font are code.
"""

from __future__ import annotations

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import groupby, pairwise, product
from typing import Any
from unicodedata import east_asian_width

from theworld.ingestion.readers.document import fenced
from theworld.ingestion.readers.tables import markdown_table

_Box = tuple[float, float, float, float]
"""Left, lower, right and upper edge, in points from the page's lower left corner."""
MARGIN = 0.1
"""Share of a page's height, above and below, in which running heads and feet stand."""
RUNNING = (3, 0.02)
"""Pages (of a file of two: both) and share of them on which one stands at least; each chapter may have its own."""
LARGER = 1.1
"""Times the size of most of the text from which a line is a heading."""
MOST_LEVELS = 4
LONGEST_HEADING = 120
"""Characters."""
LONGEST_BOLD = 80
"""Characters of a line in bold that is a heading by that alone."""
SHORT_LINE = 0.85
"""Share of its box up to which a line ends a paragraph if it ends a sentence."""
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
TOUCHING = 3
"""Points by which boxes may overlap that stand beneath or beside each other."""

_MONO = re.compile(
    r"mono(?!type)|courier|consolas|menlo|typewriter|(?:^|[+-])(?:cmtt|sftt|lmtt)|(?<!uni)code", re.IGNORECASE
)
_BOLD = re.compile(r"bold|black|heavy|demi|[-,]bd|medi|simhei|heiti|黑体", re.IGNORECASE)
_BULLET = re.compile(r"[•◦▪▫●○■□◆◇‣⁃∙·–—\uf0b7\uf0a7*-](?=\s)\s*|[•◦▪●○■◆‣\uf0b7\uf0a7]\s*")
_NUMBERED = re.compile(
    r"\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]\s|（[一二三四五六七八九十\d]+）|[一二三四五六七八九十]+、|第[\d一二三四五六七八九十百]+[条章节]"
)
_SENTENCE_END = re.compile(r"[.!?:;。！？：；…][\"'”’)）」』]*$")
_DIVIDED = re.compile(r"([^\W\d_]+)[-\u2010\xad]$")
_LOWER = re.compile(r"(?=[^\W\d_])[a-zà-öø-ÿ][^\W\d_]*")
_HYPHENATED = re.compile(r"[^\W\d_]+-[^\W\d_]+")
_MARKUP = re.compile(r"[#>|`~]")
_SECTION_NUMBER = re.compile(r"\d{1,2}(?:\.\d{1,2})*\.?")
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\x00": "", "\xa0": " "}
)
_NO_LETTER = re.compile(r"\(cid:\d+\)")
_DIGITS = re.compile(r"\d+")
_WORDS = re.compile(r"\w+")


@dataclass(slots=True)
class _Line:
    """A line of text, or a whole table as Markdown, on a page."""

    text: str
    page: int
    box: int = -1
    """Number of its box on the page."""
    left: float = 0.0
    """Characters of its own width from the page's left edge."""
    right: float = 0.0
    """Share of its box's width at which it ends."""
    at: float = 0.5
    """Height on the page, 0 at its bottom, 1 at its top, in thousandths."""
    size: float = 0.0
    bold: bool = False
    mono: bool = False
    table: bool = False
    level: int = 0
    """Of a heading, from 1; 0 for any other line."""
    fonts: Counter[str] = field(default_factory=Counter)

    @property
    def kind(self) -> tuple[str, int, int, int]:
        """What it is part of, the same for lines that belong together: (sort, page, box, level)."""
        if self.table:
            return "table", 0, 0, 0
        if self.level:
            return "heading", self.page, self.box, self.level
        return ("code", self.page, 0, 0) if self.mono else ("text", 0, 0, 0)

    @property
    def running(self) -> str:
        """What is the same of a running head or foot on all pages; "" for a line that is none by its place."""
        return _DIGITS.sub("#", self.text) if not MARGIN < self.at < 1 - MARGIN else ""


def read_pdf(data: bytes) -> tuple[str, str]:
    """Return title ("" for none) and text as Markdown; raises whatever pdfminer does on damaged and encrypted files."""
    import pdfplumber
    from pdfplumber.utils.exceptions import PdfminerException

    logging.getLogger("pdfminer").setLevel(logging.ERROR)
    try:
        with pdfplumber.open(BytesIO(data), laparams={"all_texts": True}) as pdf:
            lines, outline = list[_Line](), list[tuple[int, str]]()
            for number, page in enumerate(pdf.pages):
                lines += _lines_of(page, number)
                page.close()
            pages, named = len(pdf.pages), _clean(str(pdf.metadata.get("Title", "")))
            with suppress(Exception):  # PDFNoOutlines, and whatever a broken one makes the parser raise
                outline.extend((level, _clean(title)) for level, title, *_ in pdf.doc.get_outlines())
    except PdfminerException as error:
        raise error.args[0] if error.args and isinstance(error.args[0], Exception) else error from None
    seen = Counter(key for key, _ in {(line.running, line.page) for line in lines if line.running})
    often = max(min(RUNNING[0], max(pages, 2)), RUNNING[1] * pages)
    lines = [line for line in lines if seen[line.running] < often]
    _set_levels(lines, outline)
    title = _title(lines, named)
    # A section's number may stand beside its heading, in a box of its own.
    numbers = {(line.page, line.at): line for line in lines if _SECTION_NUMBER.fullmatch(line.text)}
    for line in lines:
        if line.level and (beside := numbers.get((line.page, line.at))) and beside.size == line.size:
            line.text, beside.text = f"{beside.text} {line.text}", ""
    return title, "\n\n".join(_blocks([line for line in lines if line.text]))


def _title(lines: Sequence[_Line], named: str) -> str:
    """Return the name that the file has for itself, if its first page says it: programs write other things there, too.

    Else the first heading of that page, or line as large, if no paragraph stands above it and no later one is larger.
    """
    page = [line for line in lines if line.page == 0 and not line.table]
    if not page or (_key(named) and _key(named) in _key(_joined(page))):
        return named if page else ""
    body = _usual_size([line for line in lines if not line.table])
    heads = [
        run for run in _runs(page) if run[0].level or (run[0].size >= LARGER * body and _may_head(run, LONGEST_HEADING))
    ]
    if not heads or heads[0][0].size < max(run[0].size for run in heads):
        return ""
    above = _joined(page[: page.index(heads[0][0])])
    return _joined(heads[0]) if len(above) <= LONGEST_HEADING else ""


def _lines_of(page: Any, number: int) -> Iterator[_Line]:
    """Yield the lines of a page in reading order, each table where its first line would stand."""
    layout = page.layout
    boxes, printed = list(_text_boxes(layout)), dict[tuple[str, int, int], Any]()
    lines = [(place, line) for place, box in enumerate(boxes) for line in box]
    text = [(place, line, [item for item in line if not _is_again(item, printed)]) for place, line in lines]
    tables = _tables_of(page, [(line, items) for _, line, items in text])
    turned = not _is_upright([item for _, _, items in text for item in items])
    if not tables and not turned:
        text = [one for one in text if _is_upright(one[2])]
        order = _by_columns(list(dict.fromkeys(boxes[place] for place, _, _ in text)))
        text.sort(key=lambda one: order.index(boxes[one[0]]))
    for place, line, items in text:
        if around := [table for table in tables if _within(line, table.box)]:
            if markdown := around[0].markdown():
                yield _Line(markdown, number, table=True)
        elif (turned or _is_upright(items)) and (words := _clean("".join(item.get_text() for item in items))):
            yield _described(_Line(words, number, place), line, items, boxes[place], layout.height)


def _by_columns(boxes: list[Any]) -> list[Any]:
    """Return boxes column by column, in each band of the page between what stands across the gutter; else as given."""
    rows: list[list[Any]] = []
    for box in sorted(boxes, key=lambda box: -box.y1):
        beside = rows and box.y1 - TOUCHING > min(other.y0 for other in rows[-1])
        rows[-1:] = [[*rows[-1], box]] if beside else [*rows[-1:], [box]]
    edges = sorted({round(box.x0) for box in boxes if _is_running([box])})
    across = {edge: {box for box in boxes if box.x0 + TOUCHING < edge < box.x1 - TOUCHING} for edge in edges}
    for edge in sorted(edges, key=lambda edge: len(across[edge])):
        parts, found = list[list[Any]](), False
        for crossed, group in groupby(rows, key=lambda row: not across[edge].isdisjoint(row)):
            band = list(group)
            within = [box for box in boxes if any(box in row for row in band)]
            halves = [[box for box in within if (box.x0 + TOUCHING >= edge) is right] for right in (False, True)]
            cells = [row for row in band if len(row) == 2 and _is_uneven(*row)]
            columns = not crossed and len(cells) < 2 and all(map(_is_running, halves))
            parts, found = parts + (halves if columns else [within]), found or columns
        if found:
            return [box for part in parts for box in _by_columns(part)]
    return boxes


def _is_uneven(one: Any, other: Any) -> bool:
    """Return whether two boxes begin at one height and end at others, as the cells of a row do."""
    return bool(abs(one.y1 - other.y1) < TOUCHING < abs(one.y0 - other.y0))


def _is_running(boxes: Iterable[Any]) -> bool:
    """Return whether most of the text is paragraphs: of more than one line, each about as long as the longest."""
    words = running = 0
    for box in boxes:
        *lines, last = box
        full = sum(line.width for line in lines) >= FULL_LINES * box.width * max(len(lines), 1)
        words += len(box.get_text())
        running += len(box.get_text()) if full and box.width >= NARROWEST_COLUMN * last.height else 0
    return 0 < words <= 2 * running


def _is_upright(items: Iterable[Any]) -> bool:
    """Return whether most characters stand upright, not along the side of the page."""
    characters = [item for item in items if hasattr(item, "upright")]
    return 2 * sum(bool(one.upright) for one in characters) > len(characters)


def _tables_of(page: Any, text: Sequence[tuple[Any, Sequence[Any]]]) -> list[_Table]:
    """Return the tables of a page, filled from its lines and what these consist of: ruled ones, and those by place."""
    from pdfminer.layout import LTCurve

    rules = sum(isinstance(item, LTCurve) for item in page.layout)
    (left, top), height = page.mediabox[:2], page.height
    tables = [
        _Table(
            [
                [
                    (x0 - left, height + top - y1, x1 - left, height + top - y0)
                    for x0, y0, x1, y1 in filter(None, row.cells)
                ]
                for row in found.rows
            ]
        )
        for found in (page.find_tables() if FEWEST_RULES <= rules <= MOST_RULES else ())
    ]
    for (line, items), table in product(text, tables):
        table.take(items if _within(line, table.box) else ())
    tables = [table for table in tables if table.is_one]
    pieces = [
        piece for line, items in text if not any(_within(line, one.box) for one in tables) for piece in _pieces(items)
    ]
    aligned = [_Table(rows) for rows in _aligned(pieces)]
    for table in aligned:
        table.take([piece for piece in pieces if _within(piece, table.box)])
    return tables + aligned


def _regions(pieces: Iterable[_Piece]) -> list[list[list[_Piece]]]:
    """Return runs of rows of short pieces, which may be tables: pieces at one height, from the top."""
    rows: list[list[_Piece]] = []
    cells = (piece for piece in pieces if len(piece.text.strip()) <= LONGEST_CELL)
    for piece in sorted(cells, key=lambda piece: (-piece.middle, piece.x0)):
        same = rows and rows[-1][0].middle - piece.middle < 0.4 * piece.size
        rows[-1:] = [[*rows[-1], piece]] if same else [*rows[-1:], [piece]]
    regions: list[list[list[_Piece]]] = [[]]
    for row in rows:
        short = len(row) > 1 and sum(len(piece.text.strip()) for piece in row) <= LONGEST_CELLS * len(row)
        if not short or (regions[-1] and regions[-1][-1][0].middle - row[0].middle > MOST_APART * row[0].size):
            regions.append([])
        regions[-1] += [row] if short else []
    return regions


def _aligned(pieces: Iterable[_Piece]) -> Iterator[list[list[_Box]]]:
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


def _is_again(item: Any, printed: dict[tuple[str, int, int], Any]) -> bool:
    """Return whether a character was printed at this place already, as some programs do to make it bold."""
    if not hasattr(item, "x0"):
        return False
    text, x, y = item.get_text(), round(item.x0), round(item.y0)
    near = (printed.get((text, x + right, y + up)) for right in (-1, 0, 1) for up in (-1, 0, 1))
    again = any(one is not None and abs(one.x0 - item.x0) < 1 and abs(one.y0 - item.y0) < 1 for one in near)
    printed.setdefault((text, x, y), item)
    return again


def _described(line: _Line, found: Any, items: Sequence[Any], box: Any, height: float) -> _Line:
    """Return a line with its place and type, from its characters and their box."""
    characters = [item for item in items if hasattr(item, "upright")]
    middle = len(characters) // 2
    fonts = Counter(str(one.fontname) for one in characters)
    first = next((one.x0 for one in characters if one.get_text().strip()), found.x0)
    line.left = first / max(sorted(one.width for one in characters)[middle], 1.0)
    line.right = (found.x1 - box.x0) / max(box.width, 1.0)
    line.at = round((found.y0 + found.y1) / 2 / max(height, 1.0), 3)
    line.size = round(2 * sorted(one.size for one in characters)[middle]) / 2
    line.bold = sum(count for font, count in fonts.items() if _BOLD.search(font)) > 0.9 * len(characters)
    line.mono = sum(count for font, count in fonts.items() if _MONO.search(font)) > 0.8 * len(characters)
    line.fonts = fonts
    return line


def _text_boxes(items: Any) -> Iterator[Any]:
    """Yield the text boxes of a page, those within figures too."""
    from pdfminer.layout import LTFigure, LTTextBox

    for item in items:
        if isinstance(item, LTTextBox):
            yield item
        elif isinstance(item, LTFigure):
            yield from _text_boxes(item)


class _Table:
    """A table of the layout, its cells filled with the characters within: rows of (left, lower, right, upper)."""

    def __init__(self, rows: Sequence[Sequence[_Box]]) -> None:
        self.rows = rows
        lefts, lowers, rights, uppers = zip(*(cell for row in rows for cell in row), strict=True)
        self.box: _Box = min(lefts), min(lowers), max(rights), max(uppers)
        self.words: dict[_Box, str] = defaultdict(str)
        self.shown = False

    def take(self, items: Sequence[Any]) -> None:
        """Put a line's characters, and the blanks between them, into the cells in which they stand."""
        cell = None
        for item in items:
            if hasattr(item, "x0"):
                cell = next((one for row in self.rows for one in row if _within(item, one)), None)
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
        rows = [[(_clean(self.words[cell]), max(1, spans[cell]), 1) for cell in row] for row in self.rows]
        return markdown_table(rows) if first else ""


def _within(item: Any, box: _Box) -> bool:
    """Return whether the middle of a line or character is in a box."""
    x, y = (item.x0 + item.x1) / 2, (item.y0 + item.y1) / 2
    return bool(box[0] <= x <= box[2] and box[1] <= y <= box[3])


def _clean(text: str) -> str:
    """Return text without ligatures and characters that have no letter, which pdfminer writes as (cid:12)."""
    return " ".join(_NO_LETTER.sub("", text.translate(_LIGATURES)).split())


def _set_levels(lines: Sequence[_Line], outline: Sequence[tuple[int, str]]) -> None:
    """Say which lines are headings, by the outline where at least half of it is found, else by their type."""
    text = [line for line in lines if not line.table]
    places: dict[str, list[list[_Line]]] = defaultdict(list)
    for run in [*([line] for line in text), *map(list, pairwise(text))]:
        places[_key(_joined(run))].append(run)
    found, taken = list[tuple[int, list[_Line]]](), set[int]()
    for level, title in outline:
        if there := [run for run in places[_key(title)] if taken.isdisjoint(map(id, run))]:
            largest = max(there, key=lambda run: run[0].size)  # the table of contents says it too, in smaller type
            found.append((min(level, MOST_LEVELS), largest))
            taken |= set(map(id, largest))
    if found and 2 * len(found) >= len(outline):
        for level, run in found:
            for line in run:
                line.level = level
    elif text:
        _set_levels_by_type(text)


def _set_levels_by_type(text: Sequence[_Line]) -> None:
    fonts = sum((line.fonts for line in text), Counter[str]())
    body, plain = _usual_size(text), not _BOLD.search(fonts.most_common(1)[0][0])
    runs = _runs(text)
    larger = [run for run in runs if run[0].size >= LARGER * body and _may_head(run, LONGEST_HEADING)]
    bold = [
        run
        for run, after in pairwise(runs)
        # Labels in a drawing are bold too, but no text follows them.
        if plain and run[0].bold and not after[0].bold and len(after[0].text) > len(run[0].text)
        if _may_head(run, LONGEST_BOLD)
    ]
    ranks = {size: rank for rank, size in enumerate(sorted({run[0].size for run in larger}, reverse=True), 1)}
    for line in (line for run in larger + bold for line in run):
        line.level = line.level or min(ranks.get(line.size, MOST_LEVELS), len(ranks) + 1, MOST_LEVELS)


def _usual_size(text: Iterable[_Line]) -> float:
    """Return the size of most of the text, in points."""
    sizes = Counter[float]()
    for line in text:
        sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0]


def _runs(text: Iterable[_Line]) -> list[list[_Line]]:
    """Return the lines of one type that follow each other in a box; what begins with a number begins anew."""
    runs: list[list[_Line]] = []
    for _, alike in groupby(text, key=lambda line: (line.page, line.box, line.size, line.bold)):
        for place, line in enumerate(alike):
            runs[-1:] = [*runs[-1:], [line]] if not place or _NUMBERED.match(line.text) else [[*runs[-1], line]]
    return runs


def _may_head(run: Sequence[_Line], longest: int) -> bool:
    """Return whether lines of one type may be a heading: short, of letters, and no sentence."""
    text = _joined(run)
    letters = sum(character.isalpha() for character in text)
    whole = not text.endswith((",", ";", ".", "-", "，", "；", "。"))
    return len(text) <= longest and 2 * letters > len(text) and not run[0].mono and whole


def _key(text: str) -> str:
    """Return a heading's letters, without the number before it."""
    return "".join(_WORDS.findall(text.lower())).lstrip("0123456789")


def _blocks(lines: Sequence[_Line]) -> Iterator[str]:
    """Yield the blocks of Markdown that lines make."""
    words = {word.lower() for line in lines for word in _HYPHENATED.findall(line.text)}
    for (kind, *_), group in groupby(lines, key=lambda line: line.kind):
        run = list(group)
        if kind == "table":
            yield from (line.text for line in run)
        elif kind == "code":
            left = min(line.left for line in run)
            yield fenced("\n".join(" " * round(line.left - left) + line.text for line in run))
        else:
            starts = [place for place in range(1, len(run)) if not _goes_on(run[place - 1], run[place])]
            for first, last in pairwise([0, *starts, len(run)]):
                text = _joined(run[first:last], words)
                if kind == "heading":
                    yield f"{'#' * run[0].level} {text}"
                elif bullet := _BULLET.match(text):
                    yield f"- {text[bullet.end() :]}"
                else:
                    yield f"\\{text}" if _MARKUP.match(text) else text


def _goes_on(last: _Line, line: _Line) -> bool:
    """Return whether a line goes on with the paragraph, or heading, of the line before it."""
    if _BULLET.match(line.text) or _NUMBERED.match(line.text):
        return False
    if line.level:
        return True
    ended = _SENTENCE_END.search(last.text) is not None
    if (last.page, last.box) == (line.page, line.box):
        return not (ended and (last.right < SHORT_LINE or line.left > last.left + 1))
    begins = line.text[:1].islower() or (_is_wide(line.text[:1]) and _is_wide(last.text[-1:]))
    return not ended and begins and abs(line.size - last.size) < 1


def _joined(lines: Iterable[_Line], words: Set[str] = frozenset()) -> str:
    """Return lines as one; a word divided at a line's end is one, unless the text has it with the hyphen elsewhere."""
    text = ""
    for line in (line.text for line in lines):
        divided, rest = _DIVIDED.search(text), _LOWER.match(line)
        if divided and rest:
            kept = f"{divided[1]}-{rest[0]}".lower() in words
            text = (text if kept else text[: divided.end(1)]) + line
        else:
            text += line if not text or (_is_wide(text[-1]) and _is_wide(line[:1])) else f" {line}"
    return text


def _is_wide(character: str) -> bool:
    """Return whether it is a Chinese character or mark, between which no blanks stand."""
    return character != "" and east_asian_width(character) in "WF"
