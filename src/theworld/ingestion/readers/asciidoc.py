"""AsciiDoc of Asciidoctor and Antora as Markdown: headings, lists, tables and code as the other formats have them.

No library reads it from the package index alone: pandoc's reader (3.9) gives up at many files of real manuals. Offsets
refer to the Markdown.

1. `asciidoc_lines` gives a file's lines as they count.
2. `_Writer` turns them into blocks, those within a delimited block by the same means.
3. `_Writer._inline` shows running text. A reference without words of its own shows the heading it leads to.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

from theworld.ingestion.readers.asciidoc_lines import OFFSET, UNDERLINES, Source, is_underline, named
from theworld.ingestion.readers.document import (
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
from theworld.ingestion.readers.folder import ASCIIDOC, resolved, text_of
from theworld.ingestion.readers.html import markdown_of
from theworld.ingestion.readers.markdown import described, front_matter
from theworld.ingestion.readers.markdown_cleaning import outside, said_by_image
from theworld.ingestion.readers.tables import BETWEEN_ITEMS, MOST_SPANNED, Cell, captioned_table, markdown_table

EXTENSIONS = ASCIIDOC

_LOWER = re.compile(rf"{OFFSET}(-?\d{{1,3}})")
_ATTRIBUTES = re.compile(r"\[(?P<said>|[\w.#%{,\"'].*|\[[^\[\]]*\])\]\s*")
_TITLE = re.compile(r"\.(?P<words>[^\s.].*)")
_HEADING = re.compile(r"(?P<mark>={1,6}|#{1,6})[ \t]+(?P<words>\S.*?)[ \t=]*")
_DELIMITER = re.compile(r"(?:-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|--|`{3}.*|[|,:!]={3,})\s*")
_ITEM = re.compile(r"\s*(?P<mark>\*{1,6}|-|\.{1,6}|(?:\d{1,4}|[A-Za-z])\.|<(?:\d+|\.)>)\s+(?P<text>\S.*)")
_TERM = re.compile(r"\s*(?P<term>\S.*?)(?P<mark>:{2,4}|;;)(?:\s+(?P<text>\S.*)|\s*)")
_MACRO = re.compile(r"(?P<name>[a-z]\w*)::(?P<target>\S*?|(?<=image::)\S[^\[\]]*)\[(?P<text>.*)\]\s*")
_ADMONITION = re.compile(r"(?P<kind>NOTE|TIP|IMPORTANT|WARNING|CAUTION)(?P<rest>:(?=\s))?")
_VERBATIM, _FORMULAS = {"source", "listing", "literal"}, {"stem", "latexmath", "asciimath"}
_CALLOUT = re.compile(r"[ \t]*<!?-*(\d+|\.)-*>[ \t]*$", re.M)
_RULE = re.compile(r"(?:'{3,}|<{3}|-{3}|\*{3}|\+|::toc::)\s*")
_SEPARATOR = re.compile(
    r"(?:(?<!\S)(?:(?P<times>\d+)\*|(?P<wide>\d+)?(?:\.(?P<deep>\d+))?\+)?(?:\.?[<^>]){0,2}[aehlmdsv]?)?(?<!\\)([|!])"
)
"""What begins a cell of a table."""

_COLUMN = re.compile(r"\A(?P<all>\d{1,2})\Z|(?:\A|[,;])\s*(?:(?P<times>\d{1,2})\*|[^\s,;])")
_CODE = re.compile(r"(?P<mark>`{1,2})(?!`|\s)(?:[^`\n]|\n(?!\n))*?[^`\s](?P=mark)(?!`)")
_CODE_OR_LINK = re.compile(
    rf"(?P<code>{_CODE.pattern})|<<(?P<id>[^<>,\n]+)(?:,\s*(?P<words>[^<>]+))?>>|(?<![\w\\])(?P<name>[a-z][\w-]*):"
    r"(?P<target>[^\s:\[\],]?+[^\s\[\]]*+|(?<=image:)[^\s\[\]][^\[\]\n]{0,200}+)\[(?P<text>(?:\\.|[^\[\]\\]|\[[^\[\]\n]*\])*)\]"
)
_WITH_OPTIONS = frozenset("icon xref link mailto http https ftp".split())
_OPTION = re.compile(r"(?:\A|,)\s*\w+=")
_SIZES = re.compile(r"(?:,\s*\d+)+\s*(?=\Z|,\s*\w+=)")
_CURLY_QUOTED = re.compile(r"``(?P<old>[^`']+)''|\"`(?P<new>[^`\"]+)`\"")
_HIDDEN = re.compile(
    r"\[\[[^\[\]\n]*\]\]|\({3}[^()\n]*\){3}|\[\.?line-through\]##?[^#\n]+##?|\[[.#][\w. #-]+\](?=[*_`]|\Z)"
)
_SHOWN = re.compile(
    r"\({2}(?P<term>[^()\n]+)\){2}|(?:\[[^\[\]\n]*\])?(?P<mark>##?)(?P<marked>[^#\s](?:[^#\n]*[^#\s])?)(?P=mark)"
)
_STRONG = re.compile(r"(?<![\w*\\])\*(?P<words>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])")
_SCRIPT = re.compile(r"(?<=\w)([\^~])(?P<words>[^\s\^~]{1,20})\1")
_LITERAL = re.compile(r"(?<![\w+\\])(?P<mark>\+{1,3})(?P<words>[^\s+](?:[^+\n]*[^\s+])?)(?P=mark)(?![\w+])")
_ESCAPED = re.compile(r"\\(?=[*_`\[<{#+~^(|:'])")
_BREAK = re.compile(r"[ \t]+\+[ \t]*$", re.M)
_FENCE = re.compile(r"(`{3,}).*\n((?:.*\n)*?)\1")
_TITLE_LINE = re.compile(r"^=[ \t]+(\S.*)", re.M)


def read(path: Path, root: Path | None = None) -> Iterator[SourceDocument]:
    """Yield the file's one document, with what it includes below `root`; IngestionError where there is no text."""
    text = require_text(read_text(path), path)
    fields, start = front_matter(text, path)
    try:
        markdown, attributes = as_markdown(text[start:], path, root or path.parent)
    except (RecursionError, csv.Error):  # blocks within blocks without end: then it is read as it is written
        yield from read_plain(path)
        return
    title = " ".join(str(fields.get("title") or "").split())
    found = described(require_text(markdown, path), path, title=title)
    yield replace(found, metadata=plain_metadata({**attributes, **fields}))


