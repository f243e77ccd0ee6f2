"""What a database tells of itself: tables, columns, keys, comments, and a sample of the values. Nothing is written.

SQLAlchemy reads the structure of any dialect that is installed. SQLite keeps comments only in the text of its CREATE
statements (`-- ...` behind a column), so they are read from there.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.types import TypeEngine

from theworld.errors import DatabaseError
from theworld.text.tokens import has_ideographs

Kind = Literal["text", "number", "integer", "date", "boolean", "other"]
SAMPLED_ROWS = 20_000
MOST_VALUES = 300
"""Distinct values of a column that are looked at."""
_KINDS: dict[type[TypeEngine[Any]], Kind] = {sa.Boolean: "boolean", sa.Date: "date", sa.DateTime: "date"}
_KINDS |= {sa.Integer: "integer", sa.Numeric: "number", sa.Float: "number", sa.String: "text"}
_DATE = re.compile(r"(18|19|20|21)\d\d-\d\d-\d\d([ T].*)?")
_COMMENT = re.compile(r"^(?P<head>\s*CREATE\b[^(]*\(?)?(?P<code>.*?)--\s*(?P<said>.+?)\s*$", re.I)
_DEFINED = re.compile(r"[^,]*[^,\s]")
"""A column in a line of a CREATE statement; what stands in brackets has been taken out."""


@dataclass(frozen=True)
class ColumnFacts:
    """One column as it stands."""

    name: str
    kind: Kind
    comment: str
    values: tuple[Any, ...]
    """Distinct values of the sample, the most frequent first; at most MOST_VALUES + 1."""


@dataclass(frozen=True)
class TableFacts:
    """One table as it stands."""

    name: str
    comment: str
    columns: dict[str, ColumnFacts]
    key: tuple[str, ...]
    refers: dict[tuple[str, ...], str]
    """By the column, or the columns together, that are a key: the table it refers to, as declared."""
    sample: tuple[tuple[Any, ...], ...]
    """The rows looked at, their cells in the order of the columns."""

    @property
    def foreign(self) -> dict[str, str]:
        """By column: the table it alone refers to, as declared."""
        return {own[0]: other for own, other in self.refers.items() if len(own) == 1}


@contextmanager
def opened(url: str) -> Iterator[sa.Engine]:
    """Give a SQLAlchemy engine that only reads; DatabaseError without the address when it cannot be opened."""
    engine = None
    try:
        address = sa.make_url(url)
        if address.get_backend_name() == "sqlite":
            path = Path(address.database or "").expanduser()
            if not path.is_file():
                raise DatabaseError("there is no such file", where=str(path), remedy="Name an existing SQLite file.")
            place = f"{path.resolve().as_uri()}?mode=ro"
            engine = sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(place, uri=True))
        else:
            postgres = address.drivername.startswith("postgres")
            engine = sa.create_engine(address.set(drivername="postgresql+psycopg") if postgres else address)
        yield engine
    except (SQLAlchemyError, ImportError) as error:
        said = type(error).__name__
        remedy = "Check the address, and that the driver of this dialect is installed."
        raise DatabaseError(f"it cannot be inspected ({said})", where=plain_address(url), remedy=remedy) from None
    finally:
        if engine is not None:
            engine.dispose()


def plain_address(url: str) -> str:
    """Return an address without the password, and without what is set behind it."""
    scheme, _, rest = url.partition("://")
    whose, at, place = rest.rpartition("@")
    return f"{scheme}://{whose.partition(':')[0]}{at}{place.partition('?')[0]}"


def inspect_tables(url: str) -> dict[str, TableFacts]:
    """Return the tables of a database by name, with a sample of their values; empty ones too. Raises DatabaseError."""
    with opened(url) as engine, engine.connect() as connection:
        inspector = sa.inspect(engine)
        comments = _sqlite_comments(connection) if engine.dialect.name == "sqlite" else {}
        found, names = {}, sorted(inspector.get_table_names())
        known = {name.casefold(): name for name in names}
        for name in names:
            described = {c["name"]: c for c in inspector.get_columns(name)}
            kinds: dict[str, Kind] = {
                column: next((kind for one, kind in _KINDS.items() if isinstance(c["type"], one)), "other")
                for column, c in described.items()
            }
            said = {c: str(d.get("comment") or comments.get((name, c), "")) for c, d in described.items()}
            rows = _sample(connection, name, kinds)
            columns = {c: _facts(c, kinds[c], said[c], [row[i] for row in rows]) for i, c in enumerate(described)}
            key = tuple(inspector.get_pk_constraint(name).get("constrained_columns") or ())
            commented = engine.dialect.supports_comments
            about = inspector.get_table_comment(name).get("text") if commented else comments.get((name, ""))
            ends = ((one["constrained_columns"], one["referred_table"]) for one in inspector.get_foreign_keys(name))
            refers = {tuple(own): known[other.casefold()] for own, other in ends if other.casefold() in known}
            found[name] = TableFacts(name, about or "", columns, key, refers, tuple(map(tuple, rows)))
    return found


def left_out(url: str) -> list[str]:
    """Return the views, and the tables and views of other schemas, that are not looked at. Raises DatabaseError."""
    with opened(url) as engine:
        inspector = sa.inspect(engine)
        own = inspector.default_schema_name
        others = [one for one in inspector.get_schema_names() if one not in {own, "information_schema", "pg_catalog"}]
        found = [*inspector.get_view_names()]
        for schema in others if engine.dialect.name != "sqlite" else ():
            names = (*inspector.get_table_names(schema), *inspector.get_view_names(schema))
            found += [f"{schema}.{name}" for name in names]
        return sorted(found)


def _sample(connection: sa.Connection, table: str, kinds: Mapping[str, Kind]) -> list[Any]:
    """Return sampled rows; what is neither text, number nor date is not read (pictures), its cells are None."""
    cells: list[sa.ColumnElement[Any]] = [
        sa.literal(None) if kind == "other" else sa.column(column, sa.String() if kind == "date" else None)
        for column, kind in kinds.items()
    ]
    source = sa.table(table, *map(sa.column, kinds))
    labelled = [cell.label(f"c{i}") for i, cell in enumerate(cells)]
    return list(connection.execute(sa.select(*labelled).select_from(source).limit(SAMPLED_ROWS)))


def _facts(name: str, kind: Kind, comment: str, cells: list[Any]) -> ColumnFacts:
    counts = Counter(cell for cell in cells if cell not in (None, ""))
    values = tuple(sorted(counts, key=lambda v: (-counts[v], str(v)))[: MOST_VALUES + 1])
    if kind == "text" and values and all(_DATE.fullmatch(str(v)) for v in values):
        kind = "date"
    return ColumnFacts(name, kind, comment, values)


def _sqlite_comments(connection: sa.Connection) -> dict[tuple[str, str], str]:
    """Return comments by table and column: of the last column before one in its line; "" of the table itself."""
    statements = connection.execute(sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
    found = {}
    for name, line in ((str(name), line) for name, sql in statements for line in (sql or "").splitlines()):
        if match := _COMMENT.match(line):
            columns = _DEFINED.findall(re.sub(r"\([^()]*\)", "", match["code"]))
            column = re.match(r"[\s(]*[\[\"`]?([^\W\d]\w*)", columns[-1]) if columns else None
            if column or (match["head"] and has_ideographs(match["said"])):
                found[name, column[1] if column else ""] = match["said"]
    return found
