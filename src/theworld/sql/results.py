"""Rows into a table with headings and units, and tables into sentences, in Chinese and English."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from theworld.ontology import Attribute
from theworld.sql.engines.protocol import Rows
from theworld.sql.mapping import DatabaseMapping, Join
from theworld.sql.plan import Filter, Plan
from theworld.sql.statements.guard import Statement
from theworld.state import PathStep, QueryTable, TableColumn
from theworld.state.tables import Cell
from theworld.text.language import Language
from theworld.text.time_ranges import TimeRange

ROWS_TOLD = 5
"""Rows told in a sentence; the table has all."""


@cache
def words(language: Language) -> Mapping[str, Any]:
    """Return the phrases of a language."""
    text = (files("theworld.sql") / "data" / "words.yaml").read_text("utf-8")
    table: Mapping[str, Any] = yaml.safe_load(text)[language]
    return table


def to_table(
    plan: Plan,
    statement: Statement,
    rows: Rows,
    *,
    mapping: DatabaseMapping,
    language: Language,
    source: str,
    elapsed_ms: float,
) -> QueryTable:
    """Return the rows as a table; a figure without rows to be made of is an empty table."""
    columns = _columns(plan, mapping, language)
    kept = tuple(_whole_name(row, rows.columns) for row in rows.rows)
    if plan.shape in {"figure", "volatility", "change", "share"} and plan.group is None and plan.aggregate != "count":
        kept = tuple(row for row in kept if row[0] is not None)
    return QueryTable(
        title=title(plan, mapping, language),
        shape=plan.shape,
        columns=columns,
        rows=tuple(tuple(_cell(plan, i, cell, language) for i, cell in enumerate(row)) for row in kept),
        truncated=rows.truncated,
        conditions=_conditions(plan, mapping, language),
        reading=tuple(dict.fromkeys(plan.reading)),
        paths=tuple(path_steps(plan, mapping, language)),
        sql=statement.sql,
        parameters=dict(statement.parameters),
        source=source,
        elapsed_ms=elapsed_ms,
    )


def _whole_name(row: tuple[Cell, ...], columns: tuple[str, ...]) -> tuple[Cell, ...]:
    """Return a row with a first name put before the name that it goes with."""
    if "given" not in columns:
        return row
    at = columns.index("given")
    name = " ".join(str(part) for part in (row[at], row[at - 1]) if part)
    return (*row[: at - 1], name, *row[at + 1 :])


def path_steps(plan: Plan, mapping: DatabaseMapping, language: Language) -> list[tuple[PathStep, ...]]:
    """Return the ways over the ontology that a plan's group and conditions were reached on, each once."""
    paths = [*([plan.group.path] if plan.group is not None else ()), *(item.path for item in plan.filters)]
    return [tuple(_step(join, mapping, language) for join in path) for path in dict.fromkeys(paths) if path]


def _step(join: Join, mapping: DatabaseMapping, language: Language) -> PathStep:
    relation = mapping.lookup.relations[join.relation]
    told = relation.labels.preferred(language)
    if not join.forward and not relation.symmetric:
        told = relation.inverse.preferred(language) or f"←{told}"
    ends = (mapping.lookup.classes[id_].labels.preferred(language) for id_ in (join.source, join.target))
    source, target = ends
    return PathStep(source=source, relation=told, target=target)


def title(plan: Plan, mapping: DatabaseMapping, language: Language) -> str:
    """Return what a plan shows, in words."""
    own = mapping.lookup.classes[plan.distinct.class_id if plan.distinct else plan.base].labels.preferred(language)
    if plan.shape in {"list", "latest"}:
        return str(words(language)["latest"]).format(own) if plan.shape == "latest" else own
    measure = plan.measure.labels.preferred(language) if plan.measure is not None else own
    named = measure
    if plan.measure is not None and own not in measure:
        named = own if measure in own else f"{own}的{measure}" if language == "zh" else f"{own}: {measure}"
    if plan.shape in {"volatility", "change"}:
        return str(words(language)[plan.shape]).format(named)
    if plan.shape == "share":
        of = plan.divisor.labels.preferred(language) if plan.divisor is not None else words(language)["whole"]
        return str(words(language)["share"]).format(named, of)
    return str(words(language)["aggregates"][plan.aggregate]).format(named)


