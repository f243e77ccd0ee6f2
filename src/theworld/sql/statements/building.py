"""A plan into SQL, as a sqlglot tree from the first node to the last."""

from __future__ import annotations

from sqlglot import exp

from theworld.sql.engines.protocol import Cell
from theworld.sql.mapping import DatabaseMapping
from theworld.sql.plan import Group, Path, Plan
from theworld.sql.statements.conditions import BASE, COMPARED, Conditions
from theworld.sql.statements.expressions import Parameters, amount, case, column, formatted, table, when
from theworld.text.calendar_units import CalendarUnit
from theworld.text.language import Language

_FORMATS = {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
_AGGREGATES: dict[str, type[exp.AggFunc]] = {"sum": exp.Sum, "average": exp.Avg, "min": exp.Min, "max": exp.Max}


def build(plan: Plan, mapping: DatabaseMapping, language: Language) -> tuple[exp.Select, dict[str, Cell]]:
    """Return the statement of a plan and its parameters; names of rows are in the language."""
    return _Builder(plan, mapping, language).run()


class _Builder:
    def __init__(self, plan: Plan, mapping: DatabaseMapping, language: Language) -> None:
        self._plan, self._mapping, self._language = plan, mapping, language
        self._parameters = Parameters()
        self._conditions = Conditions(plan, mapping, self._parameters)
        self._table = mapping.classes[plan.base]

    def run(self) -> tuple[exp.Select, dict[str, Cell]]:
        plan = self._plan
        if plan.shape == "volatility":
            return self._volatility(), self._parameters.values
        if plan.shape == "list":
            return self._list(), self._parameters.values
        if plan.shape == "latest":
            return self._latest(), self._parameters.values
        shown: list[exp.Expr] = []
        grouped: list[exp.Expr] = []
        select = self._from()
        if plan.group is not None:
            select, names = self._grouped(select, plan.group)
            shown += self._called(names, plan.group.class_id if plan.group.attribute is None else "")
            grouped += names
        if plan.time_unit is not None:
            period = self._period_of(plan.time_unit)
            shown.append(exp.alias_(period, "period", quoted=True))
            grouped.append(period)
        shown += self._figures()
        select = select.select(*shown).where(*self._conditions.all())
        if grouped:
            select = select.group_by(*(item.copy() for item in grouped))
        if plan.having is not None:
            operator, value = plan.having
            select = select.having(COMPARED[operator](this=self._value(), expression=self._parameters.add(value)))
        return self._ordered(select, grouped), self._parameters.values

    def _from(self) -> exp.Select:
        select, alias = exp.select().from_(table(self._table.name, BASE)), BASE
        for i, step in enumerate(self._plan.distinct.path[:-1] if self._plan.distinct else (), start=1):
            joined, on = table(self._mapping.classes[step.target].name, f"d{i}"), column(alias, step.source_column)
            select = select.join(joined, on=exp.EQ(this=on, expression=column(f"d{i}", step.target_column)))
            alias = f"d{i}"
        return select

    def _value(self, condition: exp.Expr | None = None) -> exp.Expr:
        plan = self._plan
        if plan.per is not None:
            return self._per(plan.per)
        if plan.distinct is not None:
            return exp.Count(this=exp.Distinct(expressions=[self._at_the_end(plan.distinct.path)]))
        if plan.aggregate == "count" or plan.measure is None:
            key: exp.Expr = column(BASE, self._table.key)
            return exp.Count(this=when(condition, key) if condition is not None else key)
        cell = amount(BASE, plan.measure)
        return _AGGREGATES[plan.aggregate](this=when(condition, cell) if condition is not None else cell)

    def _at_the_end(self, path: Path) -> exp.Expr:
        """Return the key of what a path of keys leads to; the tables before its last step are joined by `_from`."""
        return column(f"d{len(path) - 1}" if len(path) > 1 else BASE, path[-1].source_column)

    def _per(self, per: Group) -> exp.Expr:
        """Return a total divided by how many of something the rows belong to."""
        plan = self._plan
        counted = exp.Count(this=column(BASE, self._table.key))
        total = counted if plan.measure is None else exp.Sum(this=amount(BASE, plan.measure))
        number = exp.Count(this=exp.Distinct(expressions=[column(BASE, per.path[0].source_column)]))
        whole = exp.Mul(this=total, expression=exp.Literal.number("1.0"))
        return exp.Div(this=whole, expression=exp.Nullif(this=number, expression=exp.Literal.number(0)))

    def _figures(self) -> list[exp.Expr]:
        plan = self._plan
        if plan.shape == "share":
            part, whole = self._value(), self._whole()
            hundred = exp.Mul(this=part.copy(), expression=exp.Literal.number("100.0"))
            none = exp.Nullif(this=whole.copy(), expression=exp.Literal.number(0))
            share = exp.Div(this=hundred, expression=none)
            shown = (("value", part), ("whole", whole), ("share", share))
            return [exp.alias_(item, name, quoted=True) for name, item in shown]
        if plan.shape != "change" or plan.period is None or plan.earlier is None:
            return [exp.alias_(self._value(), "value", quoted=True)]
        additive = plan.aggregate in {"sum", "count"}
        now, before = (self._value(self._conditions.within(period)) for period in (plan.period, plan.earlier))
        if additive:
            now, before = (exp.Coalesce(this=item, expressions=[exp.Literal.number(0)]) for item in (now, before))
        change = exp.Sub(this=exp.Paren(this=now.copy()), expression=exp.Paren(this=before.copy()))
        named = (("value", now), ("earlier", before), ("change", change))
        return [exp.alias_(item, name, quoted=True) for name, item in named]

    def _whole(self) -> exp.Expr:
        """Return what a share is of: another measure, or the same one of more rows."""
        plan = self._plan
        if plan.whole == "measure" and plan.divisor is not None:
            return _AGGREGATES[plan.aggregate](this=amount(BASE, plan.divisor))
        query = self._from().select(self._value()).where(*self._conditions.counting())
        if plan.whole == "rows":
            query = query.where(*self._conditions.all())
        elif plan.period is not None:
            query = query.where(self._conditions.within(plan.period))
        return query.subquery()

    def _latest(self) -> exp.Select:
        """The rows at the last time of each instance that meet the conditions."""
        plan = self._plan
        assert plan.group is not None
        owner, moment = plan.group.path[0].source_column, plan.time_column or ""
        inner = exp.select(
            exp.alias_(column("own", owner), "owner", quoted=True),
            exp.alias_(exp.Max(this=column("own", moment)), "moment", quoted=True),
        ).from_(table(self._table.name, "own"))
        inner = inner.where(*self._conditions.all("own")).group_by(column("own", owner))
        select, names = self._grouped(self._from(), plan.group)
        last = exp.and_(
            exp.EQ(this=column(BASE, owner), expression=column("latest", "owner")),
            exp.EQ(this=column(BASE, moment), expression=column("latest", "moment")),
        )
        shown = [(column(BASE, a.column or ""), f"shown_{i}") for i, a in enumerate(plan.shown, 1)]
        select = select.join(inner.subquery(alias="latest"), on=last).select(
            exp.alias_(names[0], "name_1", quoted=True),
            exp.alias_(column(BASE, moment), "moment", quoted=True),
            *(exp.alias_(cell, name, quoted=True) for cell, name in shown),
        )
        select = select.where(*self._conditions.all())
        return select.order_by(
            *(exp.Ordered(this=n.copy(), desc=False) for n in names[::-1]),
            *(exp.Ordered(this=cell.copy(), desc=False) for cell, _ in shown),
        )

    def _grouped(self, select: exp.Select, group: Group) -> tuple[exp.Select, list[exp.Expr]]:
        alias = BASE
        for i, step in enumerate(group.path, start=1):
            target, on = f"t{i}", column(alias, step.source_column)
            joined = table(self._mapping.classes[step.target].name, target)
            select = select.join(joined, on=exp.EQ(this=on, expression=column(target, step.target_column)))
            alias = target
        if group.attribute is not None:
            return select, [column(alias, group.attribute.column or "")]
        return select, self._names(group.class_id, alias)

    def _names(self, class_id: str, alias: str) -> list[exp.Expr]:
        """Return the columns that name an instance: its name, then its key."""
        mapped = self._mapping.classes[class_id]
        label = mapped.label.of(self._language)
        names = [label, mapped.given or mapped.key, mapped.key] if label else [mapped.key]
        return [column(alias, name) for name in dict.fromkeys(names)]

    def _called(self, names: list[exp.Expr], class_id: str) -> list[exp.Expr]:
        """Return the columns shown of an instance: its name, and its first name where there is one."""
        mapped = self._mapping.classes.get(class_id)
        given = mapped is not None and mapped.given is not None and len(names) > 1
        shown = zip(names, ("name_1", "given") if given else ("name_1",), strict=False)
        return [exp.alias_(name.copy(), alias, quoted=True) for name, alias in shown]

    def _period_of(self, unit: CalendarUnit) -> exp.Expr:
        cell = column(BASE, self._plan.time_column or "")
        if unit in _FORMATS:
            return formatted(cell, _FORMATS[unit])
        month = exp.Cast(this=formatted(cell, "%m"), to=exp.DataType.build("INT"))
        year = exp.Cast(this=formatted(cell.copy(), "%Y"), to=exp.DataType.build("INT"))
        ends = [exp.LTE(this=month.copy(), expression=exp.Literal.number(3 * quarter)) for quarter in (1, 2, 3)]
        quarter = case(list(zip(ends, (1, 2, 3), strict=True)), 4)
        return exp.Add(this=exp.Mul(this=year, expression=exp.Literal.number(10)), expression=quarter)

    def _ordered(self, select: exp.Select, grouped: list[exp.Expr]) -> exp.Select:
        plan = self._plan
        if plan.time_unit is not None and plan.shape != "top":
            return select.order_by(*(exp.Ordered(this=item.copy(), desc=False) for item in grouped[::-1]))
        if grouped:
            ranked = "change" if plan.shape == "change" else "value"
            key = exp.column(exp.to_identifier(ranked, quoted=True))
            ordered = [
                exp.Ordered(this=key, desc=plan.descending),
                *(exp.Ordered(this=g.copy(), desc=False) for g in grouped[::-1]),
            ]
            select = select.order_by(*ordered)
        return select.limit(plan.limit) if plan.limit else select

    def _list(self) -> exp.Select:
        plan = self._plan
        names = self._names(plan.base, BASE)
        shown = self._called(names, plan.base)
        shown += [
            exp.alias_(column(BASE, a.column or ""), f"shown_{i}", quoted=True) for i, a in enumerate(plan.shown, 1)
        ]
        select = self._from().select(*shown).where(*self._conditions.all())
        if plan.measure is not None and plan.limit:
            order = [exp.Ordered(this=column(BASE, plan.measure.column or ""), desc=plan.descending)]
            return select.order_by(*order, *(exp.Ordered(this=n.copy(), desc=False) for n in names[::-1])).limit(
                plan.limit
            )
        return select.order_by(*(exp.Ordered(this=n.copy(), desc=False) for n in names[::-1]))

    def _volatility(self) -> exp.Select:
        """Mean and population standard deviation of the totals by day or month."""
        plan = self._plan
        period = self._period_of(plan.time_unit or "day")
        select = self._from()
        names: list[exp.Expr] = []
        if plan.group is not None:
            select, names = self._grouped(select, plan.group)
        inner = select.select(
            *(exp.alias_(name, f"name_{i}", quoted=True) for i, name in enumerate(names, 1)),
            exp.alias_(period, "period", quoted=True),
            exp.alias_(self._value(), "total", quoted=True),
        )
        inner = inner.where(*self._conditions.all()).group_by(*(item.copy() for item in [*names, period]))
        total = column("totals", "total")
        mean = exp.Avg(this=total)
        square = exp.Avg(this=exp.Mul(this=total.copy(), expression=total.copy()))
        variance = exp.Sub(this=square, expression=exp.Mul(this=mean.copy(), expression=mean.copy()))
        own = [column("totals", f"name_{i}") for i, _ in enumerate(names, 1)]
        outer = exp.select(
            *(exp.alias_(name, "name_1", quoted=True) for name in own[:1]),
            exp.alias_(exp.Sqrt(this=exp.Abs(this=variance)), "value", quoted=True),
            exp.alias_(mean, "mean", quoted=True),
            exp.alias_(exp.Count(this=total.copy()), "periods", quoted=True),
        ).from_(inner.subquery(alias="totals"))
        if own:
            key = exp.column(exp.to_identifier("value", quoted=True))
            outer = outer.group_by(*(name.copy() for name in own))
            outer = outer.order_by(
                exp.Ordered(this=key, desc=plan.descending), *(exp.Ordered(this=n.copy()) for n in own[::-1])
            )
            outer = outer.limit(plan.limit) if plan.limit else outer
        return outer
