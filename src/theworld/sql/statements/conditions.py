"""The conditions of a plan: filters over the paths that lead to them, and periods."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from theworld.sql.engines.protocol import Cell
from theworld.sql.mapping import DatabaseMapping
from theworld.sql.plan import Filter, Path, Plan
from theworld.sql.statements.expressions import Parameters, column, table, within_query
from theworld.text.time_ranges import TimeRange

BASE = "t0"
"""Alias of the rows that a plan is about."""
COMPARED: dict[str, type[exp.Binary]] = {">": exp.GT, ">=": exp.GTE, "<": exp.LT, "<=": exp.LTE}


class Conditions:
    """The conditions of one plan, their values among the statement's parameters."""

    def __init__(self, plan: Plan, mapping: DatabaseMapping, parameters: Parameters) -> None:
        self._plan, self._mapping, self._parameters = plan, mapping, parameters

    def within(self, period: TimeRange, alias: str = BASE) -> exp.Expr:
        """Return the condition that a row of `alias` happened in a period."""
        if self._plan.time_path:
            return self._within_path(period, self._plan.time_path, alias, 1)
        cell = column(alias, self._plan.time_column or "")
        parts: list[exp.Expr] = []
        if period.start is not None:
            parts.append(exp.GTE(this=cell.copy(), expression=self._parameters.add(period.start.date().isoformat())))
        if period.end is not None:
            parts.append(exp.LT(this=cell.copy(), expression=self._parameters.add(period.end.date().isoformat())))
        return exp.and_(*parts)

    def _within_path(self, period: TimeRange, path: Path, alias: str, depth: int) -> exp.Expr:
        """Return the condition that what a path of keys leads to happened in a period."""
        if not path:
            own = Conditions(replace(self._plan, time_path=()), self._mapping, self._parameters)
            return own.within(period, alias)
        step, inner = path[0], f"w{depth}"
        query = exp.select(column(inner, step.target_column))
        query = query.from_(table(self._mapping.classes[step.target].name, inner))
        query = query.where(self._within_path(period, path[1:], inner, depth + 1))
        return within_query(column(alias, step.source_column), query)

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
        step, rest = path[0], path[1:]
        own = column(alias, step.source_column)
        inner = f"f{depth}"
        if step.link is not None:
            relation = self._mapping.lookup.relations[step.relation]
            ways = [(step.link_source, step.link_target)]
            ways += [(step.link_target, step.link_source)] if relation.symmetric else []
            return exp.or_(
                *(self._linked(item, step.link, way, own=own.copy(), path=path, depth=depth) for way in ways)
            )
        name = self._mapping.classes[step.target].name
        ends = not rest and item.column == step.target_column and item.operator == "in" and item.below is None
        if ends:
            return self._one_of(own, item.values)
        query = exp.select(column(inner, step.target_column)).from_(table(name, inner))
        query = query.where(self._reached(item, rest, inner, depth + 1))
        if item.negated:  # one NULL among the rows would make "not among them" unknown for all
            query = query.where(_filled(column(inner, step.target_column)))
        return within_query(own, query)

    def _linked(
        self, item: Filter, link: str, way: tuple[str, str], *, own: exp.Expr, path: Path, depth: int
    ) -> exp.Expr:
        step, rest, alias = path[0], path[1:], f"f{depth}"
        query = exp.select(column(alias, way[0])).from_(table(link, alias))
        if item.operator == "exists" and not rest:
            return within_query(own, query)
        if not rest and item.column == step.target_column and item.operator == "in" and item.below is None:
            return within_query(own, query.where(self._one_of(column(alias, way[1]), item.values)))
        inner = f"f{depth + 1}"
        name = self._mapping.classes[step.target].name
        further = exp.select(column(inner, step.target_column)).from_(table(name, inner))
        further = further.where(self._reached(item, rest, inner, depth + 2))
        return within_query(own, query.where(within_query(column(alias, way[1]), further)))

    def _met(self, item: Filter, alias: str) -> exp.Expr:
        cell = column(alias, item.column)
        if item.operator in {"filled", "exists"}:
            given = exp.NEQ(this=cell.copy(), expression=exp.Literal.string(""))
            return exp.and_(_filled(cell), given) if item.operator == "filled" and item.values else _filled(cell)
        if item.operator in COMPARED:
            return COMPARED[item.operator](this=cell, expression=self._parameters.add(item.values[0]))
        own = self._one_of(cell, item.values)
        if item.below is None:
            return own
        name, inner = self._mapping.classes[item.class_id].name, f"{alias}_below"
        below = exp.select(column(inner, item.column)).from_(table(name, inner))
        below = below.where(self._one_of(column(inner, item.below), item.values))
        return exp.or_(own, within_query(cell.copy(), below), self._one_of(column(alias, item.below), item.values))

    def _one_of(self, cell: exp.Expr, values: tuple[Cell, ...]) -> exp.Expr:
        marks = [self._parameters.add(value) for value in values]
        return exp.EQ(this=cell, expression=marks[0]) if len(marks) == 1 else exp.In(this=cell, expressions=marks)


def _filled(cell: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=cell, expression=exp.Null()))
