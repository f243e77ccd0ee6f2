"""The questions over the sample domain, and whether a database's tables are what hand-written SQL gives."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import yaml

FILE = Path(__file__).parent / "sql" / "data" / "questions.yaml"


class Asked(NamedTuple):
    """One question in one language with the rows it should give."""

    question: str
    language: str
    statements: tuple[str, ...]
    ordered: bool
    decline_ok: bool
    labels: dict[str, str]


def read_questions() -> list[Asked]:
    found = []
    for row in yaml.safe_load(FILE.read_text("utf-8")):
        statements = [row["sql"]] if isinstance(row["sql"], str) else row["sql"]
        for i, language in enumerate(("zh", "en")):
            named = tuple(s.replace("{name}", f"name_{language}") for s in statements)
            labels = {key: words[i] for key, words in row.get("labels", {}).items()}
            found.append(
                Asked(row[language], language, named, row.get("ordered", False), row.get("decline_ok", False), labels)
            )
    return found


def one_tenant(source: Path, target: Path) -> Path:
    """Write a copy of the database that holds the default tenant's rows only."""
    target.write_bytes(source.read_bytes())
    with closing(sqlite3.connect(target)) as connection, connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            if "tenant" in columns:
                connection.execute(f"DELETE FROM {table} WHERE tenant <> 'default'")
    return target


def truth(file: Path, asked: Asked) -> list[list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(file)) as connection:
        tables = [connection.execute(statement).fetchall() for statement in asked.statements]
    return [[tuple(asked.labels.get(cell, cell) for cell in row) for row in rows] for rows in tables]


def agree(found: Sequence[Sequence[Any]], wanted: Sequence[Sequence[Any]], *, ordered: bool) -> bool:
    """Return whether rows are the same, numbers to a millionth; order counts only where it is asked."""
    if len(found) != len(wanted):
        return False
    pairs = (
        zip(found, wanted, strict=True)
        if ordered
        else zip(sorted(found, key=_key), sorted(wanted, key=_key), strict=True)
    )
    return all(len(a) == len(b) and all(map(_same, a, b)) for a, b in pairs)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-3)
    return bool(a == b)


def _key(row: Sequence[Any]) -> tuple[str, ...]:
    return tuple(f"{cell:.3f}" if isinstance(cell, int | float) else str(cell) for cell in row)
