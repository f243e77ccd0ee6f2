"""The conditions of a plan: filters over the paths that lead to them, and periods. No text is ever put together."""

from __future__ import annotations

from sqlglot import exp

from theworld.sql.mapping import DatabaseMapping, Join, Path
from theworld.sql.plan import Filter, Plan
from theworld.state.tables import Cell
from theworld.text.time_ranges import TimeRange

BASE = "t0"
"""Alias of the rows that a plan is about."""
COMPARED: dict[str, type[exp.Binary]] = {">": exp.GT, ">=": exp.GTE, "<": exp.LT, "<=": exp.LTE}


def column(table: str, name: str) -> exp.Column:
    """Return `table.name`, both quoted."""
    return exp.column(name, table=table, quoted=True)


def table(name: str, alias: str) -> exp.Table:
    """Return a table by its name, which may have a schema before it, under an alias."""
    *schema, last = name.split(".")
    return exp.table_(last, db=schema[0] if schema else None, quoted=True, alias=alias)


class Conditions:
    """The conditions of one plan, their values among the statement's parameters."""

    def __init__(self, plan: Plan, mapping: DatabaseMapping) -> None:
        self._plan, self._mapping = plan, mapping
        self.values: dict[str, Cell] = {}
        """The values of the statement, by the names of its placeholders."""

    def add(self, value: Cell) -> exp.Placeholder:
        """Keep a value; return its placeholder."""
        name = f"p{len(self.values) + 1}"
        self.values[name] = value
        return exp.Placeholder(this=name)

    def within(self, period: TimeRange, alias: str = BASE, way: Path | None = None) -> exp.Expr:
        """Return the condition that a row of `alias`, or what it belongs to over `way`, happened in a period."""
        way = self._plan.time_path if way is None else way
        if way:
            inner = f"w{len(way)}"
            query = self._keys(way[0], inner).where(self.within(period, inner, way[1:]))
            return column(alias, way[0].source_column).isin(query=query)
        cell = column(alias, self._plan.time_column or "")
        ends = [(kind, end) for kind, end in ((exp.GTE, period.start), (exp.LT, period.end)) if end is not None]
        parts = (kind(this=cell.copy(), expression=self.add(end.date().isoformat())) for kind, end in ends)
        return exp.and_(*parts)

    def _keys(self, step: Join, alias: str) -> exp.Select:
        """Return the query for the keys that a step leads to."""
        source = table(self._mapping.classes[step.target].name, alias)
        return exp.select(column(alias, step.target_column)).from_(source)

    def counting(self, alias: str = BASE) -> list[exp.Expr]:
        """Return the conditions of the rows that count at all, such as those that are not deleted."""
        counts = self._mapping.classes[self._plan.base].counts.items()
        return [self._one_of(column(alias, name), (value,)) for name, value in counts]

    def all(self, alias: str = BASE) -> list[exp.Expr]:
        """Return the conditions that the rows of `alias` must meet, those of rows that count at all included."""
        plan = self._plan
        conditions = self.counting(alias)
        for item in plan.filters:
            met = self._reached(item, item.path, alias, 1)
            conditions.append(exp.Not(this=exp.Paren(this=met)) if item.negated else met)
        if plan.shape == "change" and plan.period is not None and plan.earlier is not None:
            conditions.append(exp.or_(self.within(plan.period), self.within(plan.earlier)))
        elif plan.period is not None:
            conditions.append(self.within(plan.period, alias))
        return conditions

    def _reached(self, item: Filter, path: Path, alias: str, depth: int) -> exp.Expr:
        """Return the condition that what a path leads to from the rows of `alias` meets the filter."""
        if not path:
            return self._met(item, alias)
        step, rest, inner = path[0], path[1:], f"f{depth}"
        own = column(alias, step.source_column)
        by_key = not rest and item.column == step.target_column and item.operator == "in" and item.below is None
        if step.link is None:
            if by_key:
                return self._one_of(own, item.values)
            query = self._keys(step, inner).where(self._reached(item, rest, inner, depth + 1))
            if item.negated:  # one NULL among the rows would make "not among them" unknown for all
                query = query.where(_filled(column(inner, step.target_column)))
            return own.isin(query=query)
        ways = [(step.link_source, step.link_target)]
        if self._mapping.lookup.relations[step.relation].symmetric:
            ways.append((step.link_target, step.link_source))
        found = []
        for source, target in ways:
            query = exp.select(column(inner, source)).from_(table(step.link, inner))
            if by_key:
                query = query.where(self._one_of(column(inner, target), item.values))
            elif item.operator != "exists" or rest:
                further = self._keys(step, f"f{depth + 1}")
                further = further.where(self._reached(item, rest, f"f{depth + 1}", depth + 2))
                query = query.where(column(inner, target).isin(query=further))
            found.append(own.isin(query=query))
        return exp.or_(*found)

    def _met(self, item: Filter, alias: str) -> exp.Expr:
        cell = column(alias, item.column)
        if item.operator in {"filled", "exists"}:
            given = cell.neq(exp.Literal.string(""))
            return exp.and_(_filled(cell), given) if item.operator == "filled" and item.values else _filled(cell)
        if item.operator in COMPARED:
            return COMPARED[item.operator](this=cell, expression=self.add(item.values[0]))
        own = self._one_of(cell, item.values)
        if item.below is None:
            return own
        inner = f"{alias}_below"
        below = exp.select(column(inner, item.column)).from_(table(self._mapping.classes[item.class_id].name, inner))
        below = below.where(self._one_of(column(inner, item.below), item.values))
        return exp.or_(own, cell.isin(query=below), self._one_of(column(alias, item.below), item.values))

    def _one_of(self, cell: exp.Column, values: tuple[Cell, ...]) -> exp.Expr:
        marks = [self.add(value) for value in values]
        return cell.eq(marks[0]) if len(marks) == 1 else cell.isin(*marks)


def _filled(cell: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=cell.copy(), expression=exp.Null()))
