"""`theworld serve`: the HTTP service over a store; `theworld mcp`: the same knowledge as tools of one program.

`theworld keys`: API keys of a store's service.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from theworld.cli.options import JsonFlag, StoreOption, TenantOption, opened_ledger, service_needed, settings_for
from theworld.cli.output import console, error_console, plain_table, print_json
from theworld.errors import SettingsError

if TYPE_CHECKING:
    from theworld.settings import Settings
    from theworld.stores.ledger.api_keys import KeyRing

_APP = "theworld.service.app:application"


def serve(
    *,
    store: StoreOption = None,
    host: Annotated[str | None, Option(help="Address to bind.", show_default="the setting service.host")] = None,
    port: Annotated[
        int | None, Option(min=0, max=65_535, help="Port.", show_default="the setting service.port")
    ] = None,
    workers: Annotated[
        int | None, Option(min=1, max=64, help="Processes.", show_default="the setting service.workers")
    ] = None,
    watch: Annotated[
        list[Path] | None, Option(metavar="FOLDER", help="Keep the store in step with this folder; repeat for more.")
    ] = None,
) -> None:
    """Serve the HTTP API: search, route, rerank, ask, documents, feedback, explain, evaluation, metrics.

    OpenAI's clients find it at /v1, MCP clients at /mcp, Dify at /dify, rerank clients at /rerank and /v1/rerank.
    A store that does not exist is made, empty; put documents in with `theworld ingest` or POST /api/v1/documents.
    Bound to this machine (the default) no API key is needed; for other addresses make one with `theworld keys create`.
    Interactive documentation: http://HOST:PORT/docs. Ctrl-C finishes what runs, then stops.
    """
    given = {"host": host, "port": port, "workers": workers, "watch": tuple(watch) if watch else None}
    settings = settings_for(store)
    chosen = settings.service.model_copy(update={k: v for k, v in given.items() if v is not None})
    settings = settings.model_copy(update={"service": chosen})
    _check(settings)
    error_console().print(f"Loading the models and opening {settings.store} ...")
    # Worker processes load the settings anew.
    os.environ["THEWORLD_STORE"] = str(settings.store.absolute())
    for name in ("host", "port", "workers"):
        os.environ[f"THEWORLD_SERVICE__{name.upper()}"] = str(getattr(chosen, name))
    if chosen.watch:
        os.environ["THEWORLD_SERVICE__WATCH"] = json.dumps([str(folder.absolute()) for folder in chosen.watch])
    import uvicorn

    from theworld.service.runtime import SHUTDOWN_S

    if chosen.page:
        logging.getLogger("uvicorn.error").addFilter(_say_open)
    with ExitStack() as stack:
        if chosen.workers > 1:
            shared = stack.enter_context(tempfile.TemporaryDirectory(prefix="theworld-metrics-"))
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
        uvicorn.run(
            _APP, factory=True, host=chosen.host, port=chosen.port, workers=chosen.workers,
            timeout_graceful_shutdown=SHUTDOWN_S, log_level="info", access_log=False, server_header=False,
            proxy_headers=False,
        )  # fmt: skip


def _say_open(record: logging.LogRecord) -> bool:
    """Reword Uvicorn's line of where it listens: what to do with the address is news to who never met Uvicorn."""
    workers = os.environ["THEWORLD_SERVICE__WORKERS"]  # of several, the line comes before they have loaded anything
    wait = f"Starting {workers} processes. When each has said that startup is complete: " if workers != "1" else ""
    for name in ("msg", "color_message"):
        said = str(getattr(record, name, "")).replace("Uvicorn running on", f"{wait}Open")
        setattr(record, name, said.replace("(Press CTRL+C to quit)", "in a browser (Ctrl-C stops)"))
    return True


def _check(settings: Settings) -> None:
    """Say on which terms the service is open; refuse, before models are loaded, what cannot work."""
    from theworld.ingestion.sources import check_watchable
    from theworld.stores.ledger.api_keys import KeyRing
    from theworld.stores.ledger.opening import ledger_exists, open_database
    from theworld.stores.opening import check_folder

    with service_needed("serve"):
        from theworld.service.api.access import is_loopback
    chosen, out = settings.service, error_console()
    try:
        family = socket.AF_INET6 if ":" in chosen.host else socket.AF_INET
        socket.create_server((chosen.host, chosen.port), family=family).close()
    except OSError as error:
        raise SettingsError(
            f"port {chosen.port} of {chosen.host} cannot be opened: {error.strerror}",
            remedy="Choose another with --port (or --host), or stop what uses it.",
        ) from error
    if chosen.watch:
        check_watchable(chosen.watch)
    check_folder(settings.store, create=True, has_ledger=settings.ledger.url is None)
    there = ledger_exists(settings)
    if there:
        open_database(settings.store, settings.ledger_server, writable=True).close()
    else:
        out.print(f"No store at {settings.store} yet: an empty one is made.")
    if chosen.keys == "auto" and is_loopback(chosen.host):
        out.print(f"Bound to {chosen.host}: requests from this machine need no API key, for any tenant.")
        return
    with ExitStack() as stack:
        known = KeyRing(stack.enter_context(opened_ledger(settings))).known() if there else []
    if all(key.revoked_ms is not None for key in known):
        make = f"theworld keys create --store {settings.store}"
        out.print(f"No API key exists yet, so every request will be refused: {make}")
    if not is_loopback(chosen.host):
        out.print("Requests need an API key. Put a TLS proxy in front: keys travel in the clear otherwise.")


