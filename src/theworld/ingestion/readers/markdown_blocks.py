"""The blocks of a Markdown text, by markdown-it-py: its line numbers become offsets, headings become section paths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from theworld.ingestion.blocks import Block
from theworld.stores.records import NoteKind

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
_PARTS = {"list": "list_item_open", "table": "tr_open"}
_INTRODUCES = re.compile(r"[:：][\s*_]*\Z")
_MARKUP = re.compile(r"[*`]|!?\[|\]\([^)]*\)|\{#[^}]*\}")


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
    return tuple(_with_sections(text, list(_blocks(text, _parser().parse(body), lines)), title))


def plain_heading(words: str) -> str:
    """Return a heading's words without emphasis, code and link markup."""
    return " ".join(_MARKUP.sub("", words).split())


def _blocks(text: str, parsed: Sequence[Token], lines: Sequence[int]) -> Iterator[tuple[Block, int, str]]:
    """Yield each block of the outermost level with its heading's level and words (0 and "" for others)."""

    def span(token: Token) -> tuple[int, int]:
        first, last = token.map or (0, 0)
        begin, end = lines[first], lines[min(last, len(lines) - 1)]
        return begin, begin + len(text[begin:end].rstrip())

    for place, token in enumerate(parsed):
        if token.level or token.map is None or token.nesting < 0:
            continue
        kind = _KINDS.get(token.type, "paragraph")
        begin, end = span(token)
        if end <= begin or token.type == "hr":
            continue
        if kind == "heading":
            yield Block(kind, begin, end), int(token.tag[1:]), plain_heading(parsed[place + 1].content)
            continue
        parts: tuple[tuple[int, int], ...] = ()
        lead = None
        if kind in _PARTS:
            inner = [one for one in _until_closed(parsed, place) if one.type == _PARTS[kind] and one.map]
            outer = min((one.level for one in inner if kind == "list"), default=0)
            parts = tuple(span(one) for one in inner if kind == "table" or one.level == outer)
        if kind == "table" and len(parts) > 1:
            lead, parts = (begin, parts[1][0]), parts[1:]
            lead = (begin, begin + len(text[lead[0] : lead[1]].rstrip()))
        yield Block(kind, begin, end, parts=parts, lead=lead), 0, ""


def _until_closed(parsed: Sequence[Token], place: int) -> Iterator[Token]:
    for token in parsed[place + 1 :]:
        if token.level == parsed[place].level:
            return
        yield token


def _with_sections(text: str, found: Sequence[tuple[Block, int, str]], title: str) -> Iterator[Block]:
    """Yield the blocks with the headings they stand under, and with the sentence that introduces them."""
    above: list[tuple[int, str]] = []
    before: Block | None = None
    for block, level, words in found:
        if level:
            while above and above[-1][0] >= level:
                above.pop()
            above.append((level, words))
        section = tuple(words for place, (_, words) in enumerate(above) if words and (place or words != title))
        lead = block.lead
        introduced = before is not None and before.kind == "paragraph" and block.kind in {"list", "code"}
        if introduced and before is not None and _INTRODUCES.search(text, before.start, before.end):
            lead = (before.start, before.end)
        before = block._replace(section=section, lead=lead)
        yield before
