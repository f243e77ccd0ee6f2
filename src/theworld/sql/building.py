"""A plan into SQL, as a sqlglot tree from the first node to the last: no text is ever put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date

from sqlglot import exp

from theworld.ontology import Attribute
from theworld.sql.mapping import DatabaseMapping, Join, Path
from theworld.sql.plan import Filter, Group, Plan
from theworld.state.tables import Cell
from theworld.text.calendar import CalendarUnit
from theworld.text.time_ranges import TimeRange
from theworld.text.tokens import Language

BASE = "t0"
"""Alias of the rows that a plan is about."""
COMPARED: dict[str, type[exp.Binary]] = {"=": exp.EQ, ">": exp.GT, ">=": exp.GTE, "<": exp.LT, "<=": exp.LTE}
_FORMATS = {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
_AGGREGATES: dict[str, type[exp.AggFunc]] = {"sum": exp.Sum, "average": exp.Avg, "min": exp.Min, "max": exp.Max}


def build(plan: Plan, mapping: DatabaseMapping, language: Language) -> tuple[exp.Select, dict[str, Cell]]:
    """Return the statement of a plan and its parameters; names of rows are in the language."""
    builder = _Builder(plan, mapping, language)
    shapes = {"volatility": builder.volatility, "list": builder.rows, "latest": builder.latest}
    return shapes.get(plan.shape, builder.figures)(), builder.parameters


class _Builder:
    """The statement of one plan, the values of its conditions among its parameters."""

    def __init__(self, plan: Plan, mapping: DatabaseMapping, language: Language) -> None:
        self._plan, self._mapping, self._language = plan, mapping, language
        self.parameters: dict[str, Cell] = {}
        """The values that conditions compare with, by the names of their placeholders."""
        self._table = mapping.classes[plan.base]
        self._moment = column(f"p{len(plan.time_path)}" if plan.time_path else BASE, plan.time_column or "")
        """When a row happened: a column of its own, or of what it is a line of."""
        cells = (column(BASE, attribute.column or "") for attribute in plan.shown)
        self._shown = [_named(cell, f"shown_{i}") for i, cell in enumerate(cells, 1)]

    def figures(self) -> exp.Select:
        """Return the statement of one figure, of groups, or of periods."""
        plan = self._plan
        select, grouped, shown = self._grouped(plan.group)
        if plan.time_unit is not None:
            period = self._period(plan.time_unit)
            shown.append(_named(period, "period"))
            grouped = [*grouped, period]
        values = self._values()
        select = select.select(*shown, *(_named(cell, name) for name, cell in values.items()))
        select = select.where(*self._conditions(), *map(_filled, self._of_each()))
        if not grouped:
            return select
        select = select.group_by(*(cell.copy() for cell in grouped))
        if plan.time_unit is not None and plan.shape != "top":
            return select.order_by(*_ordered(grouped[::-1]))
        return self._ranked(select, "change" if plan.shape == "change" else "value", grouped)

    def _ranked(self, select: exp.Select, name: str, grouped: Sequence[exp.Expr]) -> exp.Select:
        key = exp.column(name, quoted=True)
        select = select.order_by(exp.Ordered(this=key, desc=self._plan.descending), *_ordered(grouped[::-1]))
        return select.limit(self._plan.limit) if self._plan.limit else select

    def _from(self) -> exp.Select:
        """Return a query over the plan's rows, joined with what leads to things counted once each, and to the time."""
        owner = self._plan.distinct or self._plan.per
        path = owner.path[: None if owner.attribute else -1] if owner else ()
        select = self._joined(exp.select().from_(table(self._table.name, BASE)), path, "d")[0]
        by_time = self._plan.time_unit or self._plan.per_unit
        return self._joined(select, self._plan.time_path if by_time else (), "p")[0]

    def _joined(self, select: exp.Select, path: Path, prefix: str) -> tuple[exp.Select, str]:
        alias = BASE
        for i, step in enumerate(path, start=1):
            target = f"{prefix}{i}"
            on = column(alias, step.source_column).eq(column(target, step.target_column))
            select = select.join(table(self._mapping.classes[step.target].name, target), on=on)
            alias = target
        return select, alias

    def _value(self, condition: exp.Expr | None = None) -> exp.Expr:
        """Return what the plan measures, with a condition only of the rows that meet it."""
        plan = self._plan
        counted = exp.Count(this=column(BASE, self._table.key))
        if of_each := self._of_each():  # a total divided by how many of something the rows belong to
            total = counted if plan.measure is None else exp.Sum(this=_amount(plan.measure))
            number = exp.Count(this=exp.Distinct(expressions=of_each))
            return total * 1.0 / exp.Nullif(this=number, expression=exp.Literal.number(0))
        if plan.distinct is not None:
            return exp.Count(this=exp.Distinct(expressions=[self._key(plan.distinct)]))
        rows = plan.aggregate == "count" or plan.measure is None
        cell = column(BASE, self._table.key) if plan.measure is None or rows else _amount(plan.measure)
        if condition is not None:
            cell = exp.Case(ifs=[exp.If(this=condition, true=cell)])
        return exp.Count(this=cell) if rows else _AGGREGATES[plan.aggregate](this=cell)

    def _of_each(self) -> list[exp.Expr]:
        """Return what tells the things, or the periods, apart that a total is divided by the number of."""
        if self._plan.per_unit is not None:
            return [self._period(self._plan.per_unit)]
        return [self._key(self._plan.per)] if self._plan.per is not None else []

    def _key(self, owner: Group) -> exp.Column:
        """Return the key of the instance that a row belongs to, or its attribute, which `_from` joins it with."""
        path = owner.path
        if owner.attribute is not None:
            return column(f"d{len(path)}" if path else BASE, owner.attribute.column or "")
        return column(f"d{len(path) - 1}" if len(path) > 1 else BASE, path[-1].source_column)

    def _values(self) -> dict[str, exp.Expr]:
        """Return the figures by name: one, the parts of a share, or those of a change."""
        plan = self._plan
        if plan.shape == "share":
            part = self._value()
            if plan.divisor is not None:
                whole: exp.Expr = _AGGREGATES[plan.aggregate](this=_amount(plan.divisor))
            else:
                rows = self._conditions() if plan.group is not None else self._counting()
                rows += [self._within(plan.period)] if plan.group is None and plan.period is not None else []
                whole = self._from().select(self._value()).where(*rows).subquery()
            share = 100.0 * part / exp.Nullif(this=whole.copy(), expression=exp.Literal.number(0))
            return {"value": part, "whole": whole, "share": share}
        if plan.shape != "change" or plan.period is None or plan.earlier is None:
            return {"value": self._value()}
        now, before = (self._value(self._within(period)) for period in (plan.period, plan.earlier))
        if plan.aggregate in {"sum", "count"}:
            now, before = (exp.Coalesce(this=item, expressions=[exp.Literal.number(0)]) for item in (now, before))
        return {"value": now, "earlier": before, "change": now - before}

    def latest(self) -> exp.Select:
        """Return the statement for the rows at the last time, or that of each instance, that meet the conditions."""
        plan, moment = self._plan, self._plan.time_column or ""
        end = exp.Max if plan.descending else exp.Min
        inner = exp.select(_named(end(this=column("own", moment)), "moment")).from_(table(self._table.name, "own"))
        inner = inner.where(*self._conditions("own"))
        select, names, called = self._grouped(plan.group or Group((), plan.base))
        if plan.group is None:
            select = select.where(column(BASE, moment).isin(query=inner))
        else:
            owner = plan.group.path[0].source_column
            inner = inner.select(_named(column("own", owner), "owner")).group_by(column("own", owner))
            last = [column(BASE, own).eq(column("latest", its)) for own, its in ((owner, "owner"), (moment, "moment"))]
            select = select.join(inner.subquery(alias="latest"), on=exp.and_(*last))
        select = select.select(*called, _named(column(BASE, moment), "moment"), *self._shown)
        cells = [one.this for one in self._shown]
        return select.where(*self._conditions()).order_by(*_ordered([*names[::-1], *cells]))

    def _grouped(self, group: Group | None) -> tuple[exp.Select, list[exp.Expr], list[exp.Expr]]:
        """Return the query joined with what rows are put together by, the columns that tell it apart, and those shown.

        An instance is told apart by its name, then its first name, then its key; the key is not shown beside a name.
        """
        if group is None:
            return self._from(), [], []
        select, alias = self._joined(self._from(), group.path, "t")
        mapped = self._mapping.classes[group.class_id]
        label, given = mapped.label.of(self._language), mapped.given
        if group.attribute is not None:
            names = [group.attribute.column or ""]
        else:
            names = [label, given or mapped.key, mapped.key] if label else [mapped.key]
        cells: list[exp.Expr] = [column(alias, name) for name in dict.fromkeys(names)]
        shown = [_named(cells[0], "name_1")]
        return select, cells, shown if given is None or len(cells) == 1 else [*shown, _named(cells[1], "given")]

    def _period(self, unit: CalendarUnit, moment: exp.Expr | None = None) -> exp.Expr:
        """Return the period of a row's time, or another, as text; a quarter as a number, 20241."""
        cell = exp.TsOrDsToTimestamp(this=(moment or self._moment).copy())
        if unit in _FORMATS:
            return exp.TimeToStr(this=cell, format=exp.Literal.string(_FORMATS[unit]))
        texts = (exp.TimeToStr(this=cell.copy(), format=exp.Literal.string(form)) for form in ("%m", "%Y"))
        month, year = (exp.cast(text, "int") for text in texts)
        quarter = exp.case().when(month <= 3, 1).when(month <= 6, 2).when(month <= 9, 3).else_(4)
        return year * 10 + quarter

    def rows(self) -> exp.Select:
        """Return the statement that lists rows, or the instances that they belong to, each once."""
        plan = self._plan
        select, names, called = self._grouped(plan.group or Group((), plan.base))
        select = select.select(*called, *self._shown).where(*self._conditions()).order_by(*_ordered(names[::-1]))
        return select if plan.group is None else select.group_by(*(name.copy() for name in names))

    def volatility(self) -> exp.Select:
        """Return the statement for mean and population standard deviation of the totals by day or month."""
        plan = self._plan
        period = self._period(plan.time_unit or "day")
        select, names, _ = self._grouped(plan.group)
        inner = select.select(
            *(_named(name, f"name_{i}") for i, name in enumerate(names, 1)),
            _named(period, "period"),
            _named(self._value(), "total"),
        )
        inner = inner.where(*self._conditions()).group_by(*(cell.copy() for cell in [*names, period]))
        total = column("totals", "total")
        mean = exp.Avg(this=total)
        variance = exp.Avg(this=total * total) - mean * mean
        own = [column("totals", f"name_{i}") for i, _ in enumerate(names, 1)]
        outer = exp.select(
            *(_named(name, "name_1") for name in own[:1]),
            _named(exp.Sqrt(this=exp.Abs(this=variance)), "value"),
            _named(mean, "mean"),
            _named(exp.Count(this=total.copy()), "periods"),
        ).from_(inner.subquery(alias="totals"))
        return self._ranked(outer.group_by(*(name.copy() for name in own)), "value", own) if own else outer

    def _add(self, value: Cell) -> exp.Placeholder:
        """Keep a value; return its placeholder."""
        name = f"p{len(self.parameters) + 1}"
        self.parameters[name] = value
        return exp.Placeholder(this=name)

    def _within(self, period: TimeRange) -> exp.Expr:
        """Return the condition that a row, or what it leads to, happened in a period."""
        return exp.and_(*self._all([self._during(period)], BASE))

    def _during(self, period: TimeRange) -> Filter:
        """Return a period as a condition on the column that says when."""
        way = self._plan.time_path
        owner = self._mapping.classes[way[-1].target if way else self._plan.base]
        ends: tuple[Cell, ...] = tuple(end.date().isoformat() if end else None for end in (period.start, period.end))
        if kept := self._mapping.tables[owner.name].stamps.get(self._plan.time_column or ""):
            ends = tuple(end and (date.fromisoformat(str(end)) - date(1970, 1, 1)).days * 86_400 * kept for end in ends)
        return Filter(way, "", self._plan.time_column or "", "within", ends, "")

    def _keys(self, step: Join, alias: str) -> exp.Select:
        """Return the query for the keys that a step leads to."""
        source = table(self._mapping.classes[step.target].name, alias)
        return exp.select(column(alias, step.target_column)).from_(source)

    def _counting(self, alias: str = BASE, class_id: str = "") -> list[exp.Expr]:
        """Return the conditions of the rows that count at all, such as those that are not deleted."""
        counts = self._mapping.classes[class_id or self._plan.base].counts.items()
        return [
            _empty(column(alias, name)) if value is None else self._one_of(column(alias, name), (value,))
            for name, value in counts
        ]

    def _conditions(self, alias: str = BASE) -> list[exp.Expr]:
        """Return the conditions that the rows of `alias` must meet, those of rows that count at all included."""
        plan = self._plan
        conditions = self._counting(alias)
        asked = [item for item in plan.filters if not item.negated]
        if plan.shape == "change" and plan.period is not None and plan.earlier is not None:
            conditions.append(exp.or_(self._within(plan.period), self._within(plan.earlier)))
        elif plan.period is not None:
            asked.append(self._during(plan.period))
        elif plan.time_unit is not None:  # what has not happened yet is of no month
            conditions.append(_filled(self._moment))
        for item in plan.filters:
            if not item.negated:
                continue
            # No orders in May: none that is of May. Not borrowed: no loan of it that has a date.
            own = [one for one in asked if one.operator in {"within", "filled"} and one.path[:1] == item.path[:1]]
            own = [one for one in own if not all(step.single for step in one.path)]
            asked = [one for one in asked if one not in own]
            met = exp.and_(*self._all([item, *own], alias))
            if item.below or (item.path and item.path[0].single):  # no key at all: that is none
                met = exp.Coalesce(this=met, expressions=[exp.false()])
            conditions.append(exp.Not(this=exp.Paren(this=met)))
        return [*conditions, *self._all(asked, alias)]

    def _all(self, wanted: Sequence[Filter], alias: str, depth: int = 1) -> list[exp.Expr]:
        """Return the conditions of the rows of `alias`; what these lead to by one step is one row that meets all."""
        beside: dict[tuple[int | None, Path], list[Filter]] = {}
        for i, item in enumerate(wanted):
            step, rest = item.path[:1], replace(item, path=item.path[1:])
            alone = not step or (step[0].link is None and _by_key(step[0], rest))
            beside.setdefault((i if alone else None, step), []).append(rest)
        return [
            self._reached(step[0], items, alias, depth) if step else self._met(items[0], alias)
            for (_, step), items in beside.items()
        ]

    def _reached(self, step: Join, wanted: Sequence[Filter], alias: str, depth: int) -> exp.Expr:
        """Return the condition that a row which a step leads to from the rows of `alias` meets all that is wanted."""
        inner, own = f"f{depth}", column(alias, step.source_column)
        negated = any(item.negated for item in wanted)
        keyed = [item for item in wanted if _by_key(step, item)]
        if step.link is None:
            if keyed:
                return self._one_of(own, keyed[0].values)
            query = self._keys(step, inner).where(*self._all(wanted, inner, depth + 1))
            if not (step.single and negated):  # what is deleted did not happen, and nothing belongs to it
                query = query.where(*self._counting(inner, step.target))
            if negated:  # one NULL among the rows would make "not among them" unknown for all
                query = query.where(_filled(column(inner, step.target_column)))
            return own.isin(query=query)
        others = [item for item in wanted if item not in keyed and (item.operator != "exists" or item.path)]
        ways = [(step.link_source, step.link_target)]
        if self._mapping.lookup.relations[step.relation].symmetric:
            ways.append((step.link_target, step.link_source))
        found = []
        for source, target in ways:
            query = exp.select(column(inner, source)).from_(table(step.link, inner))
            query = query.where(*(self._one_of(column(inner, target), item.values) for item in keyed))
            if others:
                further = self._keys(step, f"f{depth + 1}").where(*self._all(others, f"f{depth + 1}", depth + 2))
                further = further.where(*self._counting(f"f{depth + 1}", step.target))
                query = query.where(column(inner, target).isin(query=further))
            found.append(own.isin(query=query))
        return exp.or_(*found)

    def _met(self, item: Filter, alias: str) -> exp.Expr:
        cell = column(alias, item.column)
        if item.operator in {"filled", "exists"}:
            return exp.and_(_filled(cell), *(cell.neq(exp.convert(none)) for none in item.values))
        if item.operator in COMPARED:
            return COMPARED[item.operator](this=cell, expression=self._add(item.values[0]))
        if item.operator in {"later", "earlier"}:  # than another date of the row, by days
            days = (self._period("day", one) for one in (cell, column(alias, str(item.values[0]))))
            return (exp.GT if item.operator == "later" else exp.LT)(this=next(days), expression=next(days))
        if item.operator == "within":
            ends = [(kind, end) for kind, end in zip((exp.GTE, exp.LT), item.values, strict=True) if end is not None]
            return exp.and_(*(kind(this=cell.copy(), expression=self._add(end)) for kind, end in ends))
        own = self._one_of(cell, item.values)
        if item.below is None:
            return own
        inner = f"{alias}_below"
        below = exp.select(column(inner, item.column)).from_(table(self._mapping.classes[item.class_id].name, inner))
        below = below.where(self._one_of(column(inner, item.below), item.values))
        return exp.or_(own, cell.isin(query=below), self._one_of(column(alias, item.below), item.values))

    def _one_of(self, cell: exp.Column, values: tuple[Cell, ...]) -> exp.Expr:
        marks = [self._add(value) for value in values]
        return cell.eq(marks[0]) if len(marks) == 1 else cell.isin(*marks)


