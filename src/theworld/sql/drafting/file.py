"""The short mapping file: tables, columns, what people call them; read, written, and merged with a new draft.

    database: shop
    tables:
      Orders:
        called: [order, 订单]
        key: OrderID
        date: OrderDate
        columns:
          ShipVia: {called: [shipper, 承运商], to: Shippers}

What stands in a file is never changed by drafting again: only tables and columns that it does not know are added.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError

from theworld.errors import OntologyError
from theworld.ontology import Attribute, ClassTable, Labels, Ontology, OntologyClass, Relation
from theworld.ontology.files.reading import ENDINGS, not_yaml, text_of
from theworld.ontology.model import EnumValue, LabelColumns, Part, RelationJoin, Roles
from theworld.text.tokens import has_ideographs

ColumnType = Literal["text", "listed", "codes", "number", "integer", "date", "stamp", "hidden"]


class _Drafted(Part):
    called: tuple[str, ...] = Field(default=(), description="Names, in any language; the first of each is preferred")
    sure: float = Field(
        default=1.0, ge=0, le=1, description="How sure the draft is; take the line out when it is right"
    )
    why: str = Field(default="", description="What the draft rests on")
    proposed: tuple[str, ...] = Field(
        default=(), description="Names that a language model proposes, not used: move the right ones to `called`"
    )


class ColumnDraft(_Drafted):
    """One column."""

    type: ColumnType = Field(
        default="text",
        description="`listed`: its values may be named; `stamp`: a date kept as a number, read where `unit` is s or ms",
    )
    unit: str = ""
    total: Literal["sum", "average"] | None = Field(default=None, description="How its numbers are put together")
    times: tuple[str, ...] = Field(
        default=(), description="Not a column of its own but these multiplied: price, quantity"
    )
    less: str | None = Field(default=None, description="Column of the share that is taken off: a discount")
    codes: dict[str | int, tuple[str, ...]] = Field(default_factory=dict, description="What stored values are called")
    to: str | None = Field(default=None, description="Table whose key it holds")
    contains: bool = Field(default=False, description="A row belongs to the one it names, and counts for it")
    inverse: tuple[str, ...] = Field(default=(), description="What the rows are to the one they name")
    verbs: tuple[str, ...] = Field(default=(), description="Verbs that say it")


class TableDraft(_Drafted):
    """One table."""

    key: str
    name: tuple[str, ...] = Field(default=(), description="Columns that together name a row")
    date: str | None = Field(default=None, description="Column of when it happened")
    counts: dict[str, str | int | None] = Field(
        default_factory=dict, description="Only rows with these values count; null: with none"
    )
    tenant: str | None = Field(default=None, description="Rows are shown only to the tenant named in this column")
    link: bool = Field(default=False, description="Only ties two tables together")
    columns: dict[str, ColumnDraft] = Field(default_factory=dict)


class Confirmed(Part):
    """A question with the statement that a person has found to answer it."""

    ask: str = Field(min_length=1)
    sql: str = Field(min_length=1)


class MappingFile(Part):
    """A whole mapping."""

    database: str
    source: str = Field(default="", description="Address without password")
    tables: dict[str, TableDraft]
    questions: tuple[Confirmed, ...] = Field(default=(), description="Recalled as they are, and run by `check`")

    @property
    def tenants(self) -> tuple[str, ...]:
        """The columns that say to which tenant alone a row is shown, each with its table."""
        return tuple(f"{name}.{table.tenant}" for name, table in self.tables.items() if table.tenant)

    def for_all(self) -> MappingFile:
        """Return the mapping with every row shown to whoever asks."""
        tables = {name: table.model_copy(update={"tenant": None}) for name, table in self.tables.items()}
        return self.model_copy(update={"tables": tables})


def read_mapping(file: Path) -> MappingFile | None:
    """Return the mapping in a file, None when it is not of this form (an ontology); OntologyError when it is wrong."""
    if ENDINGS.get(file.suffix.lower(), "yaml") not in {"yaml", "json"}:
        return None
    try:
        data = yaml.safe_load(text_of(file))
    except yaml.YAMLError as error:
        raise OntologyError(not_yaml(error), where=str(file)) from error
    if not isinstance(data, dict) or "tables" not in data:
        return None
    try:
        return MappingFile.model_validate(data)
    except ValidationError as error:
        said = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:10])
        raise OntologyError(f"is no mapping of a database: {said}", where=str(file)) from error


class _Dumper(yaml.SafeDumper):
    """Writes tuples, and what stands in a column, in one line."""


class _OneLine(dict[Any, Any]):
    """A mapping written in one line."""


_Dumper.add_representer(_OneLine, lambda dumper, one: dumper.represent_mapping("tag:yaml.org,2002:map", one, True))
_Dumper.add_representer(
    tuple, lambda dumper, one: dumper.represent_sequence("tag:yaml.org,2002:seq", one, flow_style=True)
)

HEAD = """\
# How questions to this database are read. Drafted: check what is not `sure`, change or delete any line.
# `theworld database draft` again adds what is new in the database and changes nothing that stands here.
"""


def write_mapping(mapping: MappingFile) -> str:
    """Return the text of a mapping: one line a column, and only what differs from the usual."""
    tables: dict[str, Any] = {}
    for name, table in mapping.tables.items():
        own = table.model_dump(exclude_defaults=True)
        own |= {"counts": _OneLine(table.counts)} if table.counts else {}
        columns = {c: _OneLine(d.model_dump(exclude_defaults=True)) for c, d in table.columns.items()}
        tables[name] = own | {"columns": columns}
    data: dict[str, Any] = {"database": mapping.database, "source": mapping.source, "tables": tables}
    if mapping.questions:
        data["questions"] = [one.model_dump() for one in mapping.questions]
    return HEAD + yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=1000)


def merge(written: MappingFile, drafted: MappingFile) -> tuple[MappingFile, list[str], list[str]]:
    """Return the written mapping with what only the draft has, and the names of what is new and of what is gone."""
    new: list[str] = []
    gone = [name for name in written.tables if name not in drafted.tables]
    tables = dict(written.tables)
    for name, fresh in drafted.tables.items():
        own = written.tables.get(name)
        if own is None:
            tables[name] = fresh
            new.append(name)
            continue
        more = {c: d for c, d in fresh.columns.items() if c not in own.columns}
        kept = {*fresh.columns, *fresh.counts, fresh.key, *fresh.name}
        new += [f"{name}.{column}" for column in more]
        gone += [f"{name}.{c}" for c, d in own.columns.items() if c not in kept and not d.times]
        tables[name] = own.model_copy(update={"columns": {**own.columns, **more}})
    return written.model_copy(update={"tables": tables}), new, gone


def save_mapping(mapping: MappingFile, file: Path) -> None:
    """Write a mapping file whole or not at all."""
    partial = file.with_name(f".{file.name}.partial")
    partial.write_text(write_mapping(mapping), "utf-8")
    partial.replace(file)


_TYPES = {"listed": "string", "text": "string", "codes": "enum", "stamp": "date"}


def to_ontology(mapping: MappingFile) -> Ontology:
    """Return the ontology that a mapping says, with one class a table; links of two tables are relations.

    Raises OntologyError naming the columns that refer to tables which the mapping does not have.
    """
    _check_references(mapping)
    classes = {name: table for name, table in mapping.tables.items() if not table.link}
    relations = [
        Relation(
            id=_id(name, column),
            labels=_labels(draft.verbs, f"{name} {column}"),
            confidence=draft.sure,
            source=_id(name),
            target=_id(draft.to),
            roles=Roles(source=_labels(draft.inverse), target=_labels(draft.called)),
            contains=draft.contains,
            join=RelationJoin(column=column),
        )
        for name, table in classes.items()
        for column, draft in table.columns.items()
        if draft.to is not None and draft.to in classes and column != table.tenant
    ]
    for name, table in mapping.tables.items():
        ends = [(column, draft.to) for column, draft in table.columns.items() if draft.to in classes]
        if table.link and len(ends) == 2:
            (first, source), (second, target) = ends
            relations.append(
                Relation(
                    id=_id(name),
                    labels=_labels(table.called, name),
                    confidence=table.sure,
                    source=_id(source or ""),
                    target=_id(target or ""),
                    join=RelationJoin(table=name, source_key=first, target_key=second, tenant=table.tenant),
                )
            )
    own = tuple(_class(name, table) for name, table in classes.items())
    return Ontology(id=_id(mapping.database), classes=own, relations=tuple(relations))


def _check_references(mapping: MappingFile) -> None:
    refers = ((n, c, one.to) for n, table in mapping.tables.items() for c, one in table.columns.items() if one.to)
    missing = [
        f"{name}.{c} is `to: {to}`, which is no table here" for name, c, to in refers if to not in mapping.tables
    ]
    if missing:
        raise OntologyError(f"the mapping does not fit together: {'; '.join(missing)}", where=mapping.database)


def _id(*names: str) -> str:
    return re.sub(r"\W", "_", "-".join(names).replace("-", "_"))


def _labels(called: Iterable[str], name: str = "") -> Labels:
    said = [*called] or ([name] if name else [])
    return Labels(zh=tuple(s for s in said if has_ideographs(s)), en=tuple(s for s in said if not has_ideographs(s)))


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
        tenant=table.tenant,
    )
    attributes = tuple(
        Attribute(
            id=_id(column),
            labels=_labels(draft.called, column),
            confidence=draft.sure if draft.type != "stamp" or draft.unit else 0.0,
            type="enum" if draft.codes else _TYPES.get(draft.type, draft.type),
            unit=draft.unit or None,
            values=tuple(
                EnumValue(id=f"value_{i}", labels=_labels(called, str(code)), stored=code)
                for i, (code, called) in enumerate(draft.codes.items())
            ),
            column=draft.times[0] if draft.times else column,
            listed=draft.type == "listed",
            aggregation=draft.total,
            times=draft.times[1:],
            less=draft.less,
        )
        for column, draft in table.columns.items()
        if draft.to is None and draft.type != "hidden" and column != table.tenant
    )
    return OntologyClass(
        id=_id(name), labels=_labels(table.called, name), confidence=table.sure, table=place, attributes=attributes
    )
