"""`theworld router`: why a question goes which way."""

from __future__ import annotations

from typing import Annotated

import typer

from theworld.cli.options import JsonFlag, read_moment

router_app = typer.Typer(
    name="router", help="Which way questions go, and why.", no_args_is_help=True, pretty_exceptions_enable=False
)


@router_app.callback()
def router() -> None:
    """Which way questions go, and why."""


@router_app.command()
def explain(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question.", show_default=False)],
    now: Annotated[str | None, typer.Option("--now", metavar="DATE", help="Date that time words refer to.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the decision for a question: path, channels, depths, weights, confidence, reasons. Nothing is searched."""
    from theworld.cli.output import console, print_json, printable
    from theworld.graph.resources import open_database
    from theworld.nodes.receive_question import clean_question
    from theworld.routing import Rules, route
    from theworld.settings import Settings
    from theworld.sql.database import database_reader
    from theworld.state import Context

    question, context, settings = clean_question(question), Context(now=read_moment(now)), Settings.load()
    with open_database(settings) as database:
        view = database_reader(database)(question, context) if database is not None else None
        decision = route(question, context, settings, Rules(), database=view)
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
