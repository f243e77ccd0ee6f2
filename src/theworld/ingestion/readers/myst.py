"""Directives and roles of MyST, the Markdown of Sphinx and Jupyter Book: what they show.

A directive is a fence of backticks or colons whose first line names it, `{note} Title`. Its options say nothing, but
for captions. What is not known is text; code that a page runs, `{python}`, stays code.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from textwrap import dedent

from theworld.ingestion.readers.document import fenced
from theworld.ingestion.readers.tables import BETWEEN_ITEMS, markdown_table

LABELS = {
    "seealso": "See also",
    "todo": "To do",
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
    "deprecated": "Deprecated since version",
    "deprecated-removed": "Deprecated since version, removed in version",
}
SILENT = (
    "toctree index highlight currentmodule py:currentmodule module py:module program default-domain sectionauthor "
    "moduleauthor codeauthor tabularcolumns only-index meta contents sectnum date"
).split()
"""Directives of Sphinx that say nothing to a reader: navigation, settings, the clock."""
LITERAL = (
    "code-block sourcecode code prompt doctest testcode testoutput testsetup testcleanup productionlist graphviz "
    "digraph mermaid uml plantuml ipython"
).split()
WORDS = frozenset("abbr any dfn doc download eq guilabel index keyword menuselection numref ref sup sub term".split())
"""Roles of Sphinx that show words; others show code, names and paths."""
TITLED = re.compile(r"(?P<title>.+?)\s*<(?P<target>[^<>]*)>\Z", re.S)

_SILENT = frozenset([*SILENT, *"include literalinclude bibliography raw video iframe tableofcontents".split()])
"""With those that say where something is."""
_CODE = frozenset([*LITERAL, *"code-cell jupyter-execute math".split()])
_KINDS = frozenset("attention caution danger error hint important note tip warning".split())
_SETTING = frozenset("div eval-rst grid only ifconfig rst-class tab-set".split())
"""Directives whose argument is a setting."""
_RUN = (
    r"(?i:awk|bash|c|cpp|css|dot|go|haskell|html|java|javascript|js|julia|mermaid|node|octave|ojs|perl|php|powershell|"
    r"(?:pyodide|shinylive|webr)[\w-]*|python\d?|r|rcpp|ruby|rust|sas|scala|sh|sql|stan|stata|tikz|typescript|zsh)"
)
"""Languages of code that R Markdown and Quarto run."""
_NAMED = rf"\{{(?!{_RUN}\}})(?P<name>[A-Za-z][\w:+.-]*)\}}"
_FENCE = re.compile(
    r"^(?P<margin>[ \t]*)(?P<mark>`{3,}(?=[^`\n]*\n)|~{3,}|:{3,}(?=[ \t]*\{\w))[ \t]*"
    rf"(?:{_NAMED})?(?P<argument>[^\n]*)\n"
    r"(?P<inside>(?:.*?\n)??)[ \t]*(?P=mark)[`~:]*[ \t\r]*(?:\n|\Z)",
    re.M | re.S,
)
"""A directive, or code."""
_OPTIONS = re.compile(r"(?:[ \t]*---\s*?\n(?:.*?\n)??[ \t]*---\s*?\n|(?:[ \t]*:[\w-]+:(?:[ \t\r][^\n]*)?\n)+)?", re.S)
_OPTION = re.compile(r"^[ \t]*:?([\w-]+):[ \t]*(.*)$", re.M)
_ROW = re.compile(r"^([*-][ \t]+)(?=[*-](?:[ \t]|$))", re.M)
_TARGET = r"^ {0,3}\([^()\n]+\)=[ \t]*$\n?"
_SUBSTITUTION = re.compile(
    r"\{\{[ \t]*(?:(?P<name>\w+)(?:[ \t]*\|[^{}\n]*)?|"
    r"(?P<quote>['\"])(?P<literal>(?:(?!(?P=quote))[^\\\n]|\\.)*)(?P=quote)\.format\((?P<names>[\w, \t]*)\))[ \t]*\}\}"
)
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\n]*\)")
SAYING_NOTHING = re.compile(
    rf"{_TARGET}|^%(?!%)[^\n]*\n?|^[ \t]*(?:\+{{3,}}(?:[ \t]*\{{.*)?|\^{{3,}})[ \t\r]*$|"
    r"\{(?:octicon|material-\w+|fa[a-z]?)\}`[^`\n]*`[ \t]*",
    re.M,
)
"""In MyST targets of links, comments, what divides a card or the cells of a notebook, icons."""
MYST = re.compile(rf"^[ \t]*(?:`{{3,}}|:{{3,}}){_NAMED}|(?<!`)\{{[a-z][\w:+-]*\}}`|{_TARGET}", re.M)
"""What tells that a text is MyST: a directive, role or target."""


def substituted(known: Mapping[str, str], text: str) -> str:
    """Return a text with what substitutions stand for: `{{ name }}`, `{{ '[words]({})'.format(name) }}`.

    Of a name that is not known nothing is shown but the words of the link it belongs to, or itself within these.
    """

    def shown(one: re.Match[str]) -> str:
        if one["name"]:
            return known.get(one["name"], one[0])
        names = one["names"].replace(",", " ").split()
        pieces = re.sub(r"\\(.)", r"\1", one["literal"]).split("{}")
        if len(pieces) > len(names) + 1:
            return one[0]
        filled = pieces[0]
        for name, piece in zip(names, pieces[1:], strict=False):
            filled += known.get(name, name) + piece
        return filled if all(name in known for name in names) else _LINK.sub(r"\1", filled)

    return _SUBSTITUTION.sub(shown, text)


def directives(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield where directives of the outermost level begin and end, with their title and what stands inside."""
    for found in _FENCE.finditer(text):
        argument, inside = found["argument"].strip(), found["inside"]
        if not found["name"]:
            continue
        options = _OPTIONS.match(inside)
        said = options[0] if options else ""
        title, inside = _shown(found["name"], argument, dict(_OPTION.findall(said)), inside[len(said) :])
        gap = "" if text[found.end() : found.end() + 1] in ("", "\n") else "\n"
        yield found.end("margin"), found.end(), title, f"\n{inside}{gap}"


