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
from theworld.sql.drafting.inspection import MOST_VALUES, ColumnFacts, TableFacts, inspect_tables, plain_address
from theworld.sql.drafting.wording import (
    comment_label,
    glossary,
    is_chinese,
    labels_for,
    singular,
    without_ending,
    words_of,
)

LONGEST_VALUE = 60
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
        self._codes = _dictionaries(facts)
        self._called = {name: _table_labels(table) for name, table in facts.items()}

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
            if _is_one_of(column.name, "deleted") and set(map(str, column.values)) <= {"0", "1"}:
                counts[column.name] = _stored(column, "0")
                continue
            if _is_one_of(column.name, "tenants"):
                tenant = column.name
            if column.name in keys:
                columns[column.name] = self._relation(table, column, *keys[column.name])
            elif column.name != key or is_chinese(column.comment) or not words.endswith(" id"):
                columns[column.name] = self._column(table, column)
        columns |= _line_amount(table, columns)
        label = _naming(table)
        return TableDraft(
            called=self._called[table.name],
            sure=0.6
            if self._called[table.name] == (words_of(table.name),) and _is_short(words_of(table.name))
            else 0.9,
            key=key,
            name=label,
            date=_main_date(table),
            counts=counts,
            tenant=tenant,
            link=link,
            columns={c: d for c, d in columns.items() if c not in label or len(label) > 1},
        )

    def _keys(self, table: TableFacts) -> dict[str, tuple[str, float, str]]:
        """Return the columns that hold keys of tables: which, how sure, why."""
        found = {c: (target, 1.0, "") for c, (target, _) in table.foreign.items()}
        for column in table.columns.values():
            if column.name in found or not column.values or table.key == (column.name,):
                continue
            for other in self._facts.values():
                if len(other.key) != 1 or (other.name == table.name and column.name == other.key[0]):
                    continue
                why = _names_table(column, other, self._called[other.name])
                known = set(other.columns[other.key[0]].values)
                if (
                    why
                    and (len(known) > MOST_VALUES or set(column.values) <= known)
                    and column.kind == other.columns[other.key[0]].kind
                ):
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
        verbs = verbs or _verbs(own)
        called = tuple(label for label in called if label not in verbs)
        return ColumnDraft(called=called, to=target, sure=sure, why=why, inverse=inverse, verbs=verbs)

    def _column(self, table: TableFacts, column: ColumnFacts) -> ColumnDraft:
        words, said = words_of(column.name), comment_label(column.comment)
        unit = next((u for u in glossary()["units"] if words.endswith(f" {u}")), "")
        words = words.removesuffix(f" {unit}") if unit and column.kind in {"number", "integer"} else words
        bare = _without_table(words, self._called[table.name])
        called = labels_for(said, *dict.fromkeys((words, bare)) if not (said and _is_short(words)) else ())
        made: dict[str, Any] = {"called": called or (words,)}
        codes, why = self._values_of(column)
        flags = set(map(str, column.values)) <= {"0", "1"} and bool(column.values)
        if codes:
            made |= {"type": "codes", "codes": codes, "sure": 0.9, "why": why}
        elif column.kind == "boolean" or (flags and len(column.values) > 1 and column.name not in table.key):
            made |= {"type": "codes", "codes": {_stored(column, "1"): called}, "sure": 0.85, "why": "holds 0 and 1"}
        elif column.kind == "date":
            made |= {"type": "date"}
        elif (
            column.kind in {"number", "integer"}
            and column.name not in table.key
            and not _is_one_of(column.name, "tenants")
        ):
            made |= {"type": column.kind, **_measure(called, f"{words} {unit}")}
            if _is_money(self._called[table.name], words, said) and _main_date(table):
                made["called"] = tuple(dict.fromkeys((*made["called"], *glossary()["revenue"]["called"])))
                made |= {"sure": 0.8, "why": "an amount of what is sold or billed"}
        elif column.kind == "text":
            made |= {"type": "listed" if _is_listed(table, column, words) else "text"}
        elif column.kind == "other":
            made |= {"type": "hidden"}
        return ColumnDraft(**made)

    def _values_of(self, column: ColumnFacts) -> tuple[dict[str | int, tuple[str, ...]], str]:
        """Return what stored values are called, from a dictionary table that a comment or the name points to."""
        pointed = [kind for kind in self._codes if re.search(rf"字典\s*{re.escape(kind)}\b", column.comment)]
        pointed += [kind for kind in self._codes if kind == column.name and not pointed]
        pointed += [
            kind
            for kind in self._codes
            if not pointed and re.search(rf"(?i)\bdict\w*\W+{re.escape(kind)}\b", column.comment)
        ]
        if pointed:
            place, entries = self._codes[pointed[0]][0], _entries(self._facts, self._codes, pointed[0])
            if {str(v) for v in column.values} <= {str(k) for k in entries}:
                return {code: labels_for(label) for code, label in entries.items()}, f"dictionary {place}, {pointed[0]}"
        inline = dict(_CODE.findall(column.comment))
        if len(inline) >= 2 and {str(v) for v in column.values} <= set(inline):
            if set(inline.values()) == {"是", "否"}:  # whether it is: the name of the column is what holds
                yes = next(code for code, label in inline.items() if label == "是")
                return {_stored(column, yes): (comment_label(column.comment).removeprefix("是否"),)}, "comment"
            return {_stored(column, code): labels_for(label) for code, label in inline.items()}, "comment"
        return {}, ""