def mcp(
    store: StoreOption = None,
    tenant: TenantOption = "default",
    log: Annotated[bool, Option("--log", help="Log to standard error what runs.")] = False,
) -> None:
    """Serve the Model Context Protocol over standard input and output: tools search, fetch and ask.

    No server is needed: the store is opened here. A client starts it with the command `theworld mcp --store DIR`, the
    folder written in full. The same tools over HTTP, with keys, are at /mcp of `theworld serve`.
    """
    from theworld.stores.ledger.opening import require_ledger

    settings = settings_for(store)
    require_ledger(settings)
    with service_needed("mcp"):
        from theworld.service.api.access import Caller
        from theworld.service.mcp import Asker, make_server
        from theworld.service.runtime import open_service
    logging.basicConfig(stream=sys.stderr, level=logging.INFO if log else logging.WARNING)
    asker = Asker(Caller(tenant, None))
    with ExitStack() as stack:
        with redirect_stdout(sys.stderr):  # standard output is the protocol's alone; the SDK sees to it from then on
            service = stack.enter_context(open_service(settings))
        make_server(service, lambda _message: asker).run("stdio")


keys_app = typer.Typer(help="Make, list and revoke the API keys of a store's service.")
_DAY_MS = 86_400_000


@keys_app.command()
def create(
    *,
    name: Annotated[str, Option(help="What it is for, so that it is known again.")] = "",
    tenants: Annotated[
        list[str] | None,
        Option("--tenant", help="Tenant it may act for; repeat for more, * for any.", show_default="default"),
    ] = None,
    scopes: Annotated[
        list[str] | None, Option("--scope", help="query, write or evaluate; repeat for more.", show_default="all")
    ] = None,
    days: Annotated[float | None, Option(min=0.01, max=36_500, help="It expires after so many days.")] = None,
    store: StoreOption = None,
) -> None:
    """Make a key and print it, once: only its hash is kept.

    Use it as `Authorization: Bearer KEY`.
    """
    expires = int(time.time() * 1000 + days * _DAY_MS) if days is not None else None
    with _keys(store) as ring:
        from theworld.stores.ledger.api_keys import SCOPES

        token = ring.create(name, tenants or ["default"], scopes=scopes or SCOPES, expires_ms=expires)
    typer.echo(token)
    typer.echo("Keep it now: it cannot be shown again.", err=True)


@keys_app.command(name="list")
def list_keys(store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """Show all keys, never their secrets."""
    with _keys(store) as ring:
        found = ring.known()
    if as_json:
        print_json({"keys": [dict(key._mapping) for key in found]})
        return
    table = plain_table(("Key", "Name", "Tenants", "Scopes", "Made", "State"))
    for key in found:
        expires = key.expires_ms
        lasting = "in use" if expires is None else f"until {_day(expires)}"
        gone = expires is not None and expires <= time.time() * 1000
        state = "revoked" if key.revoked_ms else "expired" if gone else lasting
        table.add_row(key.key_id, key.name, ", ".join(key.tenants), ", ".join(key.scopes), _day(key.created_ms), state)
    console().print(table, soft_wrap=False)


@keys_app.command()
def revoke(
    key_id: Annotated[str, Argument(metavar="KEY_ID", help="Its id: the part between the underscores.")],
    store: StoreOption = None,
) -> None:
    """Make a key worthless, at once also in services that run."""
    with _keys(store) as ring:
        if not ring.revoke(key_id):
            remedy = "See them with `theworld keys list`."
            raise SettingsError(f"there is no key {key_id!r} in use", where="keys", remedy=remedy)
    typer.echo(f"{key_id} revoked.")


@contextmanager
def _keys(store: StoreOption) -> Iterator[KeyRing]:
    from theworld.stores.ledger.api_keys import KeyRing

    with opened_ledger(settings_for(store)) as ledger:
        yield KeyRing(ledger)


def _day(moment_ms: int) -> str:
    return datetime.fromtimestamp(moment_ms / 1000, UTC).date().isoformat()