def as_markdown(text: str, path: Path, root: Path) -> tuple[str, dict[str, str]]:
    """Return a file's text, with what it includes below a root, as Markdown, and the attributes that it sets."""
    source = Source(path, root)
    lines = list(source.lines(text, path))
    return "\n\n".join(_Writer(source, lines).blocks(lines)) + "\n", source.described


class _Writer:
    """Writes the blocks of one document."""

    def __init__(self, source: Source, lines: Sequence[str]) -> None:
        self._source, self._level, self._heading = source, 0, ""
        self._around = tuple[str, ...]()  # the kinds of the lists that a block stands in
        self._headings = dict[str, str]()
        marks = list[str]()
        for line in lines:
            if said := _ATTRIBUTES.fullmatch(line):
                marks += re.findall(r"^\[([^,\]]+)|#([\w-]+)|\bid=\"?([\w-]+)", said["said"])
            elif words := _HEADING.fullmatch(line) or _TITLE.fullmatch(line):
                shown = _HIDDEN.sub("", words["words"]).strip()
                simple = re.sub(r"[^\w\s.-]", "", shown.lower())
                names = [re.sub(r"[\s.-]+", mark, simple) for mark in "_-"]
                for name in (*("".join(one) for one in marks), *names, f"_{names[0]}"):
                    self._headings.setdefault(name.strip(), shown)
                marks = []
            elif line.strip():
                marks = []

    def blocks(self, lines: Sequence[str]) -> list[str]:
        """Return the blocks of some lines, in order."""
        found, at = list[str](), 0
        around, self._around = self._around, ()
        while at < len(lines):
            written, at = self._block(lines, at)
            found += written
        self._around = around
        return [block for block in found if block.strip()]

    def _block(self, lines: Sequence[str], at: int) -> tuple[list[str], int]:
        """Return what one block is in Markdown, below its title, and the line after it."""
        title, said, at = self._announced(lines, at)
        above = [bold(title)] if title else []
        if at == len(lines):
            return above, at
        line, style = lines[at], re.split(r"[,%#.]", said)[0].strip()
        if _DELIMITER.fullmatch(line):
            mark = "```" if line.startswith("`") else line
            end = next((place for place in range(at + 1, len(lines)) if lines[place] == mark), len(lines))
            written, at = list(self._delimited(line, lines[at + 1 : end], style, said)), end + 1
        elif style not in _VERBATIM and (shown := self._of_one_line(line, title)) is not None:
            above = [title] if line.startswith("image::") else above  # a caption is text
            written, at = [shown], at + 1
        elif style in _VERBATIM or not (kind := _kind(line)):
            written, at = self._paragraph(lines, at, style, said)
        elif kind in self._around:  # the next item of a list around
            written = []
        else:
            written, at = self._list(lines, at, named(said).get("start", ""))
        return [*above, *written], at

    def _announced(self, lines: Sequence[str], at: int) -> tuple[str, str, int]:
        """Return the title and the last attributes above a block, and the line it begins at."""
        title = said = ""
        while at < len(lines):
            line = lines[at]
            if lower := _LOWER.fullmatch(line):
                self._level = int(lower[1])
            elif (found := _TITLE.fullmatch(line)) and not _kind(line):
                title = self._inline(found["words"])
            elif found := _ATTRIBUTES.fullmatch(line):
                said = found["said"] if not found["said"].startswith("[") else said
            elif line:
                break
            at += 1
        return title, said, at

    def _of_one_line(self, line: str, title: str) -> str | None:
        """Return what a heading, a rule or a macro below a title is in Markdown; None for any other line."""
        if heading := _HEADING.fullmatch(line):
            return self._headed(len(heading["mark"]), heading["words"])
        if macro := _MACRO.fullmatch(line):
            known = (macro["target"], self._heading, title)
            return self._inline(_shown_by(macro["text"], *known)) if macro["name"] == "image" else ""
        return "" if _RULE.fullmatch(line) else None

    def _headed(self, depth: int, words: str) -> str:
        self._heading = self._inline(words)
        return f"{'#' * min(max(depth + self._level, 1), 6)} {self._heading}"

    def _interrupts(self, line: str, *, verbatim: bool = False) -> bool:
        """Return whether a line ends the paragraph before it; if this is no code, an item of a list does as well."""
        ends = line == "+" or any(one.fullmatch(line) for one in (_DELIMITER, _LOWER, _ATTRIBUTES))
        listed = bool(self._around) or line.startswith(("* ", "** ", ". "))  # many lack the empty line before a list
        return ends or (listed and not verbatim and _kind(line) != "")

    def _paragraph(self, lines: Sequence[str], at: int, style: str, said: str) -> tuple[list[str], int]:
        """Return a paragraph, or a heading that is underlined, and the line after it."""
        end, verbatim = at + 1, style in _VERBATIM
        while end < len(lines) and lines[end] and not self._interrupts(lines[end], verbatim=verbatim):
            end += 1
        if end == at + 1 and end < len(lines) and is_underline(lines[at], lines[end]):
            return [self._headed(UNDERLINES.index(lines[end][0]) + 1, lines[at])], end + 1
        text = "\n".join(lines[at:end])
        label = _ADMONITION.match(style or text)
        if verbatim or (text[0] in " \t" and not style):
            written = fenced(dedent(text), _language(said))
        elif style in _FORMULAS:
            written = f"$$\n{text}\n$$"
        elif label and (style or label["rest"]):
            words = text if style else text[label.start("rest") + 1 :].lstrip()
            written = quoted([bold(label["kind"].capitalize()), self._inline(words)])
        else:
            words = self._inline(text)
            written = quoted([words]) if style in {"quote", "verse"} else words
        return [written], end

    def _delimited(self, begin: str, lines: Sequence[str], style: str, said: str) -> Iterator[str]:
        """Yield what a delimited block is in Markdown."""
        text = "\n".join(line for line in lines if not _LOWER.fullmatch(line))
        if begin[0] in "|,:!":
            yield self._table(begin[0], lines, said)
        elif (begin[0] in "-.`" and begin != "--") or (begin == "--" and style in _VERBATIM):
            if text.strip():
                yield fenced(_CALLOUT.sub(r" (\1)", text), begin[3:].strip() if begin[0] == "`" else _language(said))
        elif begin[0] == "+":
            yield f"$$\n{text}\n$$" if style in _FORMULAS else markdown_of(text)
        elif _ADMONITION.fullmatch(style):
            yield quoted([bold(style.capitalize()), *self.blocks(lines)])
        elif begin[0] == "_":
            yield quoted(self.blocks(lines))
        else:
            yield from self.blocks(lines)

    def _list(self, lines: Sequence[str], at: int, start: str) -> tuple[list[str], int]:
        """Return a list, with those within its items, and the line after it; its numbers `start` where that is said."""
        kind, around = _kind(lines[at]), self._around
        start = start or lines[at].split(".")[0].strip()
        first = int(start[:9]) if start.isdecimal() else 1
        self._around = (*around, kind)
        items: list[tuple[str, list[str]]] = []
        while at < len(lines) and _kind(lines[at]) == kind:
            mark = f"{len(items) + first}. " if kind[0] in ".1<" else "- "
            term, text, at = self._item(lines, at)
            blocks, at = self._attached(lines, at, wanting=bool(term) and not text)
            items.append((mark, [": ".join(filter(None, (term, text))), *blocks]))
        self._around = around
        return as_list(items), at

    def _item(self, lines: Sequence[str], at: int) -> tuple[str, str, int]:
        """Return the terms of an item, where it has any, its text, and the line after that."""
        kind, terms, words = _kind(lines[at]), list[str](), list[str]()
        while not any(words) and (terms or not words) and at < len(lines) and _kind(lines[at]) == kind:
            found = _TERM.fullmatch(lines[at]) if kind[0] in ":;" else _ITEM.fullmatch(lines[at])
            assert found is not None
            terms += [bold(self._inline(found["term"]))] if kind[0] in ":;" else []
            words, at = [found["text"] or ""], at + 1
        while at < len(lines) and lines[at] and not self._interrupts(lines[at]):
            words.append(lines[at].strip())
            at += 1
        return ", ".join(terms), self._inline("\n".join(filter(None, words))), at

    def _attached(self, lines: Sequence[str], at: int, *, wanting: bool) -> tuple[list[str], int]:
        """Return the blocks that belong to a list's item after its text, and the line after them, or of the next item.

        A plus sign attaches what follows, but no item of the lists around. With empty lines before it, it attaches to
        an item around, of as many levels above. `wanting` is a term that lacks its meaning, which may follow after an
        empty line.
        """
        blocks, attached = list[str](), False
        while (following := next((place for place in range(at, len(lines)) if lines[place]), len(lines))) < len(lines):
            line = lines[following]
            awaited = attached or (wanting and not blocks and not self._interrupts(line))
            if line.strip() == "+":
                if following > at and len(self._around) > 1:
                    at += 1
                    break
                attached, at = True, following + 1
            elif (kind := _kind(line)) in self._around:
                at = following
                break
            elif kind or (following > at and line[:1] in " \t") or (awaited and not _HEADING.fullmatch(line)):
                written, at = self._block(lines, following)
                blocks, attached = blocks + written, False
            else:
                break
        return [block for block in blocks if block.strip()], at

    def _table(self, mark: str, lines: Sequence[str], said: str) -> str:
        options = named(said)
        columns = sum(int(one["all"] or one["times"] or 1) for one in _COLUMN.finditer(options.get("cols", "")))
        if mark in ",:" or options.get("format") in {"csv", "dsv", "tsv"}:
            delimiter = {",": ",", ":": ":"}.get(mark) or {"csv": ",", "dsv": ":"}.get(options["format"], "\t")
            given = csv.reader(filter(str.strip, lines), delimiter=options.get("separator", delimiter)[:1] or delimiter)
            rows = [[(self._inline(cell), 1, 1) for cell in row] for row in given]
        else:
            cells = list(self._cells("\n".join(lines), mark))
            first = next(filter(str.strip, lines), "")
            rows = _in_rows(cells, columns or sum(wide for _, wide, _ in self._cells(first, mark)))
        return markdown_table(rows, header=False) if "noheader" in said else captioned_table(rows)

    def _cells(self, text: str, mark: str) -> Iterator[Cell]:
        """Yield the cells of a table that is written with a sign before each."""
        begun = [one for one in _SEPARATOR.finditer(text) if one[0].endswith(mark)]
        for one, end in zip(begun, [*(one.start() for one in begun), len(text)][1:], strict=True):
            lines = [line.strip() for line in text[one.end() : end].strip().replace(f"\\{mark}", mark).splitlines()]
            blocks = (_FENCE.sub(lambda code: f"`{' '.join(code[2].split())}`", block) for block in self.blocks(lines))
            words = " ".join(re.sub(r"\n\s*(?:[-*]|\d+\.)\s+", BETWEEN_ITEMS, block) for block in blocks)
            words = re.sub(r"\A(?:[-*]|\d+\.)\s+(?=.* / )", "", words, flags=re.S)
            for _ in range(min(int(one["times"] or 1), MOST_SPANNED)):
                yield words, min(int(one["wide"] or 1), MOST_SPANNED), int(one["deep"] or 1)

    def _inline(self, text: str) -> str:
        """Return running text as Markdown has it."""
        text = _BREAK.sub("", "\n".join(line.strip() for line in text.splitlines()))
        text = _CURLY_QUOTED.sub(lambda one: f"“{one['old'] or one['new']}”", text)
        text = _CODE.sub(lambda code: f"`{code[0].strip('`').strip('+')}`", text)
        text = _CODE_OR_LINK.sub(lambda one: one[0] if one["code"] else self._linked(one), text)
        return outside(_CODE, text, self._prose)

    def _prose(self, text: str) -> str:
        text = _SHOWN.sub(lambda one: one["term"] or one["marked"], _HIDDEN.sub("", text))
        text = _STRONG.sub(r"**\g<words>**", text)
        text = _LITERAL.sub(r"\g<words>", _SCRIPT.sub(r"\g<words>", text))
        return _ESCAPED.sub("", text.replace(" -- ", " — ").replace("\n-- ", "\n— "))

    def _named_heading(self, name: str) -> str:
        """Return the heading that an id names, here or of another page, else the words of the id."""
        page, _, part = name.strip().partition("#")
        if page.endswith(ASCIIDOC):
            path, root = self._source.path, self._source.root
            found = resolved(path, root, page) or resolved(path, root, f"page${page}")
            title = _TITLE_LINE.search(text_of(found)) if found else None
            return self._source.valued(title[1]) if title else re.sub(r"[-_]", " ", Path(page).stem)
        return self._headings.get(part or page) or re.sub(r"[-_]", " ", part or page).strip()

    def _linked(self, found: re.Match[str]) -> str:
        """Return what is shown for a macro, or a reference to a heading."""
        if found["id"]:
            return found["words"] or self._named_heading(found["id"])
        name, target, text = found["name"], found["target"], found["text"].replace("\\]", "]").strip()
        if name in _WITH_OPTIONS:
            text = _OPTION.split(text)[0].strip('"^ ')
        match name:
            case "http" | "https" | "ftp":
                shown = f"[{text}]({name}:{target})" if text else f"{name}:{target}"
            case "xref":
                shown = text or self._named_heading(target)
            case "image":
                shown = _shown_by(text)
            case "indexterm" | "anchor":
                shown = ""
            case "icon":  # in a table it may be all that a cell says
                shown = text or target.replace("-", " ")
            case "footnote" | "footnoteref":
                shown = f" ({text})" if text else ""
            case "menu":
                shown = bold(" > ".join(part.strip() for part in (target, *text.split(">")) if part.strip()))
            case "kbd" | "btn":
                shown = bold(text)
            case _:
                shown = f"${text}$" if name in _FORMULAS else text or target.partition(",")[0]
        return shown


