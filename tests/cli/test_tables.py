"""Rows of a database as a person sees them: figures with unit, a bar for a series, the statement."""

import io

from rich.console import Console

from theworld.cli.output import bars_of, show_table
from theworld.state import QueryTable, TableColumn

TREND = QueryTable(
    title="交易金额合计",
    shape="trend",
    columns=(TableColumn(label="时间"), TableColumn(label="交易金额合计", unit="万元")),
    rows=(("2024-01", 100.0), ("2024-02", 50.0), ("2024-03", -25.0)),
    sql="SELECT 1",
    parameters={"tenant": "default"},
    source="credit.sqlite",
)


def shown(table):
    out = Console(file=io.StringIO(), width=120, highlight=False, markup=False, emoji=False)
    show_table(out, table)
    return out.file.getvalue()


def test_a_series_has_bars_in_proportion():
    assert [len(bar) for bar in bars_of(TREND)] == [30, 15, 9]
    assert bars_of(TREND)[2].startswith("-")
    text = shown(TREND)
    assert "交易金额合计 (万元)" in text
    assert "100.00" in text
    assert "tenant='default'" in text


def test_lists_and_single_figures_have_none():
    assert bars_of(TREND.model_copy(update={"shape": "list"})) == []
    assert bars_of(TREND.model_copy(update={"shape": "figure", "rows": ((3.0,),)})) == []


def test_what_rows_say_is_never_mark_up_or_control():
    evil = TREND.model_copy(update={"shape": "list", "rows": (("[bold]x[/bold]\x1b[31m", "y"),)})
    text = shown(evil)
    assert "[bold]x[/bold]" in text
    assert "\x1b[31m" not in text
