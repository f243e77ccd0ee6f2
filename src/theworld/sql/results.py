"""Rows into a table with headings and units, and tables into sentences, in Chinese and English."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from theworld.ontology import Attribute
from theworld.packages import load_table, reason_in
from theworld.sql.engines import Rows
from theworld.sql.mapping import DatabaseMapping, Join, leads_to_many
from theworld.sql.plan import Group, Plan
from theworld.sql.questions.lexicon import forms_of
from theworld.state import PathStep, QueryTable, TableColumn
from theworld.state.tables import Cell
from theworld.text.tokens import Language

WORDS: Mapping[Language, Mapping[str, Any]] = load_table("theworld.sql", "data/words.yaml")
ROWS_TOLD = 5
"""Rows told in a sentence; the table has all."""


def to_table(plan: Plan, rows: Rows, *, mapping: DatabaseMapping, language: Language) -> QueryTable:
    """Return the rows as a table; a figure without rows to be made of is an empty table."""
    kept = rows.rows
    if "given" in rows.columns:  # a first name goes before the name beside it
        at = rows.columns.index("given")
        names = (" ".join(str(part) for part in (row[at], row[at - 1]) if part) for row in kept)
        kept = tuple((*row[: at - 1], name, *row[at + 1 :]) for row, name in zip(kept, names, strict=True))
    if plan.shape in {"figure", "volatility", "change", "share"} and plan.group is None and plan.aggregate != "count":
        kept = tuple(row for row in kept if row[0] is not None)
    paths = [*([plan.group.path] if plan.group is not None else ()), *(item.path for item in plan.filters)]

    def step(join: Join) -> PathStep:
        relation = mapping.lookup.relations[join.relation]
        told = relation.labels.preferred(language)
        if not join.forward and not relation.symmetric:
            told = relation.inverse.preferred(language) or f"←{told}"
        return PathStep(
            source=mapping.name(join.source, language), relation=told, target=mapping.name(join.target, language)
        )

    return QueryTable(
        title=_title(plan, mapping, language),
        shape=plan.shape,
        columns=_columns(plan, mapping, language),
        rows=tuple(tuple(_cell(plan, i, cell, language) for i, cell in enumerate(row)) for row in kept),
        truncated=rows.truncated,
        conditions=_conditions(plan, mapping, language),
        reading=tuple(dict.fromkeys(plan.reading)),
        paths=tuple(tuple(map(step, path)) for path in dict.fromkeys(paths) if path),
    )


def _title(plan: Plan, mapping: DatabaseMapping, language: Language) -> str:
    """Return what a plan shows, in words."""
    phrases = WORDS[language]
    listed = plan.group if plan.shape == "list" else plan.distinct
    own = mapping.name(listed.class_id if listed else plan.base, language)
    if plan.shape in {"list", "latest"}:
        which = "latest" if plan.descending else "first"
        return str(phrases[which]).format(own) if plan.shape == "latest" else own
    named = own
    if plan.measure is not None:
        measure = plan.measure.labels.preferred(language)
        both = f"{own}的{measure}" if language == "zh" else f"{own}: {measure}"
        named = measure if own in measure else own if measure in own else both
    if plan.shape in {"volatility", "change"}:
        return str(phrases[plan.shape]).format(named)
    if plan.shape == "share":
        of = plan.divisor.labels.preferred(language) if plan.divisor is not None else phrases["whole"]
        return str(phrases["share"]).format(named, of)
    if plan.measure is not None and plan.group == Group((), plan.base):
        return named  # of one row there is nothing to put together
    counted = plan.aggregate == "count" and language == "en"
    return str(phrases["aggregates"][plan.aggregate]).format(forms_of(named)[-1] if counted else named)


_FIGURES = {
    "share": ("value", "whole", "share"),
    "change": ("later", "earlier", "change"),
    "volatility": ("volatility", "mean", "periods"),
}
"""The headings of the figures of a shape, where it has more than one."""


def _columns(plan: Plan, mapping: DatabaseMapping, language: Language) -> tuple[TableColumn, ...]:
    headings, listed = WORDS[language]["columns"], plan.shape in {"list", "latest"}
    found = []
    group = plan.group or (Group((), plan.base) if listed else None)
    if group is not None:
        grouped = group.attribute or mapping.lookup.classes[group.class_id]
        found.append(TableColumn(label=grouped.labels.preferred(language)))
    if plan.shape == "latest":
        moment = _attribute(mapping, plan.base, plan.time_column)
        found.append(TableColumn(label=moment.labels.preferred(language) if moment else headings["period"]))
    if listed:
        return (*found, *(_shown(one, one.labels.preferred(language), language) for one in plan.shown))
    if plan.time_unit is not None and plan.shape != "volatility":
        found.append(TableColumn(label=headings["period"]))
    if plan.shape not in _FIGURES:
        return (*found, _shown(plan.measure, _title(plan, mapping, language), language))
    unit = _shown(plan.measure, "", language).unit
    units = {"share": "%", "periods": ""}
    return (*found, *(TableColumn(label=headings[n], unit=units.get(n, unit)) for n in _FIGURES[plan.shape]))


def _shown(attribute: Attribute | None, label: str, language: Language) -> TableColumn:
    unit = attribute.unit if attribute and attribute.type != "date" else None
    return TableColumn(label=label, unit=unit.of(language) if unit else "")


def _attribute(mapping: DatabaseMapping, class_id: str, column: str | None) -> Attribute | None:
    """Return the attribute that a column holds, None where it is only mapped."""
    return next((a for a in mapping.attributes[class_id].values() if a.column == column), None)


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
    """Return the conditions with the columns they are on (country: brazil), turned round or not, and the period."""
    phrases, found = WORDS[language], []
    for item in plan.filters:
        is_key = item.column == mapping.classes[item.class_id].key
        on = _attribute(mapping, item.class_id, item.column) if item.operator == "in" and not is_key else None
        said = item.label if on is None else f"{on.labels.preferred(language)}: {item.label}"
        found.append(f"{phrases['not']} {said}" if item.negated else said)
    found += (reason_in(language, those) for those in mapping.classes[plan.base].counted_rows)
    found += (phrases["having"].format(name) for name in _divided_by(plan, mapping, language))
    found += [phrases["once"]] if _counts_once(plan) else []
    if plan.period is not None:
        when = _attribute(mapping, plan.time_path[-1].target if plan.time_path else plan.base, plan.time_column)
        start, end = (m.date() if m else None for m in (plan.period.start, plan.period.end))
        last = end - timedelta(days=1) if end else ""
        form = phrases["until" if start is None else "period" if end else "from"]
        name = f"{when.labels.preferred(language)} " if when is not None else ""
        if not all(step.single for step in plan.time_path):  # of other rows, which are named
            name = f"{mapping.name(plan.time_path[-1].target, language)}: {name}"
        found.append(name + form.format(start=start, end=(end or "") if start is None else last))
    return tuple(dict.fromkeys(filter(None, found)))


def _divided_by(plan: Plan, mapping: DatabaseMapping, language: Language) -> list[str]:
    """Return what a total is divided by the number of, in the plural."""
    if plan.per is None:
        return [WORDS[language]["units"][plan.per_unit]] if plan.per_unit is not None else []
    owner = plan.per.attribute or mapping.lookup.classes[plan.per.class_id]
    return [forms_of(owner.labels.preferred(language))[-1]]


def _counts_once(plan: Plan) -> bool:
    """Return whether things are counted of which each may have several of the rows that are asked about."""
    counted = plan.aggregate == "count" and plan.shape not in {"list", "latest"}
    met = (one.path for one in plan.filters if not one.negated)
    return plan.distinct is not None or (counted and any(map(leads_to_many, met)))


def number(value: Cell, unit: str = "") -> str:
    """Return a number with thousands separated, at most two decimals, and its unit."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    text = f"{value:z,.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"
    return f"{text} {unit}".strip() if unit != "%" else f"{text}%"


def in_words(table: QueryTable, language: Language) -> str:
    """Return a table as one sentence, what it rests on included."""
    phrases = WORDS[language]
    separator = str(phrases["separator"])
    if not table.rows:
        said = str(phrases["nothing"]).format(title=table.title)
    elif len(table.rows) == 1 and len(table.columns) == {"figure": 1, **dict.fromkeys(_FIGURES, 3)}.get(table.shape, 0):
        said = _said(table, table.rows[0], phrases, alone=True)
    else:
        items = separator.join(_said(table, row, phrases, alone=False) for row in table.rows[:ROWS_TOLD])
        items += str(phrases["rest"]) if len(table.rows) > ROWS_TOLD else ""
        pattern = str(phrases["more" if table.truncated else "rows" if len(table.rows) > 1 else "row"])
        said = pattern.format(title=table.title, count=len(table.rows), items=items)
    for name, notes in (("conditions", table.conditions), ("reading", table.reading)):
        if notes:
            said += ("" if said.endswith("。") else " ") + str(phrases[name]).format(separator.join(notes))
    return said


def _said(table: QueryTable, row: Sequence[Cell], phrases: Mapping[str, Any], *, alone: bool) -> str:
    """Return a row in words: in the phrase of its shape, where it has one, else its cells one after the other."""
    cells = [number(str(phrases["none"]) if v is None else v, c.unit) for v, c in zip(row, table.columns, strict=True)]
    phrase = phrases.get(f"{table.shape}_{'of' if alone else 'item'}")
    if phrase is None:
        first = {"list": 1, "latest": 2}.get(table.shape, len(cells))  # what is shown beside it has its heading
        more = (
            f"{c.label} {text}"
            for c, text, value in zip(table.columns[first:], cells[first:], row[first:], strict=True)
            if value is not None or len(row) == first + 1  # that is what was asked for
        )
        return ", ".join((" ".join(cells[:first]), *more))
    figures = _FIGURES.get(table.shape, ("figure",))
    told: dict[str, Any] = dict(zip(figures, cells[-len(figures) :], strict=True))
    whole, part = {"change": row[-2:], "volatility": row[:-1][::-1]}.get(table.shape, (None, None))[:2]
    ratio = part / whole if isinstance(part, int | float) and isinstance(whole, int | float) and whole else None
    percent = "" if ratio is None else f", {ratio:+.1%}"
    daily = "%Y-%m-%d" in table.sql or "YYYY-MM-DD" in table.sql
    told |= {"ratio": "-" if ratio is None else f"{ratio:.2f}", "percent": percent}
    told |= {"per": phrases["per"]["day" if daily else "month"], "title": table.title, "name": row[0]}
    return str(phrase).format(**told)
