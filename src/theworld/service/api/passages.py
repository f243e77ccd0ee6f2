"""Passages as a person reads them: their addresses, answers and reports as HTML, rows of a database as Markdown.

HTML is Markdown rendered by markdown-it-py, and what comes of it cleaned by nh3.

Raw HTML in a text is shown as text. References like `[1]` become links to `#cite-1` where the answer has that citation;
other links keep http, https and mailto addresses; images become their description, since showing one would call on a
foreign server.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache, partial
from html import escape
from urllib.parse import quote, urlencode

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from theworld.answers import shown_text
from theworld.ingestion.readers.tables import markdown_table
from theworld.state import Answer, Candidate, Citation, QueryTable
from theworld.state.answers import place_of
from theworld.state.tables import cell_text

_TAGS = set(
    "p br hr strong em s code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 table thead tbody tr th td a section header "
    "cite div".split()
)
_ATTRIBUTES = {"a": {"href", "class"}, "ol": {"start"}, "section": {"class"}, "p": {"class"}, "div": {"class"}}
_REFERENCE = re.compile(r"\[(\d{1,3})\]")
_ADDRESS = re.compile(r"(?:https?://|mailto:)\S+|#cite-\d{1,3}", re.IGNORECASE)
_CITE = "#cite-"
DOCUMENTS = "theworld://documents/"  # what the resources of the Model Context Protocol begin with
MOST_ROWS = 50


def document_url(base: str, document_id: str, note_id: str = "") -> str:
    """Return the address of a document, at a note of it where one is named; without a base, that of the resource."""
    if not base:
        return DOCUMENTS + quote(document_id, safe="")
    named = {"id": document_id} | ({"note": note_id} if note_id else {})
    return f"{base}/#/document?{urlencode(named)}"


def linked(item: Candidate | Citation, base: str) -> dict[str, str]:
    """Return where a passage stands, as a person reads it (`title`), and its address (`url`)."""
    place = place_of(item.document_id, item.source, item.title, item.section)
    return {"title": place, "url": document_url(base, item.document_id, item.note_id)}


def tables_text(tables: Iterable[QueryTable], language: str) -> str:
    """Return the rows of a database as Markdown tables, as many as MOST_ROWS, with how many are left out."""
    parts = []
    for table in tables:
        rows = [[one.heading for one in table.columns], *table.rows[:MOST_ROWS]]
        parts += [f"**{table.title}**", markdown_table([(cell_text(cell), 1, 1) for cell in row] for row in rows)]
        left = len(table.rows[MOST_ROWS:]) + table.truncated
        if left:
            said = "… 未列出的行：" if language == "zh" else "… rows left out: "
            parts.append(f"{said}{left}{'+' if table.truncated else ''}")
    return "\n\n".join(parts)


def answer_html(answer: Answer) -> str:
    """Return an answer as clean HTML: the short answer, then its passages, or else its text as Markdown."""
    if not answer.passages:
        return markdown_html(answer.text, {citation.number for citation in answer.citations})
    parts = [f'<p class="short">{escape(answer.short)}</p>' if answer.short else ""]
    for one in answer.passages:
        link = f'<a class="cite" href="{_CITE}{one.number}">{one.number}</a>'
        text = _markdown().render(shown_text(one), {"numbers": ()})
        parts.append(f'<section class="passage"><p class="place">{link} {escape(one.place)}</p>{text}</section>')
    return _cleaned("".join(parts))


def markdown_html(text: str, numbers: Collection[int] = ()) -> str:
    """Return Markdown as clean HTML, in which references to some numbers are links to the citations."""
    return _cleaned(_markdown().render(text, {"numbers": numbers}))


@cache
def _markdown() -> MarkdownIt:
    # A text's own definitions of references are no links: `[1]` is a citation.
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("reference")
    made.core.ruler.push("citations", _link_citations)
    made.add_render_rule("image", lambda _self, tokens, place, _options, _env: escape(tokens[place].content))
    return made


def _link_citations(state: StateCore) -> None:
    """Make links of references to citations, in text that is neither code nor a link already."""
    for block in state.tokens:
        depth, found = 0, list[Token]()
        for token in (block.children or []) if block.type == "inline" else []:
            depth += token.nesting if token.type.startswith("link_") else 0
            if token.type != "text" or depth:
                found.append(token)
                continue
            for place, part in enumerate(_REFERENCE.split(token.content)):
                if place % 2 and int(part) in state.env.get("numbers", ()):
                    link = Token("link_open", "a", 1, attrs={"href": f"{_CITE}{int(part)}", "class": "cite"})
                    found += [link, Token("text", "", 0, content=part), Token("link_close", "a", -1)]
                elif part or place % 2:
                    found.append(Token("text", "", 0, content=f"[{part}]" if place % 2 else part))
        if block.type == "inline":
            block.children = found


_cleaned = partial(
    nh3.clean,
    tags=_TAGS,
    attributes=_ATTRIBUTES,
    attribute_filter=lambda _tag, name, value: value if name != "href" or _ADDRESS.fullmatch(value) else None,
    url_schemes={"http", "https", "mailto"},
    link_rel="noopener noreferrer nofollow",
    set_tag_attribute_values={"a": {"target": "_blank"}},
)
