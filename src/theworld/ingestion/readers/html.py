"""HTML: converted to Markdown without scripts, styles, link targets and a site's furniture; offsets refer to that text.

Tables become Markdown tables, those that only lay out a page become its text; definitions become lists whose items
begin with a bold term, notes and warnings become quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag

from theworld.ingestion.readers.document import (
    SourceDocument,
    as_text,
    bold,
    codec_of,
    fenced,
    raised,
    read_bytes,
    require_text,
    title_from_name,
)
from theworld.ingestion.readers.markdown import described
from theworld.ingestion.readers.markdown_cleaning import outside
from theworld.ingestion.readers.tables import html_table

EXTENSIONS = (".html", ".htm", ".xhtml")

_NOT_TEXT = "script style noscript template svg iframe object head title button s del strike".split()
_FURNITURE = "nav, footer, aside, [role=navigation], [role=contentinfo], [role=complementary], [role=dialog]"
_LISTS = ["ul", "ol", "dl"]
_NOTES = ":is(main, article) :is(aside, [role=complementary])"
LEAST_MAIN = 0.1
"""Share of a page's words that an element must have to be taken for its main part."""
_HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"]
_TITLES = [*_HEADINGS, "div", "header"]
"""What may stand before a list of the page's contents."""
_LAYOUT = ["table", "pre", *_HEADINGS]
"""What no table of data has in its cells."""
_DECLARED = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w-]+)""", re.IGNORECASE)
_LANGUAGE = re.compile(r"(?:language|lang|highlight)-(?:source-)?(\w+)")
_SITE = re.compile(r"^[^\0]*[|–—·•»:-](?=\0)|(?<=\0)[|–—·•«:-][^\0]*$")
"""The name of a site before or after that of its page."""
_GAPS = re.compile(r"\n(?:[ \t]*\n)+")
_FENCED = re.compile(r"^(?P<mark>`{3,})[^\n`]*\n.*?^(?P=mark)$", re.MULTILINE | re.DOTALL)


def read(path: Path) -> Iterator[SourceDocument]:
    """Yield the page's one document."""
    yield page(markup_of(read_bytes(path), path), path)


def markup_of(data: bytes, path: Path) -> str:
    """Return a page's HTML, in the encoding that it declares; raises IngestionError where it is none."""
    declared = _DECLARED.search(data[:4096])
    if declared and b"\x00" not in data[:4096]:
        with suppress(LookupError, UnicodeDecodeError):
            return data.decode(codec_of(declared[1].decode("ascii"))).removeprefix("\ufeff")
    return as_text(data, path)


def page(markup: str, path: Path, title: str = "") -> SourceDocument:
    """Return a page's document, titled by <title>, else by its first <h1>, else as it is given, or by the file's name.

    A <title> often names the site as well, before or after the page's own <h1>: then this is the title.
    """
    soup, given = _parsed(markup), title
    title = _text_of(soup.title)
    metadata = {"lang": lang} if isinstance(soup.html, Tag) and (lang := str(soup.html.get("lang", ""))) else {}
    _drop(soup)
    heading = _text_of(soup.h1)
    if not title or (heading and _SITE.sub("", f" {title} ".replace(f" {heading} ", "\0")) == "\0"):
        title = heading or given or title_from_name(path)
    if soup.h1 is not None and heading in {"", title}:
        soup.h1.decompose()
    return replace(described(require_text(_to_text(soup), path), path, title=title), metadata=metadata)


def markdown_of(markup: str) -> str:
    """Return a piece of HTML as Markdown."""
    soup = _parsed(markup)
    _drop(soup)
    return _to_text(soup)


def _parsed(markup: str) -> BeautifulSoup:
    """Return the elements that browsers make of HTML: tags that may be left out are put in, stray ones passed over."""
    import lxml  # noqa: F401  where it is missing Beautiful Soup does not say so by ModuleNotFoundError

    return BeautifulSoup(raised(markup), "lxml")


def _text_of(tag: Tag | None) -> str:
    return " ".join(tag.get_text(" ").split()) if tag else ""