def _columns(plan: Plan, mapping: DatabaseMapping, language: Language) -> tuple[TableColumn, ...]:
    named = words(language)["columns"]
    unit = plan.measure.unit.of(language) if plan.measure is not None and plan.measure.unit else ""
    own = mapping.lookup.classes[plan.base].labels.preferred(language)
    if plan.shape == "list":
        return (TableColumn(label=own), *(_shown(attribute, language) for attribute in plan.shown))
    found = []
    if plan.group is not None:
        attribute, grouped = plan.group.attribute, mapping.lookup.classes[plan.group.class_id]
        found.append(TableColumn(label=(attribute or grouped).labels.preferred(language)))
    if plan.shape == "latest":
        moment = next((a for a in mapping.attributes(plan.base).values() if a.column == plan.time_column), None)
        label = moment.labels.preferred(language) if moment is not None else named["period"]
        return (*found, TableColumn(label=label), *(_shown(attribute, language) for attribute in plan.shown))
    if plan.shape == "share":
        parts = (TableColumn(label=named[name], unit=unit) for name in ("value", "whole"))
        return (*found, *parts, TableColumn(label=named["share"], unit="%"))
    if plan.shape == "volatility":
        return (
            *found,
            *(TableColumn(label=named[n], unit=unit) for n in ("volatility", "mean")),
            TableColumn(label=named["periods"]),
        )
    if plan.time_unit is not None:
        found.append(TableColumn(label=named["period"]))
    if plan.shape == "change":
        return (*found, *(TableColumn(label=named[n], unit=unit) for n in ("later", "earlier", "change")))
    return (*found, TableColumn(label=title(plan, mapping, language), unit=unit))


def _shown(attribute: Attribute, language: Language) -> TableColumn:
    unit = attribute.unit.of(language) if attribute.unit else ""
    return TableColumn(label=attribute.labels.preferred(language), unit=unit)


def _cell(plan: Plan, index: int, cell: Cell, language: Language) -> Cell:
    """Return a value as a person reads it: enum values by their label, quarters as 2024-Q1."""
    attribute = plan.group.attribute if plan.group is not None and index == 0 else None
    before = {"list": 1, "latest": 2}.get(plan.shape, len(plan.shown) + 1)
    if before <= index < before + len(plan.shown):
        attribute = plan.shown[index - before]
    if attribute is not None:
        found = next((v for v in attribute.values if str(v.in_column) == str(cell)), None)
        return (found.labels.preferred(language) or found.id) if found is not None else cell
    if plan.time_unit == "quarter" and plan.shape != "volatility" and index == int(plan.group is not None):
        return f"{cell // 10}-Q{cell % 10}" if isinstance(cell, int) else cell
    return cell


def _conditions(plan: Plan, mapping: DatabaseMapping, language: Language) -> tuple[str, ...]:
    found = [_condition(item, mapping, language) for item in plan.filters]
    found += [f"{column} = {value}" for column, value in mapping.classes[plan.base].counts.items()]
    if plan.having is not None:
        operator, value = plan.having
        found.append(f"{operator} {number(value)}")
    dated = plan.time_path[-1].target if plan.time_path else plan.base
    when = next((a for a in mapping.attributes(dated).values() if a.column == plan.time_column), None)
    name = f"{when.labels.preferred(language)} " if when is not None and plan.period is not None else ""
    found += [name + _period(period, language) for period in (plan.period,) if period is not None]
    return tuple(dict.fromkeys(found))


def _condition(item: Filter, mapping: DatabaseMapping, language: Language) -> str:
    """Return a condition with the column it is on: country: brazil; not, where it is turned round."""
    attributes = mapping.attributes(item.class_id).values() if item.operator == "in" else ()
    on = next(
        (a for a in attributes if a.column == item.column and a.column != mapping.classes[item.class_id].key), None
    )
    said = f"{on.labels.preferred(language)}: {item.label}" if on is not None else item.label
    return f"{words(language)['not']} {said}" if item.negated else said


