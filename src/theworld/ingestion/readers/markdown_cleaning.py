"""Markdown without what is not text: comments, template tags and HTML wrappers dropped, entities decoded.

Code (fences and spans) stays as it is. HTML tables become Markdown tables, and tables lose their padding. A text
without any of these stays the same to the letter, so that offsets refer to the file itself; else they refer to the
cleaned text, which is what is stored.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from theworld.ingestion.readers.tables import html_table

_FENCE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})[^\n]*\n(?:.*?\n)??[ \t]*(?P=mark)[`~]*[ \t]*(?:\n|\Z)", re.M | re.S)
_SPAN = re.compile(r"(?P<mark>`+)(?!`)(?:[^`\n]|\n(?!\s*\n)|`(?!(?P=mark)))+?(?P=mark)(?!`)")
_TABLE = re.compile(r"<table\b.*?</table\s*>", re.I | re.S)
_COMMENT = re.compile(r"<!--.*?-->|\{/\*.*?\*/\}|\{#.*?#\}", re.S)
_TEMPLATE = re.compile(r"\{%-?.*?-?%\}|\{\{[<%].*?[%>]\}\}", re.S)
_MODULE = re.compile(
    r"^(?:import\s.+?\sfrom\s+['\"].+?['\"];?|import\s+['\"].+?['\"];?|export\s+(?:const|default)\s[^\n]*)[ \t]*\n",
    re.M,
)
_WRAPPER = re.compile(r"^[ \t]*:{3,}[ \t]*(?P<kind>\w*)[ \t]*(?P<title>[^\n]*)$", re.M)
"""The lines around an admonition of Docusaurus, VitePress and Pandoc: `:::note Title` and `:::`."""
_BREAK = re.compile(r"<br\s*/?>", re.I)
_ELEMENTS = (
    "a abbr address article aside b big blockquote body button center cite code col colgroup dd del details dfn div "
    "dl dt em embed figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins "
    "kbd label li link main mark meta nav ol p path picture pre q s samp section small source span strike strong style "
    "sub summary sup svg table tbody td tfoot th thead time tr u ul var video"
).split()
_TAG = re.compile(
    rf"</?(?:(?:{'|'.join(_ELEMENTS)})|[A-Z][A-Za-z0-9.]*)(?:\s+(?:[^<>\"']|\"[^\"]*\"|'[^']*')*)?/?>",
)
"""Elements of HTML, and components of MDX, which begin with a capital; `<name>` in a text stays what it is."""
_ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.M)
_PADDING = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)|-{4,}")
"""What only lines up the columns of a table's source: it would fill notes and answers with blanks."""
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


def cleaned(text: str) -> str:
    """Return a Markdown text without comments, template tags, HTML tags and entities; code stays untouched."""
    parts = list(_apart(text, _FENCE))
    done = [piece if is_code else _prose(piece) for piece, is_code in parts]
    if done == [piece for piece, _ in parts]:
        return text
    return "".join(
        piece if is_code else _EMPTY_LINES.sub("\n\n", piece) for piece, (_, is_code) in zip(done, parts, strict=True)
    )


def _apart(text: str, code: re.Pattern[str]) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text with whether they are code."""
    end = 0
    for match in code.finditer(text):
        yield text[end : match.start()], False
        yield match.group(), True
        end = match.end()
    yield text[end:], False


def _prose(text: str) -> str:
    if "<table" in text.lower():
        text = _TABLE.sub(lambda match: _as_markdown(match.group()), text)
    for pattern in (_COMMENT, _TEMPLATE, _MODULE):
        text = pattern.sub("", text)
    text = _WRAPPER.sub(_label, text)
    text = _ROW.sub(lambda row: _PADDING.sub(lambda gap: "---" if gap.group()[0] == "-" else " ", row.group()), text)
    return "".join(piece if is_code else _without_tags(piece) for piece, is_code in _apart(text, _SPAN))


def _without_tags(text: str) -> str:
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub(" ", text))
    return html.unescape(text).replace("\xa0", " ") if "&" in text else text


def _label(match: re.Match[str]) -> str:
    """Return what an admonition's first line says to a reader: its title, else its kind."""
    return f"**{(match['title'] or match['kind']).strip()}**" if match["kind"] else ""


def _as_markdown(table: str) -> str:
    """Return an HTML table as a Markdown table between blank lines."""
    from bs4 import BeautifulSoup

    return f"\n\n{html_table(BeautifulSoup(table, 'html.parser'))}\n\n"