def _verbs(words: str) -> tuple[str, ...]:
    """Return the verbs that a key's name has in it: `referred by`, and of a publisher, `published by`."""
    if words.endswith((" by", " to", " of", " from")):
        return (words,)
    agent = re.fullmatch(r"([a-z]{3,})(?:er|or)", words)
    return (f"{agent[1]}ed by",) if agent else ()


def _is_one_of(name: str, section: str) -> bool:
    words = {name.casefold(), words_of(name), words_of(name).replace(" ", "_")}
    return bool(words & set(glossary()[section]))


def _is_short(words: str) -> bool:
    """Return whether a name is an abbreviation that nobody says: few letters, no word of the glossary."""
    return words.isascii() and labels_for(words) == (words,) and max(map(len, words.split())) <= 4


def _stored(column: ColumnFacts, text: str) -> str | int:
    return int(text) if column.kind in {"integer", "number", "boolean"} else text


def _table_labels(table: TableFacts) -> tuple[str, ...]:
    own = singular(words_of(table.name))
    key = table.columns[table.key[0]] if len(table.key) == 1 else None
    said = without_ending(comment_label(key.comment)) if key is not None and key.name not in table.foreign else ""
    about = comment_label(table.comment)
    if about or (said and is_chinese(said)):
        return labels_for(about, said, *(() if own.isascii() and _is_short(own) else (own,)))
    return labels_for(own)


def _without_table(words: str, called: tuple[str, ...]) -> str:
    """Return a column's words without the table's name before them: `invoice date` as date."""
    for label in called:
        if words.startswith(f"{label} "):
            return words[len(label) + 1 :]
    return words


def _names_table(column: ColumnFacts, other: TableFacts, called: tuple[str, ...]) -> str:
    """Return why a column might hold keys of a table, empty when nothing says so."""
    key = other.key[0]
    if re.search(rf"(?<!\w){re.escape(other.name)}\.{re.escape(key)}(?!\w)", column.comment):
        return "its comment names the key"
    own = words_of(column.name)
    stem = without_ending(own)
    if stem != own and (stem in called or singular(words_of(other.name)) == stem):
        return "its name is the table's"
    if column.name == key and len(words_of(key)) > 2 and words_of(key) not in {"code", "编号", "name"}:
        return "its name is the key's"
    return ""


def _naming(table: TableFacts) -> tuple[str, ...]:
    """Return the columns that together name a row."""
    words = {c: words_of(c) for c, d in table.columns.items() if d.kind == "text" and d.values}
    first = next((c for c, w in words.items() if w in {"first name", "given name"}), None)
    last = next((c for c, w in words.items() if w in {"last name", "surname", "family name"}), None)
    if first and last:
        return first, last
    own = singular(words_of(table.name))
    said = {c: f"{w} {comment_label(table.columns[c].comment)}".strip() for c, w in words.items()}
    for pattern in (
        rf"^({re.escape(own)} )?(name|title)\b",
        r"(名称|姓名|名字|书名|标题)",
        r"(^| )name$",
        r"\bdescription$",
    ):
        for column, text in said.items():
            unlike = re.search(r"contact|ship|user|file|nick|联系", text)
            distinct = len(table.columns[column].values)
            if (
                re.search(pattern, text)
                and not unlike
                and column not in table.foreign
                and (distinct > MOST_VALUES or 2 * distinct > min(table.rows, MOST_VALUES))
            ):
                return (column,)
    return ()