def _drop(soup: BeautifulSoup) -> None:
    """Take out what is not the page's text: furniture where it leaves some, and what is beside the one main part."""
    for tag in soup(_NOT_TEXT):
        tag.decompose()
    for link in soup.select("a[href^='#']"):
        if not any(map(str.isalnum, link.get_text())) and link.find("img") is None:
            link.decompose()  # the sign beside a heading that links to it
    # An aside within the text is a note of it; beside the text, it is another menu.
    notes = {id(tag) for tag in soup.select(_NOTES)}
    furniture = {id(tag): tag for tag in soup.select(_FURNITURE) if id(tag) not in notes}
    above = {id(tag) for tag in soup.h1.find_all_previous(_LISTS)} if soup.h1 else set()
    furniture |= {id(tag): tag for tag in soup(_LISTS) if _is_menu(tag, above=id(tag) in above)}
    outermost = [tag for tag in furniture.values() if not any(id(parent) in furniture for parent in tag.parents)]
    if sum(len(_text_of(tag)) for tag in outermost) < len(_text_of(soup)):
        for tag in outermost:
            tag.decompose()
    main = soup.select("main, [role=main]")
    if len(main) == 1 and len(_text_of(main[0])) >= LEAST_MAIN * len(_text_of(soup)):
        part = main[0].extract()
        soup.clear()
        soup.append(part)


def _is_menu(tag: Tag, *, above: bool) -> bool:
    """Return whether all of a list's text are links: to places of this page with no words before it, or `above` it."""
    links, before = tag("a"), tag.previous_sibling
    while before is not None and not str(before).strip():
        before = before.previous_sibling
    announced = before is not None and (not isinstance(before, Tag) or before.name not in _TITLES)
    return len(_text_of(tag)) == len(" ".join(filter(None, map(_text_of, links)))) and (
        above or (len(links) > 1 and not announced and all(str(link.get("href", ""))[:1] == "#" for link in links))
    )


def _to_text(soup: BeautifulSoup) -> str:
    """Return the page as Markdown: tables that only lay it out as blocks, notes and warnings as quotes."""
    for cell in soup.select("td.linenos, td.line-numbers, td.gutter"):
        cell.decompose()
    for table in [table for table in soup("table") if table.find(_LAYOUT)]:
        inside = table.find_all(["caption", "thead", "tbody", "tfoot", "tr", "td", "th"])
        for tag in [table, *[tag for tag in inside if tag.find_parent(["table"]) is table]]:
            tag.name = "div"
    for note in soup.select("aside, div.admonition"):
        note.name = "blockquote"
    try:
        text = str(_converter().convert_soup(soup))
    except RecursionError:  # nested hundreds of levels deep: the words without their markup
        text = soup.get_text("\n")
    return outside(_FENCED, text, lambda piece: _GAPS.sub("\n\n", piece)).strip() + "\n"


@cache
def _converter() -> Any:
    from markdownify import ATX, MarkdownConverter

    class Converter(MarkdownConverter):
        """Markdown as other readers make it."""

        def convert_table(self, el: Tag, *_: object, **__: object) -> str:
            return f"\n\n{html_table(el)}\n\n"

        def convert_pre(self, el: Tag, *_: object, **__: object) -> str:
            """Fence the words as they are, in the language that the classes of, in or around them name."""
            words, language = el.get_text().strip("\n"), ""
            for tag in [el, *el.find_all("code", limit=1), *el.find_parents("div", limit=2)]:
                named = _LANGUAGE.search(" ".join(tag.get("class") or []))
                language = language or (named[1] if named else "")
            return f"\n\n{fenced(words.rstrip(), language)}\n\n" if words.strip() else ""

        def convert_dt(self, _: Tag, text: str, **__: object) -> str:
            term = " ".join(text.split())
            return f"\n\n- {bold(term.rstrip(':：'))}\n\n" if term else ""

        def convert_dd(self, _: Tag, text: str, **__: object) -> str:
            lines = (f"  {line}" if line.strip() else "" for line in text.strip().split("\n"))
            return "\n\n" + "\n".join(lines) + "\n"

    return Converter(
        heading_style=ATX,
        bullets="-",
        strip=["a", "img", "b", "strong", "i", "em", "code"],
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        autolinks=False,
    )
