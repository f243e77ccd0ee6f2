"""Tables as they stand into a draft mapping: names, types, keys, codes, dates, with how sure each is and why.

Nothing is decided that the database does not show: keys come from declarations, or from a comment or a name together
with every value being a key of the other table; codes from a dictionary table or a comment; a column whose rows count
only with one value (deleted = 0) is proposed and said in every answer; a key to the own table contains nothing unless a
person writes `contains: true`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import PurePath
from typing import Any

from sqlalchemy import make_url

from theworld.packages import load_table
from theworld.sql.drafting.file import ColumnDraft, MappingFile, TableDraft
from theworld.sql.drafting.inspection import MOST_VALUES, ColumnFacts, TableFacts, inspect_tables, plain_address
from theworld.text.quantities import find_quantities
from theworld.text.tokens import has_ideographs

GLOSSARY: Mapping[str, Any] = load_table("theworld.sql", "data/glossary.yaml")
LONGEST_VALUE = 60
_BRACKET = re.compile(r"\s*[(（\[]\s*(.{1,20}?)\s*[)）\]]\s*$")
"""The unit in a column's name: Deposit (EUR)."""
_DAY = re.compile(r"(18|19|20|21)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
_LETTER = re.compile(r"[^\W\d_]")
_CODE = re.compile(r"(-?\d+|(?<![A-Za-z])[A-Z]{1,2}(?![A-Za-z]))\s*[=:：\-]?\s*([^\W\d_][^\s,，;；/、\d]*)")


def draft_mapping(url: str) -> MappingFile:
    """Return the draft of a database. Raises DatabaseError when it cannot be inspected."""
    facts = inspect_tables(url)
    name = re.sub(r"\W+", "_", PurePath(make_url(url).database or "database").stem).strip("_") or "database"
    return MappingFile(database=name, source=plain_address(url), tables=_Draft(facts).tables())


class _Draft:
    def __init__(self, facts: Mapping[str, TableFacts]) -> None:
        self._facts = facts
        self._kinds: dict[str, tuple[str, tuple[str, str, str]]] = {}
        """The kinds of codes that dictionary tables hold: the table and its columns of kind, code and label."""
        for table in facts.values():
            rest = [c for c in table.columns if c not in table.key]
            if len(table.key) == 2 and rest and not table.foreign and table.columns[table.key[0]].kind == "text":
                place = table.name, (table.key[0], table.key[1], rest[0])
                self._kinds |= {str(kind): place for kind in table.columns[table.key[0]].values}
        self._called: dict[str, tuple[str, ...]] = {}
        """What the rows of a table are called: by its comment, by that of its key (药品编码), by its name."""
        for name, table in facts.items():
            own, about = singular(words_of(table.name)), comment_label(table.comment)
            key = table.columns[table.key[0]] if len(table.key) == 1 else None
            said = "" if key is None or key.name in table.foreign else without_ending(comment_label(key.comment))
            if about or (said and has_ideographs(said)):
                self._called[name] = labels_for(about, said, *(() if own.isascii() and _is_short(own) else (own,)))
            else:
                self._called[name] = labels_for(own)

    def tables(self) -> dict[str, TableDraft]:
        """Return every table that has a key and is no dictionary."""
        hidden = {name for name, _ in self._kinds.values()}
        return {name: self._table(t) for name, t in self._facts.items() if t.columns and name not in hidden}

    def _table(self, table: TableFacts) -> TableDraft:
        keys = self._keys(table)
        key = next(iter([*_without_tenant(table.key), *table.key, *table.columns]))
        link = len(table.key) == 2 and set(table.key) <= set(keys) and len(table.columns) == 2
        counts: dict[str, str | int | None] = {}
        tenant = None
        columns: dict[str, ColumnDraft] = {}
        for column in table.columns.values():
            words = words_of(column.name)
            deleted = _not_deleted(table, column)
            if deleted is not None:
                counts |= deleted
                continue
            if _is_one_of(column.name, "tenants"):
                tenant = column.name
            if column.name in keys:
                columns[column.name] = self._relation(table, column, *keys[column.name])
            elif column.name != key or has_ideographs(column.comment) or not words.endswith(" id"):
                columns[column.name] = self._column(table, column)
        columns |= _line_amount(table, columns)
        label, words = _naming(table), words_of(table.name)
        unsaid = self._called[table.name] == (words,) and _is_short(words)
        return TableDraft(
            called=self._called[table.name],
            sure=0.6 if unsaid else 0.9,
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
        parts = {name for key in composite_keys(table) for name in key}
        found = {c: (target, 1.0, "") for c, target in self._declared(table).items() if c not in parts}
        for column in table.columns.values():
            if column.name in {*found, *parts} or not column.values or table.key == (column.name,):
                continue
            for other in self._facts.values():
                if len(other.key) != 1 or (other.name == table.name and column.name == other.key[0]):
                    continue
                key = other.columns[other.key[0]]
                why = _names_table(column, other, self._called[other.name]) if column.kind == key.kind else ""
                if why and (len(key.values) > MOST_VALUES or set(column.values) <= set(key.values)):
                    found[column.name] = (other.name, 0.85, f"{why}, all values are keys of {other.name}")
        return found

    def _declared(self, table: TableFacts) -> dict[str, str]:
        """Return the tables that single columns are declared to refer to, a tenant beside them not counted."""
        hidden = {name for name, _ in self._kinds.values()}
        own = {key: _without_tenant(key) or [*key] for key in table.refers}
        return {own[k][0]: other for k, other in table.refers.items() if len(own[k]) == 1 and other not in hidden}

    def _relation(self, table: TableFacts, column: ColumnFacts, target: str, sure: float, why: str) -> ColumnDraft:
        own = without_ending(words_of(column.name))
        said = without_ending(comment_label(column.comment))
        called = tuple(label for label in labels_for(own, said) if label not in self._called[target])
        inverse: tuple[str, ...] = ()
        verbs: tuple[str, ...] = ()
        if target == table.name:
            for line in GLOSSARY["self_relations"]:
                if {own, said} & set(line["column"]):
                    called = tuple(dict.fromkeys((*line["other"], *called)))
                    inverse, verbs = tuple(line["one"]), tuple(line["verbs"])
            why = why or "refers to its own table; not taken as containment"
        called = tuple(label for label in called if label not in verbs)
        return ColumnDraft(called=called, to=target, sure=sure, why=why, inverse=inverse, verbs=verbs)

    def _column(self, table: TableFacts, column: ColumnFacts) -> ColumnDraft:
        said, numeric = comment_label(column.comment), column.kind in {"number", "integer"}
        bare, bracket = _apart_from_unit(column, table)
        parts = words_of(bare).split()
        unit = next((u for u in GLOSSARY["units"] if u in parts), "") if numeric else ""
        words = re.sub(r"^(?:is|has) ", "", " ".join(parts).removesuffix(f" {unit}"))
        own = next((f"{label} " for label in self._called[table.name] if words.startswith(f"{label} ")), "")
        plain = () if said and _is_short(words) else (words, words.removeprefix(own))  # `invoice status` as status
        called = labels_for(said, *plain)
        made: dict[str, Any] = {"called": called or (words,)}
        codes, sure, why = self._codes_of(table, column, called)
        if codes:
            made |= {"type": "codes", "codes": codes, "sure": sure, "why": why}
        elif other := _no_quantity(column, words):
            made |= other
        elif numeric and column.name not in table.key and not _is_one_of(column.name, "tenants"):
            level = "unit price" in called or unit == "percent" or _ends_in(words, "averaged")  # adds up to nothing
            total = "average" if level else "sum"
            made |= {"type": column.kind, "total": total, "unit": GLOSSARY["units"].get(unit, bracket)}
            if {words, said} & {*GLOSSARY["revenue"]["columns"]} and self._is_billed(table):
                made["called"] = tuple(dict.fromkeys((*made["called"], *GLOSSARY["revenue"]["called"])))
                made |= {"sure": 0.8, "why": "an amount of what is sold or billed"}
        else:
            listed = "listed" if column.kind == "text" and _is_listed(column, words) else "text"
            made["type"] = {"date": "date", "other": "hidden"}.get(column.kind, listed)
        return ColumnDraft(**made)

    def _is_billed(self, table: TableFacts) -> bool:
        """Return whether rows are what is sold or billed at a time."""
        tables = {part for label in self._called[table.name] for part in (label, *label.split())}
        return bool(tables & {*GLOSSARY["revenue"]["tables"]}) and _main_date(table) is not None

    def _codes_of(
        self, table: TableFacts, column: ColumnFacts, called: tuple[str, ...]
    ) -> tuple[dict[str | int, tuple[str, ...]], float, str]:
        """Return what stored values are called, how sure, and why: a dictionary table, the comment, or 0 and 1."""
        stored = set(map(str, column.values))
        said = [kind for kind in self._kinds if re.search(rf"字典\s*{re.escape(kind)}\b", column.comment)]
        for kind in (said or [kind for kind in self._kinds if kind == column.name])[:1]:
            place, columns = self._kinds[kind]
            first, second, third = (list(self._facts[place].columns).index(name) for name in columns)
            rows = (row for row in self._facts[place].sample if str(row[first]) == kind)
            known: dict[str | int, str] = {row[second]: str(row[third]) for row in rows}
            if stored <= set(map(str, known)):
                return {code: labels_for(label) for code, label in known.items()}, 0.9, f"dictionary {place}, {kind}"
        inline = dict(_CODE.findall(column.comment))
        if len(inline) >= 2 and stored <= set(inline):
            return {_stored(column, code): labels_for(label) for code, label in inline.items()}, 0.9, "comment"
        flag = column.kind == "boolean" or (stored == {"0", "1"} and column.name not in table.key)
        sure = _sure_flag(column) if flag else 0
        return ({_stored(column, "1"): called} if sure else {}), sure, "holds 0 and 1"


def _not_deleted(table: TableFacts, column: ColumnFacts) -> dict[str, str | int | None] | None:
    """Return what a column that marks rows as deleted holds in the others: 0, or nothing; None for another column."""
    stored = set(map(str, column.values))
    if _is_one_of(column.name, "deleted") and (column.kind == "boolean" or stored <= {"0", "1"}):
        return {column.name: _stored(column, "0")}
    place = [*table.columns].index(column.name)
    if _is_one_of(column.name, "deleted_when") and not any(row[place] == "" for row in table.sample):
        return {column.name: _stored(column, "0") if "0" in stored else None}
    return None


def _ends_in(words: str, section: str) -> bool:
    """Return whether the last word of a name is one of a list of the glossary."""
    chinese = tuple(word for word in GLOSSARY[section] if has_ideographs(word))
    return words.endswith(chinese) or words.rsplit(maxsplit=1)[-1] in GLOSSARY[section]


def _stamp_unit(column: ColumnFacts) -> str | None:
    """Return what a column called a date counts since 1970: s, ms; "" of days such as 20240131, None of all else."""
    numeric = column.kind in {"integer", "number"} and bool(column.values)
    if not numeric or not _ends_in(words_of(column.name), "moments"):
        return None
    if all(_DAY.fullmatch(str(value)) for value in column.values):
        return ""
    spans = {"s": (10**8, 10**10), "ms": (10**11, 10**13)}
    return next((u for u, (least, end) in spans.items() if all(least <= v < end for v in column.values)), None)


def _no_quantity(column: ColumnFacts, words: str) -> dict[str, str]:
    """Return what is drafted of a column whose numbers add up to nothing; nothing of another."""
    if (unit := _stamp_unit(column)) is not None:
        why = "read as times in UTC" if unit else "dates kept as numbers: questions by it are declined"
        return {"type": "stamp", "unit": unit, "why": why}
    # Whether a name says that its numbers tell things apart: account no, 会员编号.
    apart = words != "number" and (words in GLOSSARY["endings"] or without_ending(words) != words)
    if column.kind in {"integer", "number"} and (apart or _ends_in(words, "kinds")):
        return {"type": column.kind, "why": "numbers that add up to nothing"}
    return {}


def _sure_flag(column: ColumnFacts) -> float:
    """Return how sure it is that 1 in a column means what it is called: is open, 是否营业; 0 of a kind."""
    words = words_of(column.name)
    if _ends_in(words, "kinds"):
        return 0
    first, last = words.split(maxsplit=1)[0], words.rsplit(maxsplit=1)[-1]
    chinese = tuple(w for w in GLOSSARY["flags"] if has_ideographs(w))
    known = labels_for(words, sections=("values",)) != (words,)
    said = first in GLOSSARY["flags"] or words.startswith(chinese) or known or last.endswith(("ed", "able", "ible"))
    return 0.85 if said or column.kind == "boolean" else 0.6


def composite_keys(table: TableFacts) -> dict[tuple[str, ...], str]:
    """Return the keys of several columns, and the tables they refer to: no relation stands for one of them."""
    return {key: target for key, target in table.refers.items() if len(_without_tenant(key)) > 1}


def _without_tenant(key: Iterable[str]) -> list[str]:
    """Return the columns of a key that tell the rows of one tenant apart."""
    return [column for column in key if not _is_one_of(column, "tenants")]


def _is_one_of(name: str, section: str) -> bool:
    """Return whether a name stands in a list of the glossary, as written or as words."""
    words = {name.casefold(), words_of(name), words_of(name).replace(" ", "_")}
    return bool(words & set(GLOSSARY[section]))


def _is_short(words: str) -> bool:
    """Return whether a name is an abbreviation that nobody says: few letters, no word of the glossary."""
    return words.isascii() and labels_for(words) == (words,) and max(map(len, words.split())) <= 4


def _stored(column: ColumnFacts, text: str) -> str | int:
    """Return a value as the column holds it: a number where it holds numbers."""
    return int(text) if column.kind in {"integer", "number", "boolean"} else text


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
    enough = min(len(table.sample), MOST_VALUES) / 2  # different values, to tell rows apart
    telling = [c for c in words if c not in table.foreign and len(table.columns[c].values) > enough]
    said = {c: f"{words[c]} {comment_label(table.columns[c].comment)}".strip() for c in telling}
    patterns = (
        rf"^({re.escape(own)} )?(name|title)\b",
        r"(名称|姓名|名字|书名|标题)|(^| )name$",
        r"\bdescription$|\bserial (no|number)$",
    )
    return next(((c,) for pattern in patterns for c, text in said.items() if re.search(pattern, text)), ())


def _main_date(table: TableFacts) -> str | None:
    """Return the column of when a row happened: of the dates that are no birthday, term or end the first most have."""
    own = [c for c in table.columns.values() if not _is_one_of(c.name, "deleted_when")]
    dates = [c for c in own if c.kind == "date" or _stamp_unit(c) is not None]
    refers = [c for c in table.columns if c not in table.key and without_ending(words_of(c)) != words_of(c)]
    if not (table.foreign or refers or any(words_of(c.name).startswith(singular(words_of(table.name))) for c in dates)):
        return None  # what refers to nothing seldom happens: it is a thing with a date
    unlike = (*GLOSSARY["people_dates"], *GLOSSARY["ends"])
    happened = [c for c in dates if not any(w in f" {words_of(c.name)} {c.comment} " for w in unlike)]
    places = {name: place for place, name in enumerate(table.columns)}
    lacking = {c.name: sum(row[places[c.name]] in {None, ""} for row in table.sample) for c in happened}
    rows = max(1, len(table.sample))
    best = min(happened, key=lambda c: (_stamp_unit(c) == "", round(lacking[c.name] / rows, 1)), default=None)
    return best.name if best is not None else None


def _line_amount(table: TableFacts, columns: Mapping[str, ColumnDraft]) -> dict[str, ColumnDraft]:
    """Return what a line of an order comes to, where it has a price and a quantity and belongs to something else."""
    named = {c: {*d.called} for c, d in columns.items() if d.type in {"number", "integer"}}
    price, quantity, discount = (
        next((c for c, called in named.items() if word in called), None)
        for word in ("unit price", "quantity", "discount")
    )
    if price is None or quantity is None or not table.foreign:
        return {}
    called = ("line amount", *GLOSSARY["revenue"]["called"])
    why = "price times quantity" + (", less the discount" if discount else "")
    draft = ColumnDraft(
        called=called, type="number", total="sum", times=(price, quantity), less=discount, sure=0.8, why=why
    )
    return {"line amount": draft}


def _is_listed(column: ColumnFacts, words: str) -> bool:
    """Return whether a text column has values that a question may name: they are few, and short words."""
    if any(word in GLOSSARY["private"] for word in (*words.split(), comment_label(column.comment))):
        return False
    texts = [str(v) for v in column.values]
    return 0 < len(texts) <= MOST_VALUES and all(len(t) <= LONGEST_VALUE and _LETTER.search(t) for t in texts)


@cache
def _pairs(*sections: str) -> Mapping[str, tuple[str, ...]]:
    """Return the words of the other language, and synonyms of the own one, by folded word."""
    found: dict[str, list[str]] = {}
    for section in sections:
        for entry in GLOSSARY[section]:
            both = [word.strip() for word in ";".join(entry).split(";")]
            for word in both:
                for date in (" date", " on", " at"):  # shipped on is the shipped date
                    found.setdefault(word.replace(" date", date), []).extend(other for other in both if other != word)
    return {word: tuple(dict.fromkeys(others)) for word, others in found.items()}


def _apart_from_unit(column: ColumnFacts, table: TableFacts) -> tuple[str, str]:
    """Return a column's name and the unit in brackets behind it ("Deposit", "EUR"; not of one of two prices).

    Else the known unit in brackets behind the name that its comment begins with: 面积（平方米）.
    """
    bare, _, bracket = _BRACKET.sub("\n\\1", column.name).partition("\n")
    alone = bracket and sum(_BRACKET.sub("", other) == bare for other in table.columns) == 1
    said = re.match(r"[^(（]+[(（]([^)）]+)[)）]", column.comment)
    known = said[1] if said and [one.unit for one in find_quantities(f"1{said[1]}")] == [said[1]] else ""
    return (bare, bracket) if alone else (column.name, known)


def words_of(name: str) -> str:
    """Return a name as words: `OrderDate` and `order_date` as "order date"."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name).replace("_", " ")
    return " ".join(spaced.lower().split())


def without_ending(words: str) -> str:
    """Return words without what only says that they are a key: id, no, 编号."""
    for ending in GLOSSARY["endings"]:
        end = ending if has_ideographs(ending) else f" {ending}"
        if words.endswith(end) and words != end:
            return words.removesuffix(end)
    return words


def singular(words: str) -> str:
    """Return English words with the last one in the singular."""
    if has_ideographs(words) or words.endswith(("ss", "us", "is", "news", "status")):
        return words
    if words.endswith("ies"):
        return f"{words[:-3]}y"
    if words.endswith(("xes", "ches", "shes", "sses")):
        return words[:-2]
    return words[:-1] if words.endswith("s") else words


def comment_label(comment: str) -> str:
    """Return the name a comment begins with, empty when it speaks of something else (a dictionary, a value)."""
    first = re.split(r"[，,;；:：(（。]|\s", comment.strip())[0]
    usable = first and "." not in first and not first.startswith("字典") and not first[0].isdigit()
    return first if usable and len(first) <= 20 else ""


def labels_for(*names: str, sections: tuple[str, ...] = ("things", "properties", "values")) -> tuple[str, ...]:
    """Return what goes by these names, with what the glossary's sections call it in the other language and the same."""
    pairs = _pairs(*sections)
    return tuple(dict.fromkeys(said for name in names if name for said in (name, *pairs.get(name, ()))))