def _main_date(table: TableFacts) -> str | None:
    """Return the column of when a row happened: a date that is not somebody's birthday nor a term, filled, the first."""
    dates = [c for c in table.columns.values() if c.kind == "date"]
    if not table.foreign and not any(words_of(c.name).startswith(singular(words_of(table.name))) for c in dates):
        if not any(
            without_ending(words_of(c.name)) != words_of(c.name) and c.name not in table.key
            for c in table.columns.values()
        ):
            return None
    own = [c for c in dates if not any(w in f"{words_of(c.name)} {c.comment}" for w in glossary()["people_dates"])]
    full = [c for c in own if c.filled == table.rows] or own
    named = [c for c in full if words_of(c.name).startswith(singular(words_of(table.name)))]
    return next((c.name for c in named or full), None)


def _measure(called: tuple[str, ...], words: str) -> dict[str, Any]:
    """Return the unit and how numbers are put together."""
    named = " ".join((words, *called)).split()
    unit = next((u for word, u in glossary()["units"].items() if word in words.split()), "")
    if any(
        word in glossary()["averaged"] or any(is_chinese(a) and a in word for a in glossary()["averaged"])
        for word in named
    ):
        return {"total": "average", **({"unit": unit} if unit else {})}
    return {"total": "sum", **({"unit": unit} if unit else {})}


def _line_amount(table: TableFacts, columns: Mapping[str, ColumnDraft]) -> dict[str, ColumnDraft]:
    """Return what a line of an order comes to, where it has a price and a quantity and belongs to something else."""
    named = {c: {*d.called} for c, d in columns.items() if d.type in {"number", "integer"}}
    price, quantity, discount = (
        next((c for c, called in named.items() if word in called), None)
        for word in ("unit price", "quantity", "discount")
    )
    if price is None or quantity is None or not table.foreign:
        return {}
    called = ("line amount", *glossary()["revenue"]["called"])
    why = "price times quantity" + (", less the discount" if discount else "")
    return {"line amount": ColumnDraft(
        called=called, type="number", total="sum", times=(price, quantity), less=discount, sure=0.8, why=why
    )}  # fmt: skip


def _is_money(table: tuple[str, ...], words: str, said: str) -> bool:
    line = glossary()["revenue"]
    parts = {part for label in table for part in (label, *label.split())}
    return bool(parts & set(line["tables"])) and bool({words, said} & set(line["columns"]))


def _is_listed(table: TableFacts, column: ColumnFacts, words: str) -> bool:
    """Return whether a text column has values that a question may name: they repeat, and are short words."""
    if any(word in glossary()["private"] for word in (*words.split(), comment_label(column.comment))):
        return False
    texts = [str(v) for v in column.values]
    short = texts and len(texts) <= MOST_VALUES and all(len(t) <= LONGEST_VALUE for t in texts)
    lettered = all(re.search(r"[^\W\d_]", t) for t in texts)
    return bool(short and lettered and (len(texts) <= 12 or len(texts) <= 0.9 * column.filled))


def _dictionaries(facts: Mapping[str, TableFacts]) -> dict[str, tuple[str, tuple[str, str, str]]]:
    """Return the kinds of codes that dictionary tables hold: the table and its columns of kind, code and label."""
    found: dict[str, tuple[str, tuple[str, str, str]]] = {}
    for table in facts.values():
        rest = [c for c in table.columns if c not in table.key]
        if len(table.key) == 2 and rest and not table.foreign and table.columns[table.key[0]].kind == "text":
            for kind in table.columns[table.key[0]].values:
                found[str(kind)] = (table.name, (table.key[0], table.key[1], rest[0]))
    return found


def _entries(facts: Mapping[str, TableFacts], codes: Mapping[str, Any], kind: str) -> dict[str | int, str]:
    table, (first, second, label) = codes[kind]
    return {row[1]: str(row[2]) for row in facts[table].pairs(first, second, label) if str(row[0]) == kind}