def _kind(line: str) -> str:
    """Return the kind of the list of which a line begins an item, empty for none; numbers and letters are each one."""
    if found := _ITEM.fullmatch(line):
        mark = found["mark"]
        return "1" if mark[0].isdigit() else "<" if mark[0] == "<" else "1a" if mark[0].isalpha() else mark
    term = _TERM.fullmatch(line)
    return term["mark"] if term and not line.startswith("//") and not _ATTRIBUTES.fullmatch(line) else ""


def _shown_by(said: str, *known: str) -> str:
    """Return what an image shows by its attributes, `known` as in `said_by_image`."""
    return said_by_image(named(said).get("alt") or _OPTION.split(_SIZES.sub("", said))[0].strip('"^ '), *known)


def _language(said: str) -> str:
    """Return the language of code, the second in a list of attributes."""
    parts = [part.strip() for part in said.split(",")]
    return parts[1] if len(parts) > 1 and re.fullmatch(r"[\w+#-]+", parts[1]) else ""


def _in_rows(cells: Sequence[Cell], columns: int) -> list[list[Cell]]:
    """Return cells as rows of so many columns, of which those take places that span several rows."""
    rows, taken = list[list[Cell]](), list[int]()
    row, filled = list[Cell](), 0
    for cell in cells:
        row.append(cell)
        filled += cell[1]
        if filled + sum(left > 0 for left in taken) >= max(columns, 1):
            rows.append(row)
            taken = [left - 1 for left in taken if left > 1] + [c[2] - 1 for c in row for _ in range(c[1]) if c[2] > 1]
            row, filled = [], 0
    return [*rows, row] if row else rows