def _by_key(step: Join, item: Filter) -> bool:
    """Return whether a filter asks for the very keys that a step leads by."""
    return not item.path and item.column == step.target_column and item.operator == "in" and item.below is None


def _named(cell: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(cell.copy(), name, quoted=True)


def _ordered(cells: Iterable[exp.Expr]) -> list[exp.Ordered]:
    return [exp.Ordered(this=cell.copy(), desc=False) for cell in cells]


def _amount(measure: Attribute) -> exp.Expr:
    """Return the number of a measure: its column, times others, less a share where there is one, or days since then."""
    cell: exp.Expr = column(BASE, measure.column or "")
    if measure.since is not None:
        seconds = exp.DateDiff(this=cell, expression=column(BASE, measure.since), unit=exp.var("SECOND"))
        return exp.Div(this=seconds, expression=exp.Literal.number("86400.0"))
    for other in measure.times:
        cell = exp.Mul(this=cell, expression=column(BASE, other))
    return cell if measure.less is None else exp.Mul(this=cell, expression=exp.paren(1 - column(BASE, measure.less)))


def column(table: str, name: str) -> exp.Column:
    """Return `table.name`, both quoted."""
    return exp.column(name, table=table, quoted=True)


def table(name: str, alias: str) -> exp.Table:
    """Return a table by its name, which may have a schema before it, under an alias."""
    *schema, last = name.split(".")
    return exp.table_(last, db=schema[0] if schema else None, quoted=True, alias=alias)


def _empty(cell: exp.Expr) -> exp.Expr:
    return exp.Is(this=cell.copy(), expression=exp.Null())


def _filled(cell: exp.Expr) -> exp.Expr:
    return exp.Not(this=_empty(cell))
