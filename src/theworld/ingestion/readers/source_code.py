"""Source code and configuration: the file as it is written, in blocks that stand by themselves.

1. Python by its own parser, some languages by tree-sitter where it is installed (extra `documents`): a function or
   method is a block with the decorators and comments above it, under the names of its classes and its own. What lies
   between them (imports, constants, a class's head) is a block of the class or the file.
2. Anything else, and what does not parse: blocks end at blank lines before a line that is not indented and closes
   nothing.
A block above the limit of a note is divided at its blank lines; its signature goes with every piece.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from theworld.ingestion.notes import Block
from theworld.ingestion.readers.chat import chat_of
from theworld.ingestion.readers.document import SourceDocument, read_text, require_text
from theworld.text.sentences import outer_pieces

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

GRAMMARS = {
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), ("tree_sitter_javascript", "language")),
    ".ts": ("tree_sitter_typescript", "language_typescript"),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".java": ("tree_sitter_java", "language"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".c": ("tree_sitter_c", "language"),
    **dict.fromkeys((".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp"), ("tree_sitter_cpp", "language")),
}
"""Module and function of the grammar, by file ending."""
_OTHER = (
    ".cs .rb .php .sh .bash .zsh .ps1 .bat .sql .kt .kts .swift .scala .groovy .gradle .lua .pl .pm .r .jl .dart .ex "
    ".exs .erl .hs .ml .clj .vue .svelte .css .scss .less .proto .graphql .tf .hcl .cmake .m .mm"
).split()
_CONFIGURATION = ".json .json5 .jsonc .yaml .yml .toml .ini .cfg .conf .properties .xml .xsd .log".split()
EXTENSIONS = (".py", ".pyi", *GRAMMARS, *_OTHER, *_CONFIGURATION)

LONGEST_READABLE, LONGEST_JSON = 500, 20_000_000
"""Characters of a line of JSON, where one is longer, the file was written for programs; of a file that is parsed."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_ABOVE = re.compile(r"[ \t]*(?://|/\*|\*|--|@|#\[|#[ \t!:]|#\r?$)")
"""A comment, decorator or attribute."""
_ESCAPED = re.compile(r"(?<!\\)(?:\\u[\da-fA-F]{4})+")
"""Characters of properties of Java by their numbers, which are read as in JSON."""
_CLOSES = re.compile(r"[ \t})\]]|end\b|else\b|</")

_FUNCTIONS = frozenset(
    "function_declaration generator_function_declaration method_definition method_declaration constructor_declaration "
    "function_item macro_definition function_definition".split()
)
_TYPES = frozenset(
    "class_declaration abstract_class_declaration interface_declaration enum_declaration type_alias_declaration "
    "internal_module module record_declaration annotation_type_declaration type_spec struct_item enum_item union_item "
    "trait_item impl_item mod_item namespace_definition class_specifier struct_specifier union_specifier "
    "enum_specifier".split()
)
_VALUES = frozenset("arrow_function function_expression generator_function class".split())
"""What makes a constant a function or class: `const f = () => ...`."""
_WRAPPERS = frozenset(
    "export_statement template_declaration lexical_declaration variable_declaration type_declaration".split()
)
"""What a symbol begins with: `export`, `template <...>`, `const`."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named function or type; lines are counted from 0."""

    name: str
    first: int
    """First line, of its decorators where they belong to it."""
    signature: int
    """The line that names it."""
    last: int
    """Last line, included."""
    inner: tuple[Symbol, ...] = ()
    """What a type holds."""


def read(path: Path, root: Path | None = None) -> Iterator[SourceDocument]:
    """Yield the file's one document, titled by its name; none of an empty file, which code has for its own reasons.

    Of chats in JSON, the people may be named in the folder `root`.
    """
    if path.is_file() and not path.stat().st_size:
        return
    text, kind = read_text(path), path.suffix.lower()
    if kind == ".json":
        data = _parsed(text)
        if chat := chat_of(data, path, root or path.parent):
            yield chat
            return
        text = _in_lines(text, data)
    elif kind == ".properties":
        text = _ESCAPED.sub(lambda escaped: json.loads(f'"{escaped[0]}"'), text)
    text = require_text(text, path)
    if kind == ".json" and text.lstrip("\ufeff \t\r\n").startswith("["):
        entries = outer_pieces(text, 0, len(text.rstrip()))
        blocks = [Block("table", 0, len(text.rstrip()), parts=tuple(entries))]
    else:
        code = _Code(text)
        blocks = list(code.within(symbols_of(text, kind), 0, len(code.lines), ()))
    yield SourceDocument(path.name, text, blocks=tuple(blocks))


def _parsed(text: str) -> object:
    """Return what JSON stands for, None where it is none or too long."""
    with suppress(ValueError, RecursionError):
        return json.loads(text) if len(text) <= LONGEST_JSON else None
    return None


def _in_lines(text: str, data: object) -> str:
    """Return JSON of lines too long to be read, or of escaped characters, an entry a line; any other text as it is."""
    longest = max(map(len, text.splitlines()), default=0)
    if data is not None and (longest > LONGEST_READABLE or "\\u" in text):
        with suppress(RecursionError):
            return json.dumps(data, ensure_ascii=False, indent=1)
    return text


class _Code:
    """A text by its lines, which are numbered from 0."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = [match.span() for match in _LINE.finditer(text)]
        self.lines = [text[slice(*span)] for span in self._spans]

    def within(self, symbols: Sequence[Symbol], first: int, last: int, section: tuple[str, ...]) -> Iterator[Block]:
        """Yield the blocks of the lines from `first` to before `last`."""
        at = first
        for symbol in symbols:
            begin, stop = max(symbol.first, at), min(symbol.last + 1, last)
            while begin > at and _ABOVE.match(self.lines[begin - 1]):
                begin -= 1
            if stop <= begin:
                continue
            yield from self._between(at, begin, section)
            path = (*section, symbol.name)
            if symbol.inner:
                yield from self.within(symbol.inner, begin, stop, path)
            else:
                yield self._block(begin, stop, path, max(symbol.signature, begin))
            at = stop
        yield from self._between(at, last, section)

    def _between(self, first: int, last: int, section: tuple[str, ...]) -> Iterator[Block]:
        """Yield blocks of what is no symbol: within a class as one, in a file from blank line to blank line."""
        lines, inside = self.lines, range(first + 1, last if not section else first)
        # Something new begins after a blank line, not indented, closing nothing.
        cuts = [number for number in inside if not lines[number - 1].strip() and not _CLOSES.match(lines[number])]
        for begin, stop in pairwise([first, *cuts, last]):
            if any(line.strip(" \t\r\n})];") for line in lines[begin:stop]):
                yield self._block(begin, stop, section)

    def _block(self, first: int, last: int, section: tuple[str, ...], signature: int | None = None) -> Block:
        """Return lines as a block, divided at blank lines, else before lines that are not indented."""
        lines, inside = self.lines, range(first + 1, last)
        cuts = [number for number in inside if not lines[number - 1].strip()]
        pieces = pairwise([first, *(cuts or (number for number in inside if not _CLOSES.match(lines[number]))), last])
        parts = tuple(self._span(begin, stop) for begin, stop in pieces if any(map(str.strip, lines[begin:stop])))
        lead = self._span(signature, signature + 1) if signature is not None else None
        return Block("code", *self._span(first, last), section, parts, lead)

    def _span(self, first: int, last: int) -> tuple[int, int]:
        """Return where lines begin and end, without the line break and blank lines around them."""
        start, end = self._spans[first][0], self._spans[last - 1][1]
        piece = self._text[start:end]
        return start + len(piece) - len(piece.lstrip("\r\n\ufeff")), start + len(piece.rstrip())


def symbols_of(text: str, extension: str) -> list[Symbol]:
    """Return the outermost symbols of some code; none where it does not parse, or without a grammar for its ending."""
    parser = _parser(extension)
    if parser is None and (extension not in {".py", ".pyi"} or re.search(r"\r(?!\n)", text)):
        return []  # lines that a carriage return alone ends are counted in another way
    try:
        if parser is not None:
            return list(_symbols(parser.parse(text.encode()).root_node))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the code that is read, such as invalid escapes
            return _defined(ast.parse(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # nested a thousand times, for instance
        return []


def _defined(body: Sequence[ast.stmt]) -> list[Symbol]:
    found = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            inner = tuple(_defined(node.body)) if isinstance(node, ast.ClassDef) else ()
            last = (node.end_lineno or node.lineno) - 1
            found.append(Symbol(node.name, first - 1, node.lineno - 1, last, inner))
    return found


@cache
def _parser(extension: str) -> Parser | None:
    if extension not in GRAMMARS:
        return None
    module, function = GRAMMARS[extension]
    try:
        from tree_sitter import Language, Parser

        return Parser(Language(getattr(import_module(module), function)()))
    except ModuleNotFoundError:
        return None


def _symbols(node: Node, wrapper: Node | None = None) -> Iterator[Symbol]:
    """Yield the symbols within a node that are in no other symbol; what is inside a function is its own affair."""
    for child in node.named_children:
        name = _name(child)
        if name is None:
            yield from _symbols(child, (wrapper or child) if child.type in _WRAPPERS else None)
            continue
        body = child.child_by_field_name("body")
        inner = tuple(_symbols(body)) if body is not None and child.type in _TYPES else ()
        row = (child.child_by_field_name("name") or child).start_point.row
        yield Symbol(name, (wrapper or child).start_point.row, row, child.end_point.row, inner)


def _name(node: Node) -> str | None:
    """Return a symbol's name, None for what is none."""
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        named = node.child_by_field_name("name") if value is not None and value.type in _VALUES else None
    elif node.type.endswith("_specifier"):  # the name of a type alone is its use
        named = node.child_by_field_name("name") if node.child_by_field_name("body") is not None else None
    elif node.type == "impl_item":
        named = node.child_by_field_name("type")
    elif node.type in _FUNCTIONS or node.type in _TYPES:
        named = node.child_by_field_name("name") or node.child_by_field_name("declarator")
        while named is not None and (deeper := named.child_by_field_name("declarator")) is not None:
            named = deeper  # what a declarator of C names, below pointers and parameters
    else:
        named = None
    return " ".join(named.text.decode().split()) if named is not None and named.text else None