def _period(period: TimeRange, language: Language) -> str:
    phrases = words(language)
    start = period.start.date().isoformat() if period.start else ""
    end = (period.end - timedelta(days=1)).date().isoformat() if period.end else ""
    if not start:
        return str(phrases["until"]).format(end=period.end.date().isoformat() if period.end else "")
    return str(phrases["period" if end else "from"]).format(start=start, end=end)


def number(value: Cell, unit: str = "") -> str:
    """Return a number with thousands separated, at most two decimals, and its unit."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    text = f"{value:,.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"
    text = "0" if text == "-0" else text
    return f"{text} {unit}".strip() if unit != "%" else f"{text}%"


def in_words(table: QueryTable, language: Language) -> str:
    """Return a table as one sentence, what it rests on included."""
    phrases = words(language)
    said = _said(table, phrases)
    separator = str(phrases["separator"])
    for name, notes in (("conditions", table.conditions), ("reading", table.reading)):
        if notes:
            said += ("" if said.endswith("。") else " ") + str(phrases[name]).format(separator.join(notes))
    return said


def _said(table: QueryTable, phrases: Mapping[str, Any]) -> str:
    if not table.rows:
        return str(phrases["nothing"]).format(title=table.title)
    figures = {"figure": 1, "change": 3, "volatility": 3, "share": 3}
    if len(table.rows) == 1 and len(table.columns) == figures.get(table.shape, 0):
        return _figure(table, table.rows[0], phrases)
    items = str(phrases["separator"]).join(_item(table, row, phrases) for row in table.rows[:ROWS_TOLD])
    items += str(phrases["rest"]) if len(table.rows) > ROWS_TOLD else ""
    pattern = "more" if table.truncated else "rows"
    return str(phrases[pattern]).format(title=table.title, count=len(table.rows), items=items)


def _figure(table: QueryTable, row: Sequence[Cell], phrases: Mapping[str, Any]) -> str:
    unit = table.columns[0].unit
    if table.shape == "change":
        now, before, change = row
        percent = f", {float(change) / float(before):+.1%}" if before and isinstance(change, int | float) else ""
        texts = {"later": number(now, unit), "earlier": number(before, unit), "change": number(change, unit)}
        return str(phrases["change_of"]).format(title=table.title, percent=percent, **texts)
    if table.shape == "volatility":
        per = phrases["per"][_unit_of(table)]
        return str(phrases["volatility_of"]).format(title=table.title, per=per, periods=row[2], **_spread(row, unit))
    if table.shape == "share":
        texts = {"value": number(row[0], unit), "whole": number(row[1], unit), "share": number(row[2], "%")}
        return str(phrases["share_of"]).format(title=table.title, **texts)
    return str(phrases["figure"]).format(title=table.title, value=number(row[0], unit))


def _unit_of(table: QueryTable) -> str:
    return "day" if "%Y-%m-%d" in table.sql or "YYYY-MM-DD" in table.sql else "month"


def _spread(row: Sequence[Cell], unit: str) -> dict[str, str]:
    value, mean = row[-3], row[-2]
    ratio = f"{value / mean:.2f}" if isinstance(value, int | float) and isinstance(mean, int | float) and mean else "-"
    return {"value": number(value, unit), "mean": number(mean, unit), "ratio": ratio}


def _item(table: QueryTable, row: Sequence[Cell], phrases: Mapping[str, Any]) -> str:
    if table.shape == "volatility":
        return str(phrases["volatility_item"]).format(name=row[0], **_spread(row, table.columns[1].unit))
    if table.shape == "change":
        units = [column.unit for column in table.columns]
        now, before, change = (number(cell, unit) for cell, unit in zip(row[-3:], units[-3:], strict=True))
        return str(phrases["change_item"]).format(name=row[0], later=now, earlier=before, change=change)
    texts = [number(cell, column.unit) for cell, column in zip(row, table.columns, strict=True)]
    return " ".join(texts)
