"""Small pieces of SQL as sqlglot trees; no text is ever put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from theworld.ontology import Attribute
from theworld.sql.engines.protocol import Cell


@dataclass
class Parameters:
    """The values of one statement, by the names of its placeholders."""

    values: dict[str, Cell] = field(default_factory=dict)

    def add(self, value: Cell) -> exp.Placeholder:
        """Keep a value; return its placeholder."""
        name = f"p{len(self.values) + 1}"
        self.values[name] = value
        return exp.Placeholder(this=name)


def column(table: str, name: str) -> exp.Column:
    """Return `table.name`, both quoted."""
    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True))


def amount(table: str, measure: Attribute) -> exp.Expr:
    """Return the number of a measure: its column, times others, less a share where there is one."""
    cell: exp.Expr = column(table, measure.column or "")
    for other in measure.times:
        cell = exp.Mul(this=cell, expression=column(table, other))
    if measure.less is not None:
        rest = exp.Sub(this=exp.Literal.number(1), expression=column(table, measure.less))
        cell = exp.Mul(this=cell, expression=exp.Paren(this=rest))
    return cell


def table(name: str, alias: str) -> exp.Table:
    """Return a table by its name, which may have a schema before it, under an alias."""
    *schema, last = name.split(".")
    return exp.table_(
        exp.to_identifier(last, quoted=True),
        db=exp.to_identifier(schema[0], quoted=True) if schema else None,
        alias=alias,
    )


def when(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Return the value where a condition holds, else NULL."""
    return exp.Case(ifs=[exp.If(this=condition, true=value)])


def case(ways: list[tuple[exp.Expr, Any]], default: Any) -> exp.Case:
    """Return a number by conditions, the first that holds."""
    ifs = [exp.If(this=condition, true=exp.Literal.number(value)) for condition, value in ways]
    return exp.Case(ifs=ifs, default=exp.Literal.number(default))


def within_query(cell: exp.Expr, query: exp.Select) -> exp.Expr:
    """Return the condition that a cell is among the rows of a query."""
    return exp.In(this=cell, query=query.subquery())


def formatted(cell: exp.Expr, form: str) -> exp.Expr:
    """Return a moment as text, by a format of strftime."""
    return exp.TimeToStr(this=exp.TsOrDsToTimestamp(this=cell), format=exp.Literal.string(form))
