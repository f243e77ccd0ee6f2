"""What is asked of the database, before it is SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theworld.ontology import Attribute
from theworld.sql.mapping import Path
from theworld.state.tables import Cell, TableShape
from theworld.text.calendar import CalendarUnit
from theworld.text.time_ranges import TimeRange

Aggregate = Literal["count", "sum", "average", "min", "max"]
Operator = Literal["in", "=", ">", ">=", "<", "<=", "exists", "filled", "within", "later", "earlier"]


class UnclearError(Exception):
    """The question, or a part of it, is not understood for certain; says what."""

    def __init__(self, message: str, *, words: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.words = words
        """Words that mean nothing to the database."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Rows kept: those whose class at the end of a path has a column with one of the values, or compared to one.

    `later` and `earlier` compare it by days with another column of the row, which is the value.
    """

    path: Path
    class_id: str
    column: str
    operator: Operator
    values: tuple[Cell, ...]
    label: str
    """The condition in the question's words."""
    below: str | None = None
    """Column by which rows of the class belong to one another: what belongs to a value counts too."""
    negated: bool = False
    """Rows kept are those that do not meet it."""


@dataclass(frozen=True, slots=True)
class Group:
    """What rows are put together by: the instances of a class, or the values of an attribute."""

    path: Path
    class_id: str
    attribute: Attribute | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """One question to one class's table."""

    base: str
    shape: TableShape
    aggregate: Aggregate
    measure: Attribute | None = None
    """None counts rows."""
    filters: tuple[Filter, ...] = ()
    group: Group | None = None
    time_column: str | None = None
    time_path: Path = ()
    """Relations to the class that has the column of time, where the plan's own has none."""
    distinct: Group | None = None
    """What is counted in place of the rows, each once: the customers of orders."""
    per: Group | None = None
    """What a total is divided by the number of: the average per customer."""
    per_unit: CalendarUnit | None = None
    """The same, of periods: the average per month."""
    time_unit: CalendarUnit | None = None
    period: TimeRange | None = None
    earlier: TimeRange | None = None
    descending: bool = True
    limit: int | None = None
    shown: tuple[Attribute, ...] = ()
    """Attributes a list shows."""
    divisor: Attribute | None = None
    """The measure that a share is of; without one it is of all rows of the plan, or where they are not put together, of
    all rows of its period."""
    reading: tuple[str, ...] = ()
    """How words with more than one sense were taken."""
