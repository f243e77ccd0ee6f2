"""The blocks of a Markdown text, by markdown-it-py: its line numbers become offsets, headings become section paths.

1. The outermost tokens become blocks. A list may be divided at its items (a long item at what it consists of), a table
   at its rows, a quote or admonition at its blocks.
2. A numbered list that goes on where the one before it ended is the same list: the code or picture between its steps
   only lacks the indentation. So is what a list's last step introduces with a colon.
3. Each block gets the headings it stands under; a list or code, the sentence before it that introduces it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from theworld.ingestion.notes import Block, introduces
from theworld.stores.records import NoteKind
from theworld.text.layout import announces, ends_with_colon

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_KINDS: dict[str, NoteKind] = {
    "heading": "heading",
    "bullet_list": "list",
    "ordered_list": "list",
    "table": "table",
    "fence": "code",
    "code_block": "code",
    "blockquote": "admonition",
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


def markdown_blocks(text: str, start: int = 0, title: str = "") -> tuple[Block, ...]:
    """Return the blocks of text[start:], in order; a heading that is the document's title is no section of its own."""
    return tuple(_with_sections(text, list(_continued(text, _outermost(text, start))), title))


def plain_heading(words: str) -> str:
    """Return a heading's words without emphasis, code and link markup."""
    return " ".join(_MARKUP.sub("", words).split())


@cache
def _parser() -> Callable[[str], SyntaxTreeNode]:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    blocks_only = MarkdownIt("commonmark").enable("table").disable("inline")
    return lambda body: SyntaxTreeNode(blocks_only.parse(body))


def _outermost(text: str, start: int) -> Iterator[_Found]:
    """Yield each block of the outermost level."""
    body = text[start:]
    lines = [start, *(start + match.end() for match in re.finditer(r"\r\n?|\n", body))]
    if lines[-1] < len(text):
        lines.append(len(text))

    def span(node: SyntaxTreeNode) -> tuple[int, int]:
        first, last = node.map or (0, 0)
        begin, end = lines[first], lines[min(last, len(lines) - 1)]
        return begin, begin + len(text[begin:end].rstrip())

    def inside(node: SyntaxTreeNode) -> list[tuple[int, int]]:
        return [span(child) for child in node.children if child.map and child.type != "inline"]

    for node in _parser()(body).children:
        kind, (begin, end) = _KINDS.get(node.type, "paragraph"), span(node)
        if end <= begin or node.type == "hr":
            continue
        block, parts = Block(kind, begin, end), inside(node)
        if kind == "heading":
            yield _Found(block, int(node.tag[1:]), plain_heading(node.children[0].content))
        elif kind == "list":
            divided = tuple(part for item in node.children for part in _item(text, span(item), inside(item)))
            first = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
            yield _Found(block._replace(parts=divided), first=first, items=len(node.children))
        elif kind == "table":  # header and rule are the lead, rows the parts
            rows = [span(row) for part in node.children for row in part.children]
            if len(rows) > 1:
                head = begin + len(text[begin : rows[1][0]].rstrip())
                block = block._replace(parts=tuple(rows[1:]), lead=(begin, head))
            yield _Found(block)
        else:
            # Each piece of a code block that is too long begins with the line that opens its fence.
            line = text[begin:end].partition("\n")[0].rstrip() if node.type == "fence" else ""
            yield _Found(block._replace(parts=tuple(parts), lead=(begin, begin + len(line)) if line else None))


def _item(text: str, item: tuple[int, int], blocks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return where a list's item may be divided: a short one not at all."""
    begin, end = item
    if end - begin <= _LONG_ITEM or len(blocks) < 2:
        return [item]
    first = 1 if announces(text[slice(*blocks[0])]) else 0  # a term stays with its definition
    return [(begin, blocks[first][1]), *blocks[first + 1 :]]


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
    goes_on, first = one.first is not None, held[0].block
    between, parts = [*held[1:], *([] if goes_on else [one])], first.parts
    if between:
        parts = (*parts[:-1], (parts[-1][0], between[-1].block.end))
    if goes_on:
        parts = (*parts, *one.block.parts)
    block = first._replace(end=one.block.end, parts=parts)
    return held[0]._replace(block=block, items=held[0].items + (one.items if goes_on else 0))


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
