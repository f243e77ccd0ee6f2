"""What a statement must be before a database sees it: one bounded read of mapped tables and columns.

The check works on sqlglot's tree with lists of what is allowed; what is sent is generated from the checked tree, never
the text that was given. Every table with a tenant column becomes a subquery of that tenant's rows, so that no
condition around it can widen them. String literals become parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope

from theworld.errors import StatementRefusedError
from theworld.sql.engines import Dialect
from theworld.sql.mapping import MappedTable
from theworld.state.tables import Cell

MOST_CHARACTERS = 5_000
MOST_NODES = 600
MOST_TABLES = 8
MOST_DEPTH = 60
TENANT_PARAMETER = "tenant"
_ALLOWED: frozenset[type[exp.Expr]] = frozenset(
    {exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit}
    | {exp.Distinct, exp.Subquery, exp.Table, exp.TableAlias, exp.Column, exp.Identifier, exp.Alias, exp.With, exp.CTE}
    | {exp.Literal, exp.Null, exp.Boolean, exp.Placeholder, exp.Paren, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE}
    | {exp.LT, exp.LTE, exp.Between, exp.In, exp.Is, exp.Like, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Star}
    | {exp.DataType, exp.UnixToTime, exp.AtTimeZone}
    | {exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Abs, exp.Round, exp.Coalesce, exp.Nullif, exp.Sqrt}
    | {exp.TimeToStr, exp.TsOrDsToTimestamp, exp.DateDiff, exp.Extract, exp.Var, exp.Anonymous}
    | {exp.Cast, exp.Case, exp.If, exp.And, exp.Or}
)
_TIME_FORMATS = [exp.Literal.string(form) for form in ("%Y", "%m", "%Y-%m", "%Y-%m-%d", "%Y-%m-%d %H:%M:%S")]
_CAST_TYPES = frozenset({exp.DType.INT, exp.DType.BIGINT, exp.DType.DOUBLE, exp.DType.TIMESTAMP})
_NAME = re.compile(r"[\w ]{1,100}")
_LIMITS: tuple[tuple[type[exp.Expr], Callable[[Any], object], str], ...] = (
    (exp.TimeToStr, lambda n: n.args.get("format") in _TIME_FORMATS, "dates are only formatted as year, month or day"),
    (exp.Cast, lambda n: n.to.this in _CAST_TYPES, "casts are only to numbers and times"),
    (exp.Anonymous, lambda n: n.name.upper() == "JULIANDAY", "of functions unknown here only JULIANDAY is called"),
    (exp.Extract, lambda n: n.this.name.upper() == "EPOCH", "of a time only the EPOCH is extracted"),
    (exp.Var, lambda n: isinstance(n.parent, exp.Extract | exp.DateDiff), "bare words only name a part of a time"),
    (exp.Join, lambda n: n.side in {"", "LEFT"} and n.kind in {"", "INNER"}, "joins are only INNER or LEFT"),
    (exp.Join, lambda n: not n.method and not n.args.get("using"), "joins only have ON"),
    (exp.With, lambda n: not n.args.get("recursive"), "WITH RECURSIVE is not allowed"),
    (exp.Star, lambda n: isinstance(n.parent, exp.Count | exp.Select), "* only stands in COUNT and SELECT"),
    (exp.Limit, lambda n: isinstance(n.expression, exp.Literal) and n.expression.is_int, "LIMIT is a number"),
    (exp.Like, lambda n: len(n.expression.name) <= 50, "patterns have at most 50 characters"),
)
"""What a node of a type must meet, and what is said otherwise."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A checked statement, ready for an engine."""

    sql: str
    parameters: Mapping[str, Cell]


def refused(why: str) -> StatementRefusedError:
    """Return the error that says why a statement is not run."""
    return StatementRefusedError(
        f"the statement is refused: {why}", where="sql", remedy="Only one SELECT over mapped tables and columns is run."
    )


def parse_statement(text: str, dialect: Dialect) -> exp.Expr:
    """Return the tree of one statement written by somebody else (a language model); else StatementRefusedError."""
    if len(text) > MOST_CHARACTERS:
        raise refused(f"it has {len(text)} characters, at most {MOST_CHARACTERS} are read")
    if any(ord(c) < 32 and c not in "\n\t\r" for c in text):
        raise refused("it holds control characters")
    word = text.split(maxsplit=1)[0].upper() if text.split() else "nothing"
    if not word.startswith(("SELECT", "WITH")):
        raise refused(f"only SELECT is run, not {word[:20]}")
    try:
        trees = sqlglot.parse(text, read=dialect)
    except (SqlglotError, RecursionError, ValueError) as error:
        raise refused(f"it cannot be read ({next(iter(str(error).splitlines()), 'too deep')})") from error
    if len(trees) != 1 or trees[0] is None:
        raise refused(f"one statement is expected, {len(trees)} were given")
    return trees[0]


