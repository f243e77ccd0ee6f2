"""`theworld router`: why a question goes which way, how often that is right, and training another strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theworld.cli.options import JsonFlag

if TYPE_CHECKING:
    from theworld.nodes.route_query import DatabaseReader, Features, Strategy
    from theworld.settings import Settings
    from theworld.state import Context, RoutePath

router_app = typer.Typer(
    name="router", help="Which way questions go, and why.", no_args_is_help=True, pretty_exceptions_enable=False
)
StrategyOption = Annotated[
    str | None, typer.Option("--strategy", help="rules-v1 or learned-v1.", show_default="the setting router.strategy")
]
LogOption = Annotated[
    Path | None, typer.Option("--log", metavar="FILE", help="Logged requests, JSON lines (docs/router.md).")
]
NowOption = Annotated[str | None, typer.Option("--now", metavar="DATE", help="Date that time words refer to.")]
LabelledFile = Annotated[Path, typer.Argument(metavar="FILE", help="Lines of: intent TAB path TAB question; UTF-8.")]


@router_app.command()
def explain(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question.", show_default=False)],
    strategy: StrategyOption = None,
    now: NowOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the decision for a question: path, channels, depths, weights, confidence, reasons. Nothing is searched."""
    from theworld.cli.output import console, print_json, printable
    from theworld.nodes.receive_question import clean_question
    from theworld.nodes.route_query import route

    question = clean_question(question)
    with _opened(strategy, now) as (settings, chosen, read, context):
        decision = route(question, context, settings, chosen, database=read(question, context) if read else None)
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
    strategy: StrategyOption = None,
    now: NowOption = None,
    log: LogOption = None,
) -> None:
    """Print how often the path is right, by language, for the tuned and the held-back part."""
    from theworld.cli.output import console, printable
    from theworld.evaluation.routing import accuracy, read_labelled

    questions, out = read_labelled(labelled), console()
    with _choosing(strategy, now) as choose:
        for part, held in (("tuned on", False), ("held back", True)):
            for language in ("zh", "en"):
                found = accuracy([q for q in questions if q.held_back == held and q.language == language], choose)
                out.print(f"{part:9} {language}: {found.share:.1%} of {found.total}")
                for question, wanted, got in () if held else found.mistakes:
                    out.print(f"    {printable(question)}: {got} instead of {wanted}")
        if log is not None:
            _print_off_policy(log, choose)


@router_app.command()
def train(
    labelled: LabelledFile,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the weights go.")] = Path("learned-v1.json"),
    now: NowOption = None,
    log: LogOption = None,
) -> None:
    """Train learned-v1 on labelled questions (a third is held back) and, with --log, on logged requests that succeeded.

    Small talk is left to the rules. What switching to it would have done on the logged requests is printed; nothing is
    switched: that is the setting router.strategy, with router.weights naming the file.
    """
    import numpy as np

    from theworld.cli.output import console
    from theworld.evaluation.router_training import Logged, read_log, save
    from theworld.evaluation.router_training import train as fit
    from theworld.evaluation.routing import accuracy, read_labelled
    from theworld.nodes.route_query import features_for, route
    from theworld.nodes.route_query.learned import PATHS, vector_of

    questions, told = read_labelled(labelled), console()
    logged: list[Logged] = read_log(log) if log is not None else []
    with _opened(None, now) as (settings, _rules, read, context):

        def features(question: str) -> Features:
            return features_for(question, context, settings, read(question, context) if read else None)

        known = [(q.question, q.path) for q in questions if not q.held_back]
        known += [(item.question, item.path) for item in logged if item.success]
        known = [(question, path) for question, path in known if path in PATHS]  # small talk is not learned
        vectors = np.array([vector_of(question, features(question)) for question, _ in known])
        trained = fit(vectors, [path for _, path in known], name="learned-v1")
        save(trained, out)

        def choose(question: str) -> RoutePath:
            view = read(question, context) if read else None
            return route(question, context, settings, trained.strategy, database=view).path

        told.print(f"{len(known)} questions, {trained.cross_validated:.1%} right over five folds, weights in {out}")
        for language in ("zh", "en"):
            held = accuracy([q for q in questions if q.held_back and q.language == language], choose)
            told.print(f"held back {language}: {held.share:.1%} of {held.total}")
        if log is not None:
            _print_off_policy(log, choose)
    told.print(f"To use it: THEWORLD_ROUTER__STRATEGY=learned-v1 THEWORLD_ROUTER__WEIGHTS={out}")


def _print_off_policy(log: Path, choose: Callable[[str], RoutePath]) -> None:
    from theworld.cli.output import console
    from theworld.evaluation.router_training import off_policy, read_log

    found = off_policy(read_log(log), choose)
    console().print(
        f"logged success {found.logged:.1%}; with this strategy an estimated {found.estimate:.1%} "
        f"± {1.96 * found.error:.1%}, from {found.matched} requests on which both agree"
    )


@contextmanager
def _choosing(strategy: str | None, now: str | None) -> Iterator[Callable[[str], RoutePath]]:
    from theworld.nodes.route_query import route

    with _opened(strategy, now) as (settings, chosen, read, context):
        yield lambda q: route(q, context, settings, chosen, database=read(q, context) if read else None).path


@contextmanager
def _opened(
    strategy: str | None, now: str | None
) -> Iterator[tuple[Settings, Strategy, DatabaseReader | None, Context]]:
    from theworld.cli.options import read_moment
    from theworld.graph.resources import open_database
    from theworld.nodes.query_database import database_reader
    from theworld.nodes.route_query import make_strategy
    from theworld.settings import Settings
    from theworld.state import Context

    settings = Settings.load(router={"strategy": strategy} if strategy else None)
    with open_database(settings) as database:
        read = database_reader(database) if database is not None else None
        yield settings, make_strategy(settings.router), read, Context(now=read_moment(now))
