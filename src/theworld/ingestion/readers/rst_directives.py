"""What docutils does not know of Sphinx: other roles and directives, and files included from inside the folder only.

Roles and directives that docutils lacks are general ones: such a role leaves the words it shows, such a directive its
argument as a bold line, and its content.
docutils keeps what is registered for the whole process, what a text itself defines (`role`) too: each text begins with
empty registries, and those of other users of docutils are put back after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from threading import Lock
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives, roles, states
from docutils.parsers.rst.directives.misc import Class, Include
from docutils.parsers.rst.directives.tables import CSVTable
from docutils.statemachine import StringList

from theworld.errors import IngestionError
from theworld.ingestion.readers.document import read_text
from theworld.ingestion.readers.folder import page_names, resolved
from theworld.ingestion.readers.myst import LABELS, LITERAL, SILENT, TITLED, WORDS

CROSS_REFERENCE = "cross-reference"
"""Class of an inline node that names a label or a page: its words are the heading there, if one is found."""

_CONDITIONS = ("only", "ifconfig", "rst-class", "cssclass")
"""Directives whose argument is a setting and whose content is text."""
_SETTINGS = ("option", "cmdoption", "confval")
"""Directives that name a setting and say what it does."""
_ENTRY = re.compile(r"(?P<terms>(?:^\S.*\n+)+)(?P<meaning>(?:^[ \t].*\n+)*)", re.M)
"""Of a glossary."""
_registries = Lock()


class _AnyOptions(dict[str, Callable[[str], Any]]):
    """Options as they come: those that a directive defines are converted, others are taken as text."""

    def __missing__(self, _name: str) -> Callable[[str], Any]:
        return lambda value: value

    def __bool__(self) -> bool:
        return True


class _General(Directive):
    """Argument and content of a directive that docutils does not know."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[Any] = _AnyOptions()

    def run(self) -> list[nodes.Node]:
        """Return each line of the argument in bold (a tab's title, a function's signature), then the content."""
        found = nodes.container()
        shown = self.arguments if self.name not in _CONDITIONS else []
        for line in (shown or [""])[0].splitlines():
            words, _ = self.state.inline_text(line.strip(), self.lineno)
            found += nodes.paragraph("", "", nodes.strong("", "", *words))
        self.state.nested_parse(self.content, self.content_offset, found, match_titles=True)
        return [found]


class _Labelled(_General):
    """A remark of Sphinx: what kind it is, of which version it speaks, and the words."""

    def run(self) -> list[nodes.Node]:
        words = (self.arguments or [""])[0].split()
        versions = next((i for i, word in enumerate(words) if not word[0].isdigit() and word != "next"), len(words))
        found = nodes.admonition("", nodes.title("", " ".join([LABELS[self.name], *words[:versions]])))
        if rest := " ".join(words[versions:]):
            found += nodes.paragraph("", "", *self.state.inline_text(rest, self.lineno)[0])
        self.state.nested_parse(self.content, self.content_offset, found)
        return [found]


class _Silent(_General):
    """What says nothing, the `date` too: the clock is no part of what was written, a text must read the same tomorrow.

    A substitution has to stand for something.
    """

    def run(self) -> list[nodes.Node]:
        return [nodes.Text("")] if isinstance(self.state, states.SubstitutionDef) else []


class _Setting(_General):
    """A setting, as a section; where text of what is around it follows, its heading becomes a bold line (`rst`)."""

    def run(self) -> list[nodes.Node]:
        """Return a section with the names as its heading."""
        names = ", ".join(line.strip() for line in (self.arguments or [""])[0].splitlines())
        found = nodes.section("", nodes.title("", "", *self.state.inline_text(names, self.lineno)[0]))
        self.state.nested_parse(self.content, self.content_offset, found)
        return [found]


class _Glossary(_General):
    """Terms with what they mean, also where blank lines stand between them or several mean the same."""

    def run(self) -> list[nodes.Node]:
        """Return a list of definitions; what stands after ` : ` is for sorting, what begins with dots a comment."""
        found = nodes.definition_list()
        for entry in _ENTRY.finditer("\n".join([*self.content, ""])):
            names = [line.partition(" : ")[0] for line in entry["terms"].split("\n") if line and line[:2] != ".."]
            terms = [nodes.term("", "", *self.state.inline_text(name, self.lineno)[0]) for name in names]
            meaning = nodes.definition()
            lines = StringList(dedent(entry["meaning"]).split("\n"), source=self.name)
            self.state.nested_parse(lines, self.content_offset, meaning)
            found += nodes.definition_list_item("", *terms, meaning) if terms else []
        return [found]