def check_statement(
    tree: exp.Expr,
    tables: Mapping[str, MappedTable],
    *,
    dialect: Dialect,
    tenant: str,
    max_rows: int,
    parameters: Mapping[str, Cell] | None = None,
) -> Statement:
    """Return the statement that may be run in place of a tree, its rows limited to `max_rows` + 1.

    `parameters` are those the tree's placeholders name. Raises StatementRefusedError naming what is not allowed.
    """
    try:
        return _Check(tables, dialect, tenant, max_rows, dict(parameters or {})).run(tree.copy())
    except (SqlglotError, RecursionError) as error:
        raise refused(next(iter(str(error).splitlines()), "too deep")) from error


def open_to_all(tree: exp.Expr) -> exp.Expr:
    """Return a checked statement with whole tables again in the place of a tenant's rows, to be checked anew."""
    tree = tree.copy()
    for rows in list(tree.find_all(exp.Subquery)):
        where = rows.this.args.get("where")
        value = where.this.args.get("expression") if where is not None else None
        if isinstance(value, exp.Placeholder) and value.name == TENANT_PARAMETER:
            table = rows.this.args["from_"].this.copy()
            table.set("alias", rows.args["alias"].copy())
            rows.replace(table)
    return tree


def _rename(named: exp.Table | exp.Column, name: str) -> None:
    """Give a table, with what stands before it, or a column a name to the letter."""
    written = name.split(".") if isinstance(named, exp.Table) else [name]
    for part, own in zip(named.parts[-len(written) :], written, strict=True):
        part.replace(exp.to_identifier(own, quoted=True))


