"""reStructuredText of docutils and Sphinx as Markdown: headings, lists, tables and code as the other formats have them.

Offsets refer to the Markdown. Each node gives blocks of lines. Block quotes are flattened (in RST an indented list is
one), field lists, option lists and definitions become lists whose items begin with a bold term, admonitions become
quotes with a bold label.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree

from theworld.ingestion.readers.document import (
    LONGEST_LINE,
    SourceDocument,
    as_list,
    bold,
    fenced,
    plain_metadata,
    quoted,
    read_plain,
    read_text,
    require_text,
)
from theworld.ingestion.readers.folder import labels_below, sphinx_definitions
from theworld.ingestion.readers.html import markdown_of
from theworld.ingestion.readers.markdown import described
from theworld.ingestion.readers.rst_directives import CROSS_REFERENCE, sphinx_known
from theworld.ingestion.readers.tables import BETWEEN_ITEMS, Cell, markdown_table

_BREAK = re.compile(r"[ \t]*\n[ \t]*")
_CHINESE = r"[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]"
_BETWEEN_CHINESE = re.compile(f"(?<={_CHINESE}) (?={_CHINESE})")
_MISREAD = re.compile(r"(?=(?:#{1,6}|>|[-+*])(?:\s|\Z)|(?:-{2,}|={2,}|`{3,}|~{3,})\Z)")
"""Beginnings of a paragraph that would be markup."""
_PROBLEM = re.compile(r"\A[`|*:\w-]*?[`|*]+|[`|*]+_{0,2}\Z|(?<=\w)_{1,2}\Z")
_OPTION = re.compile(r"\s*:[\w-]+:")


_SETTINGS: Mapping[str, Any] = {
    "_disable_config": True,
    "doctitle_xform": False,
    "file_insertion_enabled": False,  # but for the directives that look where the file lies (`rst_directives`)
    "halt_level": 6,
    "input_encoding": "utf-8-sig",
    "line_length_limit": LONGEST_LINE,
    "raw_enabled": True,
    "report_level": 6,
    "smart_quotes": False,
    "syntax_highlight": "none",
}


def read(path: Path, root: Path | None = None, walked: int = 0) -> Iterator[SourceDocument]:
    """Yield the file's one document; what it includes, and its labels if that was `walked`, lie below `root`."""
    text = require_text(read_text(path), path)
    settings = {**_SETTINGS, "root_prefix": str(root or path.parent)}
    defined = sphinx_definitions(path.parent, root, walked) if root and walked else ""
    try:
        with sphinx_known(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = publish_doctree(defined + text, source_path=str(path), settings_overrides=settings)
    except Exception:  # docutils fails on some texts with whatever it comes upon: then it is read as it is written
        yield from read_plain(path)
        return
    fields: dict[str, str] = {}  # those before the text, and those docutils knows (author, date)
    for info in list(tree.findall(nodes.docinfo))[:1]:
        for field in info.children:
            name, said = field.children if isinstance(field, nodes.field) else (None, field)
            fields[name.astext() if name is not None else field.tagname] = said.astext()  # type: ignore[attr-defined]
        info.parent.remove(info)
    elsewhere = partial(labels_below, root, walked) if root and walked else dict[str, str]
    markdown = require_text(MarkdownWriter(tree, elsewhere).text(), path)
    yield replace(described(markdown, path), metadata=plain_metadata(fields))


class MarkdownWriter:
    """Writes one document tree."""

    def __init__(self, tree: nodes.document, elsewhere: Callable[[], Mapping[str, str]]) -> None:
        self._tree, self._elsewhere = tree, elsewhere
        self._icons = {name for one in tree.findall(nodes.substitution_definition) for name in one["names"]}
        self._writers: list[tuple[Any, Callable[[Any], Iterable[str]]]] = [
            ((nodes.Admonition, nodes.topic), self._admonition),
            ((nodes.title, nodes.rubric, nodes.caption), lambda node: [bold(self._line(node))]),
            ((nodes.literal_block, nodes.doctest_block, nodes.math_block), _fenced),
            ((nodes.bullet_list, nodes.enumerated_list), self._list),
            (
                (nodes.definition_list, nodes.field_list, nodes.option_list),
                lambda node: as_list(("- ", self._term(term)) for term in node.children),
            ),
            (nodes.table, self._table),
            (nodes.line_block, lambda node: ["\n".join(self._verses(node))]),
            ((nodes.footnote, nodes.citation), self._footnote),
            (nodes.system_message, _kept_of_error),
            (nodes.raw, lambda node: [_words_of(node)]),
            (nodes.attribution, lambda node: [f"— {self._line(node)}"]),
            (nodes.image, lambda node: [str(node.get("alt", ""))]),
            ((nodes.Invisible, nodes.transition, nodes.label, nodes.decoration), lambda _: []),
            (nodes.TextElement, lambda node: [f"\\{line}" if _MISREAD.match(line := self._line(node)) else line]),
        ]

    def text(self) -> str:
        """Return the whole tree as Markdown."""
        return "\n\n".join(self._blocks(self._tree, 0)) + "\n"

    def _blocks(self, node: nodes.Element, depth: int) -> list[str]:
        return [block for child in node.children for block in self._written(child, depth) if block.strip()]

    def _written(self, node: nodes.Node, depth: int) -> Iterator[str]:
        """Yield the blocks of a node; what shows nothing yields none."""
        if isinstance(node, nodes.section):
            yield from self._blocks(node, depth + 1)
        elif isinstance(node, nodes.title) and isinstance(node.parent, nodes.section) and _ends_its_parent(node.parent):
            yield f"{'#' * min(max(depth, 1), 6)} {self._line(node)}"
        elif isinstance(node, nodes.Element):
            write = next((write for kinds, write in self._writers if isinstance(node, kinds)), None)
            yield from write(node) if write else self._blocks(node, depth)

    def _line(self, node: nodes.Node) -> str:
        """Return running text on one line; no blank where a line of Chinese was broken."""
        return _BETWEEN_CHINESE.sub("", _BREAK.sub(" ", self._inline(node))).strip()

    def _inline(self, node: nodes.Node) -> str:
        words = "".join(map(self._inline, node.children)) if not isinstance(node, nodes.Text) else node.astext()
        if not isinstance(node, nodes.Element):
            return words
        if isinstance(node, nodes.inline) and CROSS_REFERENCE in node["classes"]:  # shows the heading it leads to
            target = self._tree.ids.get(self._tree.nameids.get(node["names"][0]) or "")
            if isinstance(target, nodes.section):
                return self._line(target[0])
            return next((found for name in node["names"] if (found := self._elsewhere().get(name))), words)
        if isinstance(node, nodes.image) and node.get("alt") in self._icons:  # docutils calls it as its substitution
            return ""
        show = next((show for kinds, show in _INLINE if isinstance(node, kinds)), None)
        return show(node, words) if show else words

    def _admonition(self, node: nodes.Element) -> list[str]:
        label = "" if isinstance(node.children[0], nodes.title) else f"**{node.tagname.capitalize()}**"
        return [quoted([label, *self._blocks(node, 0)])]

    def _list(self, node: nodes.Element) -> list[str]:
        first, numbered = int(node.get("start", 1)), isinstance(node, nodes.enumerated_list)
        items: list[tuple[str, list[str]]] = []
        for child in (child for child in node.children if isinstance(child, nodes.list_item)):
            inner = child.children[0] if len(child.children) == 1 else None
            # All that an item holds may be a list of one (`- term` with its definition below).
            one = isinstance(inner, nodes.definition_list | nodes.bullet_list) and len(inner.children) == 1
            item: Any = inner.children[0] if inner is not None and one else child
            term = isinstance(item, nodes.definition_list_item)
            mark = f"{first + len(items)}. " if numbered else "- "
            items.append((mark, self._term(item) if term else self._blocks(item, 0)))
        return as_list(items)

    def _footnote(self, node: nodes.Element) -> list[str]:
        label = next(iter(node.findall(nodes.label)), None)
        first, *rest = self._blocks(node, 0) or [""]
        return [f"{_noted(node, label.astext())} {first}" if label is not None else first, *rest]

    def _term(self, node: nodes.Element) -> list[str]:
        """Return the blocks of a term (a field, an option) and what is said of it."""

        def inside(*kinds: type[nodes.Element]) -> list[nodes.Element]:
            return [one for one in node.children if isinstance(one, kinds)]

        term = ", ".join(
            bold(self._line(one).rstrip(":：")) for one in inside(nodes.term, nodes.field_name, nodes.option_group)
        )
        if more := ", ".join(map(self._line, inside(nodes.classifier))):
            term += f" ({more})"
        said = inside(nodes.definition, nodes.field_body, nodes.description)
        blocks = [block for body in said for block in self._blocks(body, 0)]
        runs_on = bool(said) and bool(said[0].children) and isinstance(said[0].children[0], nodes.paragraph)
        return [f"{term}: {blocks[0]}", *blocks[1:]] if blocks and runs_on else [term, *blocks]

    def _verses(self, node: nodes.Element) -> Iterator[str]:
        for child in node.children:
            if isinstance(child, nodes.line_block):
                yield from self._verses(child)
            elif words := self._line(child):
                yield f"{words}  "

    def _table(self, node: nodes.Element) -> Iterator[str]:
        """Yield a table's title and the table."""
        if isinstance(node.children[0], nodes.title):
            yield bold(self._line(node.children[0]))

        def shown(cell: Any) -> Cell:
            words = " ".join(self._blocks(cell, 0)).strip().replace("  \n", BETWEEN_ITEMS)
            return words, cell.get("morecols", 0) + 1, cell.get("morerows", 0) + 1

        rows = [list(map(shown, row.children)) for row in node.findall(nodes.row)]
        yield markdown_table(rows, header=next(iter(node.findall(nodes.thead)), None) is not None)


def _ends_its_parent(section: nodes.Element) -> bool:
    """Return whether a section stands in another and no text follows it there, which would be under its heading."""
    parent = section.parent
    after = parent.children[parent.index(section) + 1 :]
    return isinstance(parent, nodes.section | nodes.document) and all(
        isinstance(one, nodes.section | nodes.Invisible) for one in after
    )


def _fenced(node: nodes.Element) -> list[str]:
    text = node.astext()
    if isinstance(node, nodes.math_block):
        return [f"$$\n{text}\n$$"]
    classes: list[str] = node.get("classes", [])
    language = next((name for name in classes if name != "code"), "")
    return [fenced(text, language)]


def _code_span(text: str) -> str:
    mark = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{mark} {text} {mark}" if "`" in text else f"{mark}{text}{mark}" if text.strip() else text


def _link(words: str, address: str) -> str:
    if not words or not re.match(r"(?:https?|ftp|mailto):", address) or address in {words, f"mailto:{words}"}:
        return words
    return f"[{words}]({address})"


def _words_of(node: nodes.Element) -> str:
    """Return the words of raw HTML; what is raw for other formats is not shown."""
    if "html" not in str(node.get("format", "")):
        return ""
    return markdown_of(node.astext()).strip()


def _kept_of_error(node: nodes.system_message) -> Iterator[str]:
    """Yield the source of what docutils could not parse, without the line of the directive and its options."""
    for block in node.findall(nodes.literal_block):
        lines = block.astext().split("\n")
        kept = [line for line in lines if not _OPTION.match(line) and not line.lstrip().startswith("..")]
        if any(line.strip() for line in kept):
            text = "\n".join(kept).strip("\n")
            yield from _fenced(nodes.literal_block(text, text))


def _noted(node: nodes.Element, label: str) -> str:
    """Return the label of a citation or footnote, of a footnote as Markdown has it: `[2]` is a passage of an answer."""
    return f"[^{label}]" if isinstance(node, nodes.footnote | nodes.footnote_reference) else f"[{label}]"


def _wrapped(mark: str) -> Callable[[nodes.Element, str], str]:
    return lambda _node, words: f"{mark}{words}{mark}" if words.strip() else words


_INLINE: list[tuple[Any, Callable[[nodes.Element, str], str]]] = [
    ((nodes.literal, nodes.literal_block), lambda node, _: _code_span(node.astext())),
    (nodes.problematic, lambda node, _: _PROBLEM.sub("", node.astext())),
    (nodes.image, lambda node, _: str(node.get("alt", ""))),
    (nodes.option_group, lambda node, _: ", ".join(option.astext() for option in node.children)),
    ((nodes.footnote_reference, nodes.citation_reference), lambda node, _: _noted(node, node.astext())),
    (nodes.raw, lambda node, _: _words_of(node)),
    (nodes.target, lambda _, words: words),
    ((nodes.system_message, nodes.Invisible), lambda _node, _words: ""),
    (nodes.reference, lambda node, words: _link(words, str(node.get("refuri", "")))),
    (nodes.emphasis, _wrapped("*")),
    (nodes.strong, _wrapped("**")),
    (nodes.math, _wrapped("$")),
]
"""How the kinds of running text are shown, given the words inside; others are the words."""
