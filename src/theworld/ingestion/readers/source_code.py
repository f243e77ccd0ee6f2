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
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from theworld.ingestion.blocks import Block
from theworld.ingestion.readers.document import SourceDocument, require_text
from theworld.ingestion.readers.encoding import read_text
from theworld.ingestion.readers.source_symbols import GRAMMARS, Symbol, symbols_of

_OTHER = (
    ".cs .rb .php .sh .bash .zsh .ps1 .bat .sql .kt .kts .swift .scala .groovy .gradle .lua .pl .pm .r .jl .dart .ex "
    ".exs .erl .hs .ml .clj .vue .svelte .css .scss .less .proto .graphql .tf .hcl .cmake .m .mm"
).split()
_CONFIGURATION = ".json .json5 .jsonc .yaml .yml .toml .ini .cfg .conf .properties .xml .xsd .log".split()
EXTENSIONS = (".py", ".pyi", *GRAMMARS, *_OTHER, *_CONFIGURATION)

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_ABOVE = re.compile(r"[ \t]*(?://|/\*|\*|--|@|#\[|#[ \t!:]|#\r?$)")
"""A comment, decorator or attribute."""
_CLOSES = re.compile(r"[ \t})\]]|end\b|else\b|</")


def read(path: Path) -> Iterator[SourceDocument]:
    """Yield the file's one document, titled by its name; none of an empty file, which code has for its own reasons."""
    if path.is_file() and not path.stat().st_size:
        return
    text = require_text(read_text(path), path)
    symbols = _python(text) if path.suffix.lower() in {".py", ".pyi"} else symbols_of(text, path.suffix.lower())
    yield SourceDocument(path.name, text, blocks=tuple(code_blocks(text, symbols)))


def code_blocks(text: str, symbols: Sequence[Symbol] = ()) -> Iterator[Block]:
    """Yield the blocks of a text in order: those of its symbols, and what lies between them."""
    yield from _Blocks(text).of(symbols)


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of a text, by number from 0."""

    text: str
    spans: Sequence[tuple[int, int]]

    def __getitem__(self, number: int) -> str:
        return self.text[slice(*self.spans[number])]

    def is_blank(self, number: int) -> bool:
        """Return whether there is nothing in a line."""
        return not self[number].strip()

    def starts(self, number: int, first: int) -> bool:
        """Return whether something new begins in a line: after a blank one, not indented, closing nothing."""
        return number > first and self.is_blank(number - 1) and not _CLOSES.match(self[number])

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return where lines begin and end, without the line break and blank lines around them."""
        start, end = self.spans[first][0], self.spans[last - 1][1]
        piece = self.text[start:end]
        return start + len(piece) - len(piece.lstrip("\r\n\ufeff")), start + len(piece.rstrip())

    def divided(self, first: int, last: int, cuts: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield the spans between line numbers, those that hold something."""
        for begin, stop in zip([first, *cuts], [*cuts, last], strict=True):
            if any(not self.is_blank(number) for number in range(begin, stop)):
                yield self.span(begin, stop)


class _Blocks:
    def __init__(self, text: str) -> None:
        self._lines = _Lines(text, [match.span() for match in _LINE.finditer(text)])

    def of(self, symbols: Sequence[Symbol]) -> Iterator[Block]:
        yield from self._within(symbols, 0, len(self._lines.spans), ())

    def _within(self, symbols: Sequence[Symbol], first: int, last: int, section: tuple[str, ...]) -> Iterator[Block]:
        """Yield the blocks of the lines from `first` to before `last`."""
        at = first
        for symbol in symbols:
            begin = self._with_comments(max(symbol.first, at), at)
            stop = min(symbol.last + 1, last)
            if stop <= begin:
                continue
            yield from self._between(at, begin, section)
            path = (*section, symbol.name)
            if symbol.inner:
                yield from self._within(symbol.inner, begin, stop, path)
            else:
                yield self._block(begin, stop, path, max(symbol.signature, begin))
            at = stop
        yield from self._between(at, last, section)

    def _with_comments(self, number: int, least: int) -> int:
        while number > least and _ABOVE.match(self._lines[number - 1]):
            number -= 1
        return number

    def _between(self, first: int, last: int, section: tuple[str, ...]) -> Iterator[Block]:
        """Yield blocks of what is no symbol: within a class as one, in a file from blank line to blank line."""
        lines = self._lines
        cuts = [] if section else [number for number in range(first, last) if lines.starts(number, first)]
        for begin, stop in zip([first, *cuts], [*cuts, last], strict=True):
            if any(lines[number].strip(" \t\r\n})];") for number in range(begin, stop)):
                yield self._block(begin, stop, section)

    def _block(self, first: int, last: int, section: tuple[str, ...], signature: int | None = None) -> Block:
        """Return lines as a block, divided at blank lines, else before lines that are not indented."""
        lines = self._lines
        cuts = [number for number in range(first + 1, last) if lines.is_blank(number - 1)]
        if not cuts:
            cuts = [number for number in range(first + 1, last) if not _CLOSES.match(lines[number])]
        lead = lines.span(signature, signature + 1) if signature is not None else None
        return Block("code", *lines.span(first, last), section, tuple(lines.divided(first, last, cuts)), lead)


def _python(text: str) -> list[Symbol]:
    """Return the classes and functions of Python code; none where it does not parse."""
    if re.search(r"\r(?!\n)", text):
        return []  # lines are counted in another way
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the code that is read, such as invalid escapes
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [_symbol(node) for node in tree.body if isinstance(node, _Definition)]


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _symbol(node: _Definition) -> Symbol:
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    symbol = Symbol(node.name, first - 1, node.lineno - 1, (node.end_lineno or node.lineno) - 1)
    if not isinstance(node, ast.ClassDef):
        return symbol
    return replace(symbol, inner=tuple(_symbol(one) for one in node.body if isinstance(one, _Definition)))