@dataclass(frozen=True)
class _Check:
    _tables: Mapping[str, MappedTable]
    _dialect: Dialect
    _tenant: str
    _max_rows: int
    _parameters: dict[str, Cell]

    def run(self, tree: exp.Expr) -> Statement:
        """Check, restrict, and generate."""
        if type(tree) is not exp.Select:
            raise refused(f"only SELECT is run, not {tree.key.upper()}")
        nodes = list(tree.walk())
        if len(nodes) > MOST_NODES or max(node.depth for node in nodes) > MOST_DEPTH:
            raise refused("it is too large")
        for node in nodes:
            node.comments = None
            if type(node) not in _ALLOWED:
                raise refused(f"{node.key.upper().replace('_', ' ')} is not allowed")
            if isinstance(node, exp.Placeholder) and node.name not in self._parameters:
                raise refused(f"the parameter {node.name or '?'} has no value")
            broken = next((why for kind, allowed, why in _LIMITS if isinstance(node, kind) and not allowed(node)), None)
            if broken:
                raise refused(f"{broken}: {node.sql()[:40]}")
        self._check_identifiers(tree)
        self._check_names(tree)
        tree = self._qualified(tree)
        for select in tree.find_all(exp.Select):
            self._check_joins(select)
        self._restrict(tree)
        values: dict[str, str] = {}
        for literal in list(tree.find_all(exp.Literal)):
            if literal.is_string and not isinstance(literal.parent, exp.TimeToStr):
                name = values.setdefault(literal.this, f"text_{len(values) + 1}")
                self._parameters[name] = literal.this
                literal.replace(exp.Placeholder(this=name))
        own, most = tree.args.get("limit"), self._max_rows + 1
        if own is None or int(own.expression.this) > most:
            tree.set("limit", exp.Limit(expression=exp.Literal.number(most)))
        return Statement(
            self._written(tree), dict(zip(self._parameters, map(self._sent, self._parameters.values()), strict=True))
        )

    def _sent(self, value: Cell) -> Cell:
        """Return a parameter as it is sent: PostgreSQL takes a text for what the column beside it holds, 1 for TRUE."""
        return str(value) if self._dialect == "postgres" and type(value) is int else value

    def _written(self, tree: exp.Expr) -> str:
        """Return what the engine is sent; in names of PostgreSQL a % would begin a parameter to its driver."""
        for name in tree.find_all(exp.Identifier) if self._dialect == "postgres" else ():
            name.set("this", name.this.replace("%", "%%"))
        return tree.sql(dialect=self._dialect, comments=False)

    def _check_identifiers(self, tree: exp.Expr) -> None:
        """Names of the mapping may hold any character, names that a statement gives its columns and tables may not."""
        known = {name.casefold() for table in self._tables.values() for name in table.columns}
        known |= {part.casefold() for name in self._tables for part in name.split(".")}
        for name in tree.find_all(exp.Identifier):
            if name.name.casefold() not in known and not _NAME.fullmatch(name.name):
                raise refused(f"names that are not mapped only hold letters, digits, _ and blanks: {name.sql()[:40]}")

    def _check_names(self, tree: exp.Expr) -> None:
        """Every table is mapped or a WITH of the statement; names are folded until all are bound."""
        by_name = {name.casefold(): table for name, table in self._tables.items()}
        columns = {column.casefold() for table in self._tables.values() for column in table.columns}
        named = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
        if named & by_name.keys():
            raise refused(f"WITH takes the name of a table: {', '.join(sorted(named & by_name.keys()))}")
        tables = list(tree.find_all(exp.Table))
        if not tables:
            raise refused("it reads no table")
        if len(tables) > MOST_TABLES:
            raise refused(f"it reads {len(tables)} tables, at most {MOST_TABLES} are allowed")
        for table in tables:
            unknown = {k for k, v in table.args.items() if v} - {"this", "alias", "db"}
            if unknown or not isinstance(table.this, exp.Identifier):
                raise refused(f"the table {table.sql()[:60]} has parts that are not allowed")
            name = ".".join(part.name for part in table.parts)
            if name.casefold() in named and not table.db:
                continue
            mapped = by_name.get(name.casefold())
            if mapped is None:
                raise refused(f"the table {name} is not mapped")
            _rename(table, mapped.name.casefold())
        for column in tree.find_all(exp.Column):
            identifier = column.this
            if isinstance(identifier, exp.Identifier) and (folded := identifier.name.casefold()) in columns:
                identifier.replace(exp.to_identifier(folded, quoted=True))

    def _qualified(self, tree: exp.Expr) -> exp.Expr:
        """Return the tree with every column bound to a table; one that is not mapped is refused by name."""
        schema: dict[str, Any] = {}
        schemas = any("." in name for name in self._tables)  # sqlglot wants one depth for all
        for name, table in self._tables.items():
            *above, last = name.casefold().split(".")
            place = schema.setdefault(above[0] if above else "", {}) if schemas else schema
            place[last] = dict.fromkeys(map(str.casefold, table.columns), "UNKNOWN")
        tree = qualify(
            tree, schema=schema, dialect=self._dialect, validate_qualify_columns=True, expand_stars=True, identify=True
        )
        # Bound, every name is written as the mapping writes it: an engine may tell "ID" from "id".
        for scope in traverse_scope(tree):
            tables = {name: self._mapped(source) for name, source in scope.sources.items()}
            for column in scope.columns:
                if (bound := tables.get(column.table)) is not None:
                    _rename(column, next(c for c in bound.columns if c.casefold() == column.name.casefold()))
                    self._read_as_time(column, bound.stamps.get(column.name), shown=scope.is_root)
        for source in tree.find_all(exp.Table):
            if (mapped := self._mapped(source)) is not None:
                _rename(source, mapped.name)
        return tree

    def _read_as_time(self, column: exp.Column, per_second: int | None, *, shown: bool) -> None:
        """Put a time, in UTC, in the place of units since 1970 where they are shown, taken apart or compared."""
        cell = column.parent if isinstance(column.parent, exp.Min | exp.Max) else column
        is_date = isinstance(column.parent, exp.TsOrDsToTimestamp | exp.DateDiff)
        if per_second is None or not (is_date or (shown and isinstance(cell.parent, exp.Alias))):
            return
        sqlite = self._dialect == "sqlite"  # which reads a number as days of the Julian calendar
        since = cell.copy() / exp.Literal.number(f"{per_second * (86_400 if sqlite else 1)}.0")
        utc = exp.AtTimeZone(this=exp.UnixToTime(this=since), zone=exp.Literal.string("UTC"))
        time = exp.Literal.number("2440587.5") + since if sqlite else utc
        cell.replace(time if is_date else exp.TimeToStr(this=time, format=_TIME_FORMATS[-1].copy()))

    def _mapped(self, source: object) -> MappedTable | None:
        """Return the mapped table that a source of a SELECT is, None for a WITH or a SELECT within it."""
        name = ".".join(part.name for part in source.parts).casefold() if isinstance(source, exp.Table) else ""
        return next((table for written, table in self._tables.items() if written.casefold() == name), None)

    def _check_joins(self, select: exp.Select) -> None:
        start, joins = select.args.get("from_"), select.args.get("joins") or []
        sources = {table.alias_or_name: table for table in [*([start.this] if start else []), *(j.this for j in joins)]}

        def is_key(column: exp.Expr) -> bool:
            source = sources.get(column.table) if isinstance(column, exp.Column) else None
            if not isinstance(source, exp.Table):
                return source is not None
            table = self._mapped(source)
            return table is None or column.name in table.keys

        for join in joins:
            on = join.args.get("on")
            parts = [part.unnest() for part in (on.flatten() if isinstance(on, exp.And) else [on]) if part is not None]
            pairs = [(part.this, part.expression) for part in parts if isinstance(part, exp.EQ)]
            if not any(is_key(a) and is_key(b) and a.table != b.table for a, b in pairs):
                raise refused("a join must compare the keys of two tables")

    def _restrict(self, tree: exp.Expr) -> None:
        """Put the tenant's rows in the place of every table that says whose they are."""
        for table in list(tree.find_all(exp.Table)):
            mapped = self._mapped(table)
            if mapped is None or mapped.tenant is None:
                continue
            alias, bare = table.alias_or_name, table.copy()
            bare.set("alias", None)
            own = exp.column(mapped.tenant, quoted=True).eq(exp.Placeholder(this=TENANT_PARAMETER))
            rows = exp.select(*(exp.column(c, quoted=True) for c in mapped.columns))
            quoted = exp.to_identifier(alias, quoted=True)
            table.replace(rows.from_(bare).where(own).subquery(alias=exp.TableAlias(this=quoted)))
            self._parameters[TENANT_PARAMETER] = self._tenant
