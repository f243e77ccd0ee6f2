"""The blocks of a Markdown text, by markdown-it-py: its line numbers become offsets, headings become section paths.

1. The outermost tokens become blocks. A list may be divided at its items (a long item at what it consists of), a table
   at its rows, a quote or admonition at its blocks.
2. A numbered list that goes on where the one before it ended is the same list: the code or picture between its steps
   only lacks the indentation. So is what a list's last step introduces with a colon.
3. Each block gets the headings it stands under; a list or code, the sentence before it that introduces it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from theworld.ingestion.blocks import Block, introduces
from theworld.stores.records import NoteKind
from theworld.text.layout import announces, ends_with_colon

if TYPE_CHECKING:
    from markdown_it.token import Token

_KINDS: dict[str, NoteKind] = {
    "heading_open": "heading",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "table_open": "table",
    "fence": "code",
    "code_block": "code",
    "blockquote_open": "admonition",
}
_LONG_ITEM = 400
"""Characters; a longer item of a list may be divided between its blocks."""
_MARKUP = re.compile(r"[*`]|!?\[|\]\([^)]*\)|\{#[^}]*\}")


class _Found(NamedTuple):
    """A block on its way."""

    block: Block
    level: int = 0
    """Of a heading, 1 to 6; 0 for others."""
    words: str = ""
    """Of a heading."""
    first: int | None = None
    """Number of a numbered list's first item."""
    items: int = 0


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def markdown_blocks(text: str, start: int = 0, title: str = "") -> tuple[Block, ...]:
    """Return the blocks of text[start:], in order; a heading that is the document's title is no section of its own."""
    body = text[start:]
    lines = [start, *(start + match.end() for match in re.finditer(r"\r\n?|\n", body))]
    if lines[-1] < len(text):
        lines.append(len(text))
    found = _Tokens(text, _parser().parse(body), lines).blocks()
    return tuple(_with_sections(text, list(_continued(text, found)), title))


def plain_heading(words: str) -> str:
    """Return a heading's words without emphasis, code and link markup."""
    return " ".join(_MARKUP.sub("", words).split())


class _Tokens:
    """What markdown-it-py has made of a text whose lines begin at `lines` (the last one is the end)."""

    def __init__(self, text: str, parsed: Sequence[Token], lines: Sequence[int]) -> None:
        self._text, self._parsed, self._lines = text, parsed, lines

    def blocks(self) -> Iterator[_Found]:
        """Yield each block of the outermost level."""
        for place, token in enumerate(self._parsed):
            if token.level or token.map is None or token.nesting < 0 or token.type == "hr":
                continue
            begin, end = self._span(token)
            if end <= begin:
                continue
            kind = _KINDS.get(token.type, "paragraph")
            if kind == "heading":
                words = plain_heading(self._parsed[place + 1].content)
                yield _Found(Block(kind, begin, end), int(token.tag[1:]), words)
            elif kind == "table":
                yield _Found(self._table(place, begin, end))
            elif kind == "list":
                items = [inner for inner in self._children(place) if self._parsed[inner].type == "list_item_open"]
                parts = tuple(part for item in items for part in self._item(item))
                first = int(token.attrs.get("start", 1)) if token.type == "ordered_list_open" else None
                yield _Found(Block(kind, begin, end, parts=parts), first=first, items=len(items))
            else:
                # Each piece of a code block that is too long begins with the line that opens its fence.
                line = self._text[begin:end].partition("\n")[0].rstrip()
                opening = (begin, begin + len(line)) if token.type == "fence" and line else None
                parts = tuple(map(self._span_at, self._children(place)))
                yield _Found(Block(kind, begin, end, parts=parts, lead=opening))

    def _span(self, token: Token) -> tuple[int, int]:
        first, last = token.map or (0, 0)
        begin, end = self._lines[first], self._lines[min(last, len(self._lines) - 1)]
        return begin, begin + len(self._text[begin:end].rstrip())

    def _span_at(self, place: int) -> tuple[int, int]:
        return self._span(self._parsed[place])

    def _children(self, place: int) -> Iterator[int]:
        """Yield the places of the blocks directly inside one."""
        level = self._parsed[place].level
        if self._parsed[place].nesting != 1:
            return
        for inner in range(place + 1, len(self._parsed)):
            token = self._parsed[inner]
            if token.level == level:
                return
            if token.level == level + 1 and token.nesting >= 0 and token.map and token.type != "inline":
                yield inner

    def _item(self, place: int) -> list[tuple[int, int]]:
        """Return where a list's item may be divided: a short one not at all."""
        begin, end = self._span_at(place)
        spans = [self._span_at(inner) for inner in self._children(place)]
        if end - begin <= _LONG_ITEM or len(spans) < 2:
            return [(begin, end)]
        first = 1 if announces(self._text[slice(*spans[0])]) else 0  # a term stays with its definition
        return [(begin, spans[first][1]), *spans[first + 1 :]]

    def _table(self, place: int, begin: int, end: int) -> Block:
        """Return a table's block: its rows are the parts, header and rule the lead."""
        level = self._parsed[place].level
        rows = [
            self._span(token)
            for token in self._parsed[place : self._closing(place, level)]
            if token.type == "tr_open" and token.map
        ]
        if len(rows) < 2:
            return Block("table", begin, end)
        head = begin + len(self._text[begin : rows[1][0]].rstrip())
        return Block("table", begin, end, parts=tuple(rows[1:]), lead=(begin, head))

    def _closing(self, place: int, level: int) -> int:
        after = range(place + 1, len(self._parsed))
        return next((inner for inner in after if self._parsed[inner].level == level), len(self._parsed))


def _continued(text: str, found: Iterator[_Found]) -> Iterator[_Found]:
    """Join numbered lists that go on, with what stands between them."""
    held: list[_Found] = []
    for one in found:
        if held and (one.level or (one.first is not None and one.first <= 1)):
            yield from held
            held = []
        if one.first is None or not held:
            held, done = ([*held, one], []) if held or one.first is not None else ([], [one])
            yield from done
        elif one.first == (held[0].first or 0) + held[0].items:
            held = [_joined(held, one)]
        else:
            yield from held
            held = [one]
        if len(held) == 2 and ends_with_colon(text, held[0].block.end) and held[1].block.kind != "paragraph":
            held = [_joined(held[:1], held[1])]
    yield from held


def _joined(held: Sequence[_Found], one: _Found) -> _Found:
    """Return a list with what follows it: up to `one` it belongs to the last step, `one` goes on with the list."""
    first, last = held[0].block, one.block
    between = [found.block for found in held[1:]] + ([last] if one.first is None else [])
    parts = first.parts
    if between:
        parts = (*parts[:-1], (parts[-1][0], between[-1].end))
    if one.first is not None:
        parts = (*parts, *last.parts)
    more = one.items if one.first is not None else 0
    return held[0]._replace(block=first._replace(end=last.end, parts=parts), items=held[0].items + more)


def _with_sections(text: str, found: Sequence[_Found], title: str) -> Iterator[Block]:
    """Yield the blocks with the headings they stand under, and with the sentence that introduces them."""
    above: list[tuple[int, str]] = []
    before: Block | None = None
    for block, level, words, _, _ in found:
        if level:
            while above and above[-1][0] >= level:
                above.pop()
            above.append((level, words))
        section = tuple(words for place, (_, words) in enumerate(above) if words and (place or words != title))
        lead = block.lead
        if before is not None and block.kind in {"list", "code"} and introduces(text, before):
            lead = (before.start, lead[1] if lead else before.end)
        before = block._replace(section=section, lead=lead)
        yield before
