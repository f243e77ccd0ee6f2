"""`theworld explain` and `theworld replay`: a request on record, told and run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from theworld.cli.options import JsonFlag, LanguageName, LanguageOption, StoreOption, opened_ledger, settings_for
from theworld.cli.output import language_for, print_json, printable
from theworld.errors import StoreError

if TYPE_CHECKING:
    from theworld.service.requests.replay import Replay
    from theworld.stores.ledger.database import Database
    from theworld.stores.ledger.request_log import RequestRecord

NOT_EXACT = 1


RequestId = Annotated[
    str, Argument(metavar="[REQUEST_ID]", help="request_id of a reply of `theworld serve`; without it the last.")
]


def explain(
    request_id: RequestId = "",
    *,
    store: StoreOption = None,
    form: Annotated[Literal["text", "json", "mermaid"], Option("--format", help="Form of the explanation.")] = "text",
    language: LanguageOption = None,
) -> None:
    """Show what a request did: route, every channel's ranks, fusion, reranking, paths, answer, times, fallbacks."""
    from theworld.service.requests.explanation import as_mermaid, as_text
    from theworld.service.requests.explanation import explain as explain_record
    from theworld.stores.ledger.request_log import RequestJournal

    with opened_ledger(settings_for(store)) as ledger:
        journal, record = RequestJournal(ledger), _record(ledger, request_id)
        request_id, tenant = record.request["request_id"], record.request["tenant"]
        feedback, arms = journal.feedback(request_id, tenant=tenant), journal.arms(request_id, tenant=tenant)
        found = explain_record(record, feedback, arms)
    if form == "json":
        print_json(found.model_dump(mode="json"))
    elif form == "mermaid":
        typer.echo(as_mermaid(found), nl=False)
    else:
        own: LanguageName = "zh" if found.request["language"] == "zh" else "en"
        typer.echo(as_text(found, language_for(found.request["question"], language) or own))


def replay(
    request_id: RequestId = "",
    *,
    strategies: Annotated[
        list[str] | None,
        Option(
            "--strategy",
            help='Ask with this strategy instead, such as {"name": "B", "rerank": false}; repeat to compare several.',
        ),
    ] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Run a stored request again and compare; exit code 1 when anything but times differs.

    With --strategy the request is asked differently, and what that changes is reported stage by stage (exit code 0).
    """
    from theworld.graph import open_resources
    from theworld.service.requests.replay import replay as replay_record
    from theworld.service.requests.strategies import read_strategy

    chosen = [read_strategy(text, where="--strategy") for text in strategies or []]
    names = [strategy.name for strategy in chosen]
    if twice := [name for name in names if names.count(name) > 1]:
        what = f'two strategies are called {twice[0]!r}; give each a "name".'
        raise typer.BadParameter(what, param_hint="--strategy")
    settings = settings_for(store)
    with opened_ledger(settings) as ledger:
        record = _record(ledger, request_id)
    with open_resources(settings) as resources:
        found = {strategy.name: replay_record(record, resources, strategy=strategy) for strategy in chosen}
        again = None if chosen else replay_record(record, resources)
    if as_json:
        compared = {name: one.as_json() for name, one in found.items()}
        print_json(again.as_json() if again is not None else {"strategies": compared})
    elif again is not None:
        _print_replay(again)
    for name, one in found.items() if not as_json else ():
        typer.echo(f"Strategy {name}:")
        _print_replay(one)
    if again is not None and not again.exact:
        raise typer.Exit(NOT_EXACT)


def _print_replay(found: Replay) -> None:
    typer.echo("The same, byte for byte." if found.exact else "It differs.")
    for cause in found.causes:
        typer.echo(f"  {cause}")
    for stage, differences in found.differences.items():
        typer.echo(f"{stage}:")
        for difference in differences:
            typer.echo(f"  {printable(difference)}")


def _record(ledger: Database, request_id: str) -> RequestRecord:
    """Return the record, without an id the last, whoever's it is: the command line belongs to the store's owner."""
    from sqlalchemy import select

    from theworld.stores.ledger.request_log import RequestJournal
    from theworld.stores.ledger.service_tables import RequestLog

    last = select(RequestLog.request_id).where(RequestLog.arm == "main").order_by(RequestLog.id.desc()).limit(1)
    journal, request_id = RequestJournal(ledger), request_id or ledger.glance(last) or ""
    tenant = journal.tenant_of(request_id)
    record = journal.read(request_id, tenant=tenant) if tenant is not None else None
    if record is None:
        raise StoreError(
            f"there is no request {request_id!r} on record" if request_id else "no request is on record yet",
            where="the request log",
            remedy="The service (`theworld serve`) puts requests on record under the request_id of its replies, for "
            "service.retention_days; `theworld ask` keeps none: its --why shows what it did, --json all of it.",
        )
    return record
