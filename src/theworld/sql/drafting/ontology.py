"""A mapping file as the ontology that the reader of questions works on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from theworld.ontology import (
    Attribute,
    ClassTable,
    EnumValue,
    LabelColumns,
    Labels,
    Ontology,
    OntologyClass,
    Relation,
    RelationJoin,
    Roles,
)
from theworld.sql.drafting.file import ColumnDraft, MappingFile, TableDraft
from theworld.sql.drafting.wording import is_chinese

_TYPES = {"listed": "string", "text": "string", "codes": "enum"}


def to_ontology(mapping: MappingFile) -> Ontology:
    """Return the ontology that a mapping says, with one class a table; links of two tables are relations."""
    classes = {name: table for name, table in mapping.tables.items() if not table.link}
    relations = [r for name, table in classes.items() for r in _keys(name, table, classes)]
    relations += [r for name, table in mapping.tables.items() if table.link for r in _link(name, table, classes)]
    return Ontology(
        id=_id(mapping.database), classes=tuple(_class(n, t) for n, t in classes.items()), relations=tuple(relations)
    )


def _id(*names: str) -> str:
    return re.sub(r"\W", "_", "-".join(names).replace("-", "_"))


def _labels(called: Iterable[str], name: str) -> Labels:
    said = [*called] or [name]
    return Labels(zh=tuple(s for s in said if is_chinese(s)), en=tuple(s for s in said if not is_chinese(s)))


def _only(called: Iterable[str]) -> Labels:
    return _labels(called, "") if called else Labels()


def _class(name: str, table: TableDraft) -> OntologyClass:
    shown = table.name[-1] if table.name else None
    place = ClassTable(
        name=name,
        key=table.key,
        label=LabelColumns(zh=shown, en=shown),
        given=table.name[0] if len(table.name) > 1 else None,
        time=table.date,
        counted=True,
        counts=table.counts,
    )
    attributes = tuple(_attribute(c, d) for c, d in table.columns.items() if d.to is None and d.type != "hidden")
    return OntologyClass(
        id=_id(name), labels=_labels(table.called, name), confidence=table.sure, table=place, attributes=attributes
    )


def _attribute(column: str, draft: ColumnDraft) -> Attribute:
    values = tuple(
        EnumValue(id=f"value_{i}", labels=_labels(called, str(code)), stored=code)
        for i, (code, called) in enumerate(draft.codes.items())
    )
    return Attribute(
        id=_id(column),
        labels=_labels(draft.called, column),
        confidence=draft.sure,
        type="enum" if values else _TYPES.get(draft.type, draft.type),
        unit=draft.unit or None,
        values=values,
        column=draft.times[0] if draft.times else column,
        listed=draft.type == "listed",
        aggregation=draft.total,
        times=draft.times[1:],
        less=draft.less,
    )


def _keys(name: str, table: TableDraft, classes: dict[str, TableDraft]) -> Iterator[Relation]:
    for column, draft in table.columns.items():
        if draft.to is None or draft.to not in classes:
            continue
        called = draft.verbs
        yield Relation(
            id=_id(name, column),
            labels=_labels(called, f"{name} {column}"),
            confidence=draft.sure,
            source=_id(name),
            target=_id(draft.to),
            roles=Roles(source=_only(draft.inverse), target=_only(draft.called)),
            contains=draft.contains,
            join=RelationJoin(column=column),
        )


def _link(name: str, table: TableDraft, classes: dict[str, TableDraft]) -> Iterator[Relation]:
    ends = [(column, draft.to) for column, draft in table.columns.items() if draft.to in classes]
    if len(ends) == 2:
        (first, source), (second, target) = ends
        yield Relation(
            id=_id(name),
            labels=_labels(table.called, name),
            confidence=table.sure,
            source=_id(source or ""),
            target=_id(target or ""),
            join=RelationJoin(table=name, source_key=first, target_key=second),
        )
