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

from theworld.sql.drafting.file import ColumnDraft, MappingFile, TableDraft
from theworld.sql.drafting.guessing import (
    dictionaries,
    entries,
    is_listed,
    is_money,
    is_one_of,
    is_short,
    line_amount,
    main_date,
    measure,
    names_table,
    naming,
    stored,
    table_labels,
    without_table,
)
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
        self._codes = dictionaries(facts)
        self._called = {name: table_labels(table) for name, table in facts.items()}

    def tables(self) -> dict[str, TableDraft]:
        """Return every table that has a key and is no dictionary."""
        hidden = {name for name, _ in self._codes.values()}
        return self._with_tenants(
            {name: self._table(t) for name, t in self._facts.items() if t.columns and name not in hidden}
        )

    def _with_tenants(self, tables: dict[str, TableDraft]) -> dict[str, TableDraft]:
        """Return the tables with what tenants are called, where one table says so, said of them all."""
        known = [(name, t.columns[t.tenant]) for name, t in tables.items() if t.tenant and t.columns[t.tenant].codes]
        if len(known) != 1:
            return tables
        ((source, coded),) = known
        made = dict(tables)
        for name, table in tables.items():
            values = self._facts[name].columns[table.tenant].values if table.tenant else ()
            if table.tenant and name != source and {str(v) for v in values} <= {str(code) for code in coded.codes}:
                told = coded.model_copy(update={"sure": 0.85, "why": f"as in {source}"})
                made[name] = table.model_copy(update={"columns": {**table.columns, table.tenant: told}})
        return made

    def _table(self, table: TableFacts) -> TableDraft:
        keys = self._keys(table)
        key = table.key[0] if table.key else next(iter(table.columns))
        link = len(table.key) == 2 and set(table.key) <= set(keys) and len(table.columns) == 2
        counts: dict[str, str | int] = {}
        tenant = None
        columns: dict[str, ColumnDraft] = {}
        for column in table.columns.values():
            words = words_of(column.name)
            if is_one_of(column.name, "deleted") and set(map(str, column.values)) <= {"0", "1"}:
                counts[column.name] = stored(column, "0")
                continue
            if is_one_of(column.name, "tenants"):
                tenant = column.name
            if column.name in keys:
                columns[column.name] = self._relation(table, column, *keys[column.name])
            elif column.name != key or is_chinese(column.comment) or not words.endswith(" id"):
                columns[column.name] = self._column(table, column)
        columns |= line_amount(table, columns)
        label = naming(table)
        return TableDraft(
            called=self._called[table.name],
            sure=0.6 if self._called[table.name] == (words_of(table.name),) and is_short(words_of(table.name)) else 0.9,
            key=key,
            name=label,
            date=main_date(table),
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
                why = names_table(column, other, self._called[other.name]) if column.kind == key.kind else ""
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
        verbs = (*verbs, *_verbs(own))
        called = tuple(label for label in called if label not in verbs)
        return ColumnDraft(called=called, to=target, sure=sure, why=why, inverse=inverse, verbs=verbs)

    def _column(self, table: TableFacts, column: ColumnFacts) -> ColumnDraft:
        words, said = words_of(column.name), comment_label(column.comment)
        unit = next((u for u in glossary()["units"] if words.endswith(f" {u}")), "")
        words = words.removesuffix(f" {unit}") if unit and column.kind in {"number", "integer"} else words
        words = re.sub(r"^(?:is|has) ", "", words) if column.kind in {"boolean", "integer", "text"} else words
        bare = without_table(words, self._called[table.name])
        called = labels_for(said, *dict.fromkeys((words, bare)) if not (said and is_short(words)) else ())
        made: dict[str, Any] = {"called": called or (words,)}
        codes, why = self._values_of(column)
        flags = set(map(str, column.values)) <= {"0", "1"} and bool(column.values)
        if codes:
            made |= {"type": "codes", "codes": codes, "sure": 0.9, "why": why}
        elif column.kind == "boolean" or (flags and len(column.values) > 1 and column.name not in table.key):
            made |= {"type": "codes", "codes": {stored(column, "1"): called}, "sure": 0.85, "why": "holds 0 and 1"}
        elif column.kind == "date":
            made |= {"type": "date"}
        elif (
            column.kind in {"number", "integer"}
            and column.name not in table.key
            and not is_one_of(column.name, "tenants")
        ):
            made |= {"type": column.kind, **measure(called, f"{words} {unit}")}
            if is_money(self._called[table.name], words, said) and main_date(table):
                made["called"] = tuple(dict.fromkeys((*made["called"], *glossary()["revenue"]["called"])))
                made |= {"sure": 0.8, "why": "an amount of what is sold or billed"}
        elif column.kind == "text":
            made |= {"type": "listed" if is_listed(column, words) else "text"}
        elif column.kind == "other":
            made |= {"type": "hidden"}
        return ColumnDraft(**made)

    def _values_of(self, column: ColumnFacts) -> tuple[dict[str | int, tuple[str, ...]], str]:
        """Return what stored values are called, from a dictionary table that a comment or the name points to."""
        forms = r"字典\s*{}\b", r"(?i)\bdict\w*\W+{}\b"
        said = [[k for k in self._codes if re.search(form.format(re.escape(k)), column.comment)] for form in forms]
        pointed = said[0] or [kind for kind in self._codes if kind == column.name] or said[1]
        if pointed:
            place, known = self._codes[pointed[0]][0], entries(self._facts, self._codes, pointed[0])
            if {str(v) for v in column.values} <= {str(k) for k in known}:
                return {code: labels_for(label) for code, label in known.items()}, f"dictionary {place}, {pointed[0]}"
        inline = dict(_CODE.findall(column.comment))
        if len(inline) >= 2 and {str(v) for v in column.values} <= set(inline):
            if set(inline.values()) == {"是", "否"}:  # whether it is: the name of the column is what holds
                yes = next(code for code, label in inline.items() if label == "是")
                return {stored(column, yes): (comment_label(column.comment).removeprefix("是否"),)}, "comment"
            return {stored(column, code): labels_for(label) for code, label in inline.items()}, "comment"
        return {}, ""


def _verbs(words: str) -> tuple[str, ...]:
    """Return the verbs that a key's name has in it: `referred by`, and of a publisher, `published by`."""
    if words.endswith((" by", " to", " of", " from")):
        return (words,)
    agent = re.fullmatch(r"([a-z]{3,})(?:er|or)", words)
    return (f"{agent[1]}ed by",) if agent else ()
