"""HTML: converted to Markdown-like text without scripts, styles and link targets; offsets refer to that text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from markdownify import ATX, MarkdownConverter

from theworld.ingestion.readers.document import SourceDocument, require_text, title_from_name
from theworld.ingestion.readers.encoding import read_bytes, read_text
from theworld.ingestion.readers.markdown import described

EXTENSIONS = (".html", ".htm", ".xhtml")

_NOT_TEXT = ["script", "style", "noscript", "template", "svg", "iframe", "object", "head", "title"]
_DECLARED = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w-]+)""", re.IGNORECASE)
_GAPS = re.compile(r"\n(?:[ \t]*\n)+")


def read(path: Path) -> Iterator[SourceDocument]:
    """Yield the page's one document, titled by <title>, else by its first <h1>, else by the file's name."""
    soup = BeautifulSoup(_markup(path), "html.parser")
    title = _text_of(soup.title) or _text_of(soup.h1) or title_from_name(path)
    metadata = {"lang": lang} if isinstance(soup.html, Tag) and (lang := str(soup.html.get("lang", ""))) else {}
    for tag in soup(_NOT_TEXT):
        tag.decompose()
    if soup.h1 is not None and _text_of(soup.h1) == title:
        soup.h1.decompose()
    yield replace(described(require_text(_to_text(soup), path), path, title=title), metadata=metadata)


def markdown_of(markup: str) -> str:
    """Return a piece of HTML as Markdown."""
    soup = BeautifulSoup(markup, "html.parser")
    for tag in soup(_NOT_TEXT):
        tag.decompose()
    return _to_text(soup)


def _markup(path: Path) -> str:
    """Return the page's text by its declared encoding, else as any other text file."""
    data = read_bytes(path)
    declared = _DECLARED.search(data[:4096])
    if declared and b"\x00" not in data[:4096]:
        try:
            return data.decode(declared[1].decode("ascii")).removeprefix("\ufeff")
        except (LookupError, UnicodeDecodeError):
            pass
    return read_text(path)


def _text_of(tag: Tag | None) -> str:
    return " ".join(tag.get_text(" ").split()) if tag else ""


def _to_text(soup: BeautifulSoup) -> str:
    converter = MarkdownConverter(
        heading_style=ATX,
        bullets="-",
        strip=["a", "img", "b", "strong", "i", "em", "code"],
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        autolinks=False,
    )
    try:
        text = converter.convert_soup(soup)
    except RecursionError:  # nested hundreds of levels deep: the words without their markup
        text = soup.get_text("\n")
    return _GAPS.sub("\n\n", text).strip() + "\n"
