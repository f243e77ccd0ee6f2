"""Where the functions and types of source code lie, by the grammars of tree-sitter that are installed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

GRAMMARS = {
    ".js": ("tree_sitter_javascript", "language"),
    ".mjs": ("tree_sitter_javascript", "language"),
    ".cjs": ("tree_sitter_javascript", "language"),
    ".jsx": ("tree_sitter_javascript", "language"),
    ".ts": ("tree_sitter_typescript", "language_typescript"),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".java": ("tree_sitter_java", "language"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".c": ("tree_sitter_c", "language"),
    ".h": ("tree_sitter_cpp", "language"),
    ".cc": ("tree_sitter_cpp", "language"),
    ".cpp": ("tree_sitter_cpp", "language"),
    ".cxx": ("tree_sitter_cpp", "language"),
    ".hh": ("tree_sitter_cpp", "language"),
    ".hpp": ("tree_sitter_cpp", "language"),
}
"""Module and function of the grammar, by file ending."""

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


def symbols_of(text: str, extension: str) -> list[Symbol]:
    """Return the outermost symbols of some code; none without a grammar for its ending."""
    parser = _parser(extension)
    if parser is None:
        return []
    try:
        return list(_symbols(parser.parse(text.encode()).root_node))
    except RecursionError:  # made by a program, nested a thousand times
        return []


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
        named = node.child_by_field_name("name") or _declared(node)
    else:
        named = None
    return " ".join(named.text.decode().split()) if named is not None and named.text else None


def _declared(node: Node) -> Node | None:
    """Return what a declarator of C names, below pointers and parameters."""
    inner = node.child_by_field_name("declarator")
    while inner is not None and (deeper := inner.child_by_field_name("declarator")) is not None:
        inner = deeper
    return inner
