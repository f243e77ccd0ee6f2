"""`theworld router`: why a question goes which way, and how often that is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theworld.cli.options import JsonFlag

if TYPE_CHECKING:
    from theworld.routing import DatabaseReader
    from theworld.settings import Settings
    from theworld.state import Context, RoutePath

router_app = typer.Typer(
    name="router", help="Which way questions go, and why.", no_args_is_help=True, pretty_exceptions_enable=False
)
NowOption = Annotated[str | None, typer.Option("--now", metavar="DATE", help="Date that time words refer to.")]
LabelledFile = Annotated[Path, typer.Argument(metavar="FILE", help="Lines of: intent TAB path TAB question; UTF-8.")]


@router_app.command()
def explain(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question.", show_default=False)],
    now: NowOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the decision for a question: path, channels, depths, weights, confidence, reasons. Nothing is searched."""
    from theworld.cli.output import console, print_json, printable
    from theworld.nodes.receive_question import clean_question
    from theworld.routing import Rules, route

    question = clean_question(question)
    with _opened(now) as (settings, read, context):
        decision = route(question, context, settings, Rules(), database=read(question, context) if read else None)
    if as_json:
        print_json(decision.model_dump(mode="json"))
        return
    out = console()
    out.print(f"{decision.path}  (intent {decision.intent}, confidence {decision.confidence:.2f}, {decision.strategy})")
    for name, plan in decision.channels.items():
        out.print(f"  {name}: {plan.top_k} candidates, weight {plan.weight:g}")
    out.print(
        f"  database {'first' if decision.database else 'not asked'}, reranking {'on' if decision.rerank else 'off'}"
    )
    for reason in decision.reasons:
        out.print(f"  because {printable(reason)}")


@router_app.command()
def evaluate(
    labelled: LabelledFile,
    now: NowOption = None,
) -> None:
    """Print how often the path is right, by language, for the tuned and the held-back part."""
    from theworld.cli.output import console, printable
    from theworld.evaluation.routing import accuracy, read_labelled

    questions, out = read_labelled(labelled), console()
    with _choosing(now) as choose:
        for part, held in (("tuned on", False), ("held back", True)):
            for language in ("zh", "en"):
                found = accuracy([q for q in questions if q.held_back == held and q.language == language], choose)
                out.print(f"{part:9} {language}: {found.share:.1%} of {found.total}")
                for question, wanted, got in () if held else found.mistakes:
                    out.print(f"    {printable(question)}: {got} instead of {wanted}")


@contextmanager
def _choosing(now: str | None) -> Iterator[Callable[[str], RoutePath]]:
    from theworld.routing import Rules, route

    with _opened(now) as (settings, read, context):
        yield lambda q: route(q, context, settings, Rules(), database=read(q, context) if read else None).path


@contextmanager
def _opened(now: str | None) -> Iterator[tuple[Settings, DatabaseReader | None, Context]]:
    from theworld.cli.options import read_moment
    from theworld.graph.resources import open_database
    from theworld.settings import Settings
    from theworld.sql.view import database_reader
    from theworld.state import Context

    settings = Settings.load()
    with open_database(settings) as database:
        read = database_reader(database) if database is not None else None
        yield settings, read, Context(now=read_moment(now))
