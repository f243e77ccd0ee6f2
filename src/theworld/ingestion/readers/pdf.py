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
from contextlib import closing, suppress
from dataclasses import dataclass, field
from io import BytesIO
from itertools import groupby, pairwise
from typing import Any
from unicodedata import east_asian_width

from theworld.ingestion.readers.document import MONO, fenced
from theworld.ingestion.readers.pdf_layout import (
    break_ties_in_order,
    clean,
    in_columns,
    is_again,
    is_upright,
    made_upright,
    tables_of,
    text_boxes,
    within,
)

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
    break_ties_in_order()
    try:
        with pdfplumber.open(BytesIO(data), laparams={"all_texts": True}) as pdf:
            lines, outline = list[_Line](), list[tuple[int, str]]()
            for number, page in enumerate(pdf.pages):
                lines += _lines_of(page, number)
                page.close()
            pages, named = len(pdf.pages), clean(str(pdf.metadata.get("Title", "")))
            with suppress(Exception):  # PDFNoOutlines, and whatever a broken one makes the parser raise
                outline.extend((level, clean(title)) for level, title, *_ in pdf.doc.get_outlines())
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
    text = "\n\n".join(_blocks([line for line in lines if line.text]))
    return (title, text) if text else (named, _plain_text(data))


def _plain_text(data: bytes) -> str:
    """Return a file's text page by page, as pdfium has it: it knows characters of fonts that pdfminer does not."""
    import pypdfium2

    with closing(pypdfium2.PdfDocument(data)) as pdf:
        pages = (page.get_textpage().get_text_range() for page in pdf)
        lines = [[clean(line) for line in page.splitlines()] for page in pages]
    return "\n\n".join("\n".join(f"\\{one}" if _MARKUP.match(one) else one for one in page) for page in lines)


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
    boxes, printed = list(text_boxes(layout)), dict[tuple[str, int, int], Any]()
    lines = [(place, line) for place, box in enumerate(boxes) for line in box]
    text = [(place, line, [item for item in line if not is_again(item, printed)]) for place, line in lines]
    if (upright := made_upright(page, [items for *_, items in text])) is not page:
        yield from _lines_of(upright, number)
        return
    tables = tables_of(page, [(line, items) for _, line, items in text])
    turned = not is_upright([item for _, _, items in text for item in items])
    if not turned:
        text = in_columns(text, boxes, tables)
    for place, line, items in text:
        if around := [table for table in tables if within(line, table.box)]:
            if markdown := around[0].markdown():
                yield _Line(markdown, number, table=True)
        elif (turned or is_upright(items)) and (words := clean("".join(item.get_text() for item in items))):
            yield _described(_Line(words, number, place), line, items, boxes[place], layout.height)


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
    line.mono = sum(count for font, count in fonts.items() if MONO.search(font)) > 0.8 * len(characters)
    line.fonts = fonts
    return line


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