def _shown(name: str, argument: str, options: Mapping[str, str], content: str) -> tuple[str, str]:
    """Return a directive's title and its content as Markdown."""
    if name in _SILENT:
        return "", ""
    if name in _CODE:
        code = dedent(content).strip("\n")
        language = argument if code and " " not in argument else ""
        return options.get("caption", ""), f"{fenced(code or argument, language)}\n"
    if name in {"list-table", "csv-table"}:
        headers, rows = options.get("header-rows", "0").strip() != "0", _rows_of_list(content)
        if name == "csv-table":
            headers = headers or "header" in options
            rows = csv.reader(StringIO(f"{options.get('header', '')}\n{dedent(content)}"), skipinitialspace=True)
        table = markdown_table([[(cell, 1, 1) for cell in row] for row in rows], header=headers)
        return argument, f"{table}\n"
    if name in {"figure", "image"}:
        return "", f"![{options.get('alt', '')}]({argument})\n\n{content}"
    if name in _KINDS and not content.strip():
        return name.capitalize(), f"{argument}\n"
    label = name.capitalize() if name in _KINDS else ""
    title = f"{LABELS[name]} {argument}".strip() if name in LABELS else "" if name in _SETTING else argument
    return title or label, content


def _rows_of_list(content: str) -> Iterable[list[str]]:
    """Yield the cells of each row of a list of lists."""
    _, *pieces = _ROW.split(dedent(content))
    for mark, row in zip(pieces[::2], pieces[1::2], strict=True):
        cells = re.split(rf"^ {{0,{len(mark)}}}[*-](?:[ \t]+|$)", row, flags=re.M)[1:]
        yield [re.sub(r"\n\s*[*-][ \t]+", BETWEEN_ITEMS, cell.strip().removeprefix("- ")) for cell in cells]


def words_of_role(span: re.Match[str]) -> str:
    """Return the words that a role of Sphinx shows, a given title, else what it names; names in code, as other code."""
    if not span["role"]:
        return span[0]
    kind, given = span["role"].rpartition(":")[2].lower(), span[0].partition("}")[2].strip("`")
    titled = TITLED.match(given)
    if titled or kind in {"ref", "doc", "numref"}:
        return titled["title"] if titled else re.sub(r"[-_]+", " ", given.rpartition("/")[2])
    words = given.rpartition(".")[2] if given.startswith("~") else given.lstrip("!")
    return words if kind in WORDS else f"`{words.lstrip('~')}`"
