"""What a table or a column is likely to be, from its name, its comment and a sample of its values."""

from __future__ import annotations

import re
from collections.abc import Mapping

from theworld.sql.drafting.file import ColumnDraft
from theworld.sql.drafting.inspection import MOST_VALUES, ColumnFacts, TableFacts
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


def is_one_of(name: str, section: str) -> bool:
    """Return whether a name stands in a list of the glossary, as written or as words."""
    words = {name.casefold(), words_of(name), words_of(name).replace(" ", "_")}
    return bool(words & set(glossary()[section]))


def is_short(words: str) -> bool:
    """Return whether a name is an abbreviation that nobody says: few letters, no word of the glossary."""
    return words.isascii() and labels_for(words) == (words,) and max(map(len, words.split())) <= 4


def stored(column: ColumnFacts, text: str) -> str | int:
    """Return a value as the column holds it: a number where it holds numbers."""
    return int(text) if column.kind in {"integer", "number", "boolean"} else text


def table_labels(table: TableFacts) -> tuple[str, ...]:
    """Return what the rows of a table are called: by its comment, by that of its key (药品编码), by its name."""
    own = singular(words_of(table.name))
    key = table.columns[table.key[0]] if len(table.key) == 1 else None
    said = without_ending(comment_label(key.comment)) if key is not None and key.name not in table.foreign else ""
    about = comment_label(table.comment)
    if about or (said and is_chinese(said)):
        return labels_for(about, said, *(() if own.isascii() and is_short(own) else (own,)))
    return labels_for(own)


def names_table(column: ColumnFacts, other: TableFacts, called: tuple[str, ...]) -> str:
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


def naming(table: TableFacts) -> tuple[str, ...]:
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
        r"(名称|姓名|名字|书名|标题)|(^| )name$",
        r"\bdescription$",
    ):
        for column, text in said.items():
            distinct = len(table.columns[column].values)
            if (
                re.search(pattern, text)
                and column not in table.foreign
                and (distinct > MOST_VALUES or 2 * distinct > min(table.rows, MOST_VALUES))
            ):
                return (column,)
    return ()


def main_date(table: TableFacts) -> str | None:
    """Return the column of when a row happened: the first date that is no birthday nor term."""
    dates = [c for c in table.columns.values() if c.kind == "date"]
    refers = [c for c in table.columns if c not in table.key and without_ending(words_of(c)) != words_of(c)]
    if not (table.foreign or refers or any(words_of(c.name).startswith(singular(words_of(table.name))) for c in dates)):
        return None  # what refers to nothing seldom happens: it is a thing with a date
    unlike = glossary()["people_dates"]
    return next((c.name for c in dates if not any(w in f"{words_of(c.name)} {c.comment}" for w in unlike)), None)


def line_amount(table: TableFacts, columns: Mapping[str, ColumnDraft]) -> dict[str, ColumnDraft]:
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
    draft = ColumnDraft(
        called=called, type="number", total="sum", times=(price, quantity), less=discount, sure=0.8, why=why
    )
    return {"line amount": draft}


def is_listed(column: ColumnFacts, words: str) -> bool:
    """Return whether a text column has values that a question may name: they are few, and short words."""
    if any(word in glossary()["private"] for word in (*words.split(), comment_label(column.comment))):
        return False
    texts = [str(v) for v in column.values]
    short = texts and len(texts) <= MOST_VALUES and all(len(t) <= LONGEST_VALUE for t in texts)
    lettered = all(re.search(r"[^\W\d_]", t) for t in texts)
    return bool(short and lettered)


def dictionaries(facts: Mapping[str, TableFacts]) -> dict[str, tuple[str, tuple[str, str, str]]]:
    """Return the kinds of codes that dictionary tables hold: the table and its columns of kind, code and label."""
    found: dict[str, tuple[str, tuple[str, str, str]]] = {}
    for table in facts.values():
        rest = [c for c in table.columns if c not in table.key]
        if len(table.key) == 2 and rest and not table.foreign and table.columns[table.key[0]].kind == "text":
            for kind in table.columns[table.key[0]].values:
                found[str(kind)] = (table.name, (table.key[0], table.key[1], rest[0]))
    return found
