"""What a database was asked and what it said."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from theworld.state.candidates import PathStep, Value

Cell = str | int | float | bool | None
"""One value of a table."""


def cell_text(cell: Cell) -> str:
    """Return a value as people read it, a fraction to two places, nothing as a dash."""
    return "–" if cell is None else f"{cell:,.2f}" if isinstance(cell, float) else str(cell)


TableShape = Literal["figure", "groups", "top", "trend", "change", "volatility", "list", "latest", "share"]
"""What kind of result a table is."""


class TableColumn(Value):
    """One column of a result."""

    label: str = Field(description="Its heading, in the language of the question")
    unit: str = Field(default="", description="Unit of its numbers, empty for names and counts")

    @property
    def heading(self) -> str:
        """What stands above it: the label, with the unit where it has one."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


class QueryTable(Value):
    """Rows read from a database, with the statement that read them."""

    title: str = Field(description="What is shown, in the language of the question")
    shape: TableShape = Field(default="list", description="What kind of result it is")
    columns: tuple[TableColumn, ...] = Field(default=(), description="The columns, in order")
    rows: tuple[tuple[Cell, ...], ...] = Field(default=(), description="The rows, in order")
    truncated: bool = Field(default=False, description="True when there were more rows than are kept")
    conditions: tuple[str, ...] = Field(default=(), description="What narrowed the rows down, in words")
    reading: tuple[str, ...] = Field(default=(), description="How words with more than one sense were taken")
    paths: tuple[tuple[PathStep, ...], ...] = Field(
        default=(), description="Over which relations its conditions and groups were reached, each a way of classes"
    )
    sql: str = Field(default="", description="The statement, as it was run")
    parameters: dict[str, Cell] = Field(default_factory=dict, description="Its parameters")
    source: str = Field(default="", description="The database, without password")
    elapsed_ms: float = Field(default=0.0, ge=0.0, description="Time the statement took")