class _Class(_General, Class):
    """`class`: of docutils, a style of what follows; of Sphinx, a signature with what it does."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        """Return what docutils does for names in the form that styles have, else the signature and the content."""
        words = self.arguments[0].split() if self.arguments else []
        if words and all(nodes.make_id(word) == word for word in words):
            return list(Class.run(self))
        return super().run()


class _Literal(_General):
    """Code, with or without a caption."""

    def run(self) -> list[nodes.Node]:
        """Return a literal block; an argument of several words is code itself (`productionlist`, `prompt`)."""
        argument = (self.arguments or [""])[0]
        code = "\n".join(self.content) or argument
        return _literal(code, argument if self.content and " " not in argument else "", self.options.get("caption"))


class _Include(Include):
    """`include`, of files inside the ingested folder only."""

    option_spec: ClassVar[Any] = _AnyOptions(Include.option_spec or {})

    def run(self) -> list[Any]:
        """Return the nodes of the file, or put its lines into those being parsed."""
        settings = self.state.document.settings
        path = _inside(self, self.arguments[0])
        self.arguments[0] = f"/{path.relative_to(Path(settings.root_prefix).resolve()).as_posix()}"
        settings.file_insertion_enabled = True
        try:
            return list(super().run())
        finally:
            settings.file_insertion_enabled = False


class _LiteralInclude(_General):
    """A file inside the ingested folder, or some of its lines, as code."""

    def run(self) -> list[nodes.Node]:
        lines, options = _read(self, self.arguments[0] if self.arguments else "").splitlines(), self.options
        if "lines" in options:
            bounds = [re.match(r"\s*(\d*)\s*(-?)\s*(\d*)", part) for part in options["lines"].split(",")]
            spans = [(int(b[1] or 1), int(b[3] or len(lines)) if b[2] else int(b[1] or 1)) for b in bounds if b]
        else:
            first, last = 0, len(lines)
            for name, after in (("start-at", 0), ("start-after", 1)):
                if name in options:
                    first = next((i + after for i, line in enumerate(lines) if options[name] in line), first)
            for name, after in (("end-at", 1), ("end-before", 0)):
                if name in options:
                    ends = (i + after for i, line in enumerate(lines) if i >= first and options[name] in line)
                    last = next(ends, last)
            spans = [(first + 1, last)]
        code = "\n".join(line for first, last in spans for line in lines[first - 1 : last])
        return _literal(code, options.get("language", ""), options.get("caption"))


class _CSVTable(CSVTable):
    """`csv-table`, its `:file:` inside the ingested folder only."""

    option_spec: ClassVar[Any] = _AnyOptions({**CSVTable.option_spec, "encoding": str})

    def run(self) -> list[Any]:
        if "file" in self.options:
            text = _read(self, self.options.pop("file"))
            self.content = StringList(text.splitlines(), source=self.name)
        return list(super().run())


_OWN: dict[str, Any] = {
    "include": _Include,
    "literalinclude": _LiteralInclude,
    "csv-table": _CSVTable,
    "class": _Class,
    "glossary": _Glossary,
    **dict.fromkeys(LABELS, _Labelled),
    **dict.fromkeys(SILENT, _Silent),
    **dict.fromkeys(_SETTINGS, _Setting),
    **dict.fromkeys(LITERAL, _Literal),
}


@contextmanager
def sphinx_known() -> Iterator[None]:
    """Let docutils know the directives and roles of this module, in this block only; one thread at a time."""
    tables: list[dict[str, Any]] = [directives._directives, roles._roles]  # type: ignore[attr-defined]
    with _registries:
        others = [dict(table) for table in tables]
        find_directive, find_role = directives.directive, roles.role

        def directive(*named: Any) -> Any:
            found, messages = find_directive(*named)
            return (found, messages) if found else (_General, [])

        def role(name: str, *where: Any) -> Any:
            found, messages = find_role(name, *where)
            if found is None:
                roles.register_local_role(name, _role)
            return (found, messages) if found else (_role, [])

        for table, entries in zip(tables, (_OWN, dict.fromkeys(("index", "pep", "rfc"), _role)), strict=True):
            table.clear()
            table.update(entries)
        try:
            directives.directive, roles.role = directive, role  # type: ignore[assignment]
            yield
        finally:
            directives.directive, roles.role = find_directive, find_role
            for table, entries in zip(tables, others, strict=True):
                table.clear()
                table.update(entries)


def _role(
    name: str, rawtext: str, text: str, _line: int, inliner: Any, _options: Any = None, _content: Sequence[str] = ()
) -> tuple[Any, Any]:
    """Return the words that a role of Sphinx shows: a given title, else what it names."""
    given, kind = nodes.unescape(text), name.rpartition(":")[2].lower()
    titled = TITLED.match(given)
    words = titled["title"] if titled else given.lstrip("!")
    if kind in {"pep", "rfc"} and not titled:
        return [nodes.Text(f"{kind.upper()} {words}")], []
    if kind in {"ref", "doc", "numref"} and not titled:
        spoken = re.sub(r"[-_]+", " ", words.rpartition("/")[2])
        names = [nodes.fully_normalize_name(words)]
        if kind == "doc":
            document = inliner.document
            names = page_names(Path(document["source"]), Path(document.settings.root_prefix), words)
        return [nodes.inline(rawtext, spoken, classes=[CROSS_REFERENCE], names=names)], []
    if kind in WORDS or titled:
        return [nodes.Text(words)], []
    return [nodes.literal(rawtext, words.rpartition(".")[2] if words.startswith("~") else words)], []


def _literal(code: str, language: str, caption: str | None) -> list[nodes.Node]:
    block = nodes.literal_block(code, code, classes=["code", *language.split()])
    return [nodes.paragraph("", "", nodes.strong("", caption)), block] if caption else [block]


def _inside(directive: Directive, name: str) -> Path:
    """Return the file that a directive names, from its own file's folder or, after a slash, from a folder above.

    Raises docutils' error for one outside the ingested folder (`root_prefix`).
    """
    document = directive.state.document
    if path := resolved(Path(document.current_source or ""), Path(document.settings.root_prefix), name):
        return path
    raise directive.error(f"there is no file {name!r} inside the folder")


def _read(directive: Directive, name: str) -> str:
    path = _inside(directive, name)
    try:
        return read_text(path)
    except IngestionError as error:
        raise directive.error(str(error)) from error
