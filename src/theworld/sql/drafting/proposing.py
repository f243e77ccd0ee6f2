"""Tables as they stand into a draft mapping: names, types, keys, codes, dates, with how sure each is and why.

Nothing is decided that the database does not show: keys come from declarations, or from a comment or a name together
with every value being a key of the other table; codes from a dictionary table or a comment; a column whose rows count
only with one value (deleted = 0) is proposed and said in every answer; a key to the own table contains nothing unless a
person writes `contains: true`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from theworld.sql.drafting import guessing
from theworld.sql.drafting.file import ColumnDraft, MappingFile, TableDraft
from theworld.sql.drafting.inspection import MOST_VALUES, ColumnFacts, TableFacts, inspect_tables, plain_address
from theworld.sql.drafting.wording import (
    comment_label,
    glossary,
    is_chinese,
    labels_for,
    without_ending,
    words_of,
)

_CODE = re.compile(r"(-?\d+)\s*[=:：\-]?\s*([^\W\d_][^\s,，;；/、\d]*)")


def draft_mapping(url: str) -> MappingFile:
    """Return the draft of a database. Raises DatabaseError when it cannot be inspected."""
    from sqlalchemy import make_url

    facts = inspect_tables(url)
    name = re.sub(r"\W+", "_", PurePath(make_url(url).database or "database").stem).strip("_") or "database"
    return MappingFile(database=name, source=plain_address(url), tables=_Draft(facts).tables())


class _Draft:
    def __init__(self, facts: Mapping[str, TableFacts]) -> None:
        self._facts = facts
        self._codes = guessing.dictionaries(facts)
        self._called = {name: guessing.table_labels(table) for name, table in facts.items()}

    def tables(self) -> dict[str, TableDraft]:
        """Return every table that has a key and is no dictionary."""
        hidden = {name for name, _ in self._codes.values()}
        return {name: self._table(t) for name, t in self._facts.items() if t.columns and name not in hidden}

    def _table(self, table: TableFacts) -> TableDraft:
        keys = self._keys(table)
        key = table.key[0] if table.key else next(iter(table.columns))
        link = len(table.key) == 2 and set(table.key) <= set(keys) and len(table.columns) == 2
        counts: dict[str, str | int] = {}
        tenant = None
        columns: dict[str, ColumnDraft] = {}
        for column in table.columns.values():
            words = words_of(column.name)
            if guessing.is_one_of(column.name, "deleted") and set(map(str, column.values)) <= {"0", "1"}:
                counts[column.name] = guessing.stored(column, "0")
                continue
            if guessing.is_one_of(column.name, "tenants"):
                tenant = column.name
            if column.name in keys:
                columns[column.name] = self._relation(table, column, *keys[column.name])
            elif column.name != key or is_chinese(column.comment) or not words.endswith(" id"):
                columns[column.name] = self._column(table, column)
        columns |= guessing.line_amount(table, columns)
        label, own = guessing.naming(table), words_of(table.name)
        unsaid = self._called[table.name] == (own,) and guessing.is_short(own)
        return TableDraft(
            called=self._called[table.name],
            sure=0.6 if unsaid else 0.9,
            key=key,
            name=label,
            date=guessing.main_date(table),
            counts=counts,
            tenant=tenant,
            link=link,
            columns={c: d for c, d in columns.items() if c not in label or len(label) > 1},
        )

    def _keys(self, table: TableFacts) -> dict[str, tuple[str, float, str]]:
        """Return the columns that hold keys of tables: which, how sure, why."""
        found = {c: (target, 1.0, "") for c, target in table.foreign.items()}
        for column in table.columns.values():
            if column.name in found or not column.values or table.key == (column.name,):
                continue
            for other in self._facts.values():
                if len(other.key) != 1 or (other.name == table.name and column.name == other.key[0]):
                    continue
                key = other.columns[other.key[0]]
                why = guessing.names_table(column, other, self._called[other.name]) if column.kind == key.kind else ""
                if why and (len(key.values) > MOST_VALUES or set(column.values) <= set(key.values)):
                    found[column.name] = (other.name, 0.85, f"{why}, all values are keys of {other.name}")
        return found

    def _relation(self, table: TableFacts, column: ColumnFacts, target: str, sure: float, why: str) -> ColumnDraft:
        own = without_ending(words_of(column.name))
        said = without_ending(comment_label(column.comment))
        called = tuple(label for label in labels_for(own, said) if label not in self._called[target])
        inverse: tuple[str, ...] = ()
        verbs: tuple[str, ...] = ()
        if target == table.name:
            for line in glossary()["self_relations"]:
                if {own, said} & set(line["column"]):
                    called = tuple(dict.fromkeys((*line["other"], *called)))
                    inverse, verbs = tuple(line["one"]), tuple(line["verbs"])
            why = why or "refers to its own table; not taken as containment"
        called = tuple(label for label in called if label not in verbs)
        return ColumnDraft(called=called, to=target, sure=sure, why=why, inverse=inverse, verbs=verbs)

    def _column(self, table: TableFacts, column: ColumnFacts) -> ColumnDraft:
        words, said = words_of(column.name), comment_label(column.comment)
        numeric = column.kind in {"number", "integer"}
        unit = next((u for u in glossary()["units"] if u in words.split()), "")
        words = words.removesuffix(f" {unit}") if unit and numeric else words
        words = re.sub(r"^(?:is|has) ", "", words) if column.kind in {"boolean", "integer", "text"} else words
        own = next((f"{label} " for label in self._called[table.name] if words.startswith(f"{label} ")), "")
        bare = words.removeprefix(own)  # `invoice status` as status
        called = labels_for(said, *dict.fromkeys((words, bare)) if not (said and guessing.is_short(words)) else ())
        made: dict[str, Any] = {"called": called or (words,)}
        codes, why = self._values_of(column)
        flags = set(map(str, column.values)) <= {"0", "1"} and len(column.values) > 1 and column.name not in table.key
        if codes:
            made |= {"type": "codes", "codes": codes, "sure": 0.9, "why": why}
        elif column.kind == "boolean" or flags:
            codes = {guessing.stored(column, "1"): called}
            made |= {"type": "codes", "codes": codes, "sure": 0.85, "why": "holds 0 and 1"}
        elif numeric and column.name not in table.key and not guessing.is_one_of(column.name, "tenants"):
            made |= {"type": column.kind, "total": "sum", "unit": glossary()["units"].get(unit, "")}
            billed = glossary()["revenue"]
            tables = {part for label in self._called[table.name] for part in (label, *label.split())}
            if tables & {*billed["tables"]} and {words, said} & {*billed["columns"]} and guessing.main_date(table):
                made["called"] = tuple(dict.fromkeys((*made["called"], *billed["called"])))
                made |= {"sure": 0.8, "why": "an amount of what is sold or billed"}
        elif column.kind == "text":
            made |= {"type": "listed" if guessing.is_listed(column, words) else "text"}
        elif column.kind in {"date", "other"}:
            made |= {"type": "date" if column.kind == "date" else "hidden"}
        return ColumnDraft(**made)

    def _values_of(self, column: ColumnFacts) -> tuple[dict[str | int, tuple[str, ...]], str]:
        """Return what stored values are called, from a dictionary table that a comment or the name points to."""
        said = [kind for kind in self._codes if re.search(rf"字典\s*{re.escape(kind)}\b", column.comment)]
        pointed = said or [kind for kind in self._codes if kind == column.name]
        if pointed:
            place, columns = self._codes[pointed[0]]
            first, second, third = (list(self._facts[place].columns).index(name) for name in columns)
            rows = (row for row in self._facts[place].sample if str(row[first]) == pointed[0])
            known: dict[str | int, str] = {row[second]: str(row[third]) for row in rows}
            if {str(v) for v in column.values} <= {str(k) for k in known}:
                return {code: labels_for(label) for code, label in known.items()}, f"dictionary {place}, {pointed[0]}"
        inline = dict(_CODE.findall(column.comment))
        if len(inline) >= 2 and {str(v) for v in column.values} <= set(inline):
            return {guessing.stored(column, code): labels_for(label) for code, label in inline.items()}, "comment"
        return {}, ""
