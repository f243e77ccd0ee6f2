"""`theworld serve`: the HTTP service over a store.

`theworld keys`: API keys of a store's service.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theworld.cli.options import JsonFlag, StoreOption, settings_for

if TYPE_CHECKING:
    from theworld.settings import Settings
    from theworld.stores.ledger.api_keys import KeyRing

_APP = "theworld.service.app:application"


def serve(
    *,
    store: StoreOption = None,
    host: Annotated[
        str | None, typer.Option("--host", help="Address to bind.", show_default="the setting service.host")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65_535, help="Port.", show_default="the setting service.port")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, max=64, help="Processes.", show_default="the setting service.workers"),
    ] = None,
    watch: Annotated[
        list[Path] | None,
        typer.Option("--watch", metavar="FOLDER", help="Keep the store in step with this folder; repeat for more."),
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
    _hand_down(settings)
    import uvicorn

    from theworld.service.runtime import SHUTDOWN_S

    multiprocess = tempfile.TemporaryDirectory(prefix="theworld-metrics-") if chosen.workers > 1 else None
    if multiprocess is not None:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = multiprocess.name
    try:
        uvicorn.run(
            _APP,
            factory=True,
            host=chosen.host,
            port=chosen.port,
            workers=chosen.workers,
            timeout_graceful_shutdown=SHUTDOWN_S,
            log_level="info",
            access_log=False,
            server_header=False,
            proxy_headers=False,
        )
    finally:
        if multiprocess is not None:
            multiprocess.cleanup()


def _hand_down(settings: Settings) -> None:
    """Let worker processes, which load the settings anew, see what was chosen on the command line."""
    os.environ["THEWORLD_STORE"] = str(settings.store.absolute())
    for name in ("host", "port", "workers"):
        os.environ[f"THEWORLD_SERVICE__{name.upper()}"] = str(getattr(settings.service, name))
    if settings.service.watch:
        watched = [str(folder.absolute()) for folder in settings.service.watch]
        os.environ["THEWORLD_SERVICE__WATCH"] = json.dumps(watched)


def _check(settings: Settings) -> None:
    """Say on which terms the service is open; refuse, before models are loaded, what cannot work."""
    from theworld.cli.output import error_console
    from theworld.errors import SettingsError
    from theworld.extras import install_command
    from theworld.ingestion.watching import check_watchable
    from theworld.stores.ledger.opening import ledger_exists, open_database
    from theworld.stores.store_folder import check_folder

    try:
        from theworld.service.api.access import is_loopback
    except ImportError as error:
        raise SettingsError(
            f"the service needs {error.name}", where="theworld serve", remedy=install_command("service")
        ) from error
    chosen, out = settings.service, error_console()
    if chosen.watch:
        check_watchable(chosen.watch)
    check_folder(settings.store, create=True, has_ledger=settings.ledger.url is None)
    if ledger_exists(settings):
        open_database(settings.store, settings.ledger_server).close()
    else:
        out.print(f"No store at {settings.store} yet: an empty one is made.")
    if chosen.keys == "auto" and is_loopback(chosen.host):
        out.print(f"Bound to {chosen.host}: requests from this machine need no API key, for any tenant.")
        return
    if not _has_key(settings):
        out.print(
            f"No API key exists yet, so every request will be refused: theworld keys create --store {settings.store}"
        )
    if not is_loopback(chosen.host):
        out.print("Requests need an API key. Put a TLS proxy in front: keys travel in the clear otherwise.")


def _has_key(settings: Settings) -> bool:
    from theworld.stores.ledger.api_keys import KeyRing
    from theworld.stores.ledger.opening import ledger_exists
    from theworld.stores.ledger.service_ledger import ServiceLedger

    if not ledger_exists(settings):
        return False
    with ServiceLedger.of(settings) as ledger:
        return any(key.revoked_ms is None for key in KeyRing(ledger).known())


keys_app = typer.Typer(help="Make, list and revoke the API keys of a store's service.", no_args_is_help=True)
_DAY_MS = 86_400_000


@keys_app.command()
def create(
    *,
    name: Annotated[str, typer.Option("--name", help="What it is for, so that it is known again.")] = "",
    tenants: Annotated[
        list[str] | None,
        typer.Option("--tenant", help="Tenant it may act for; repeat for more, * for any.", show_default="default"),
    ] = None,
    scopes: Annotated[
        list[str] | None, typer.Option("--scope", help="query, write or evaluate; repeat for more.", show_default="all")
    ] = None,
    days: Annotated[
        float | None, typer.Option("--days", min=0.01, max=36_500, help="It expires after so many days.")
    ] = None,
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
    from dataclasses import asdict

    from rich.table import Table

    from theworld.cli.output import console, print_json

    with _keys(store) as ring:
        found = ring.known()
    if as_json:
        print_json({"keys": [asdict(key) for key in found]})
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("Key", "Name", "Tenants", "Scopes", "Made", "State"):
        table.add_column(title)
    for key in found:
        state = "revoked" if key.revoked_ms else _until(key.expires_ms)
        table.add_row(key.key_id, key.name, ", ".join(key.tenants), ", ".join(key.scopes), _day(key.created_ms), state)
    console().print(table, soft_wrap=False)


@keys_app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="Its id: the part between the underscores.")],
    store: StoreOption = None,
) -> None:
    """Make a key worthless, within seconds also in services that run."""
    from theworld.errors import SettingsError

    with _keys(store) as ring:
        if not ring.revoke(key_id):
            raise SettingsError(
                f"there is no key {key_id!r} in use", where="keys", remedy="See them with `theworld keys list`."
            )
    typer.echo(f"{key_id} revoked.")


@contextmanager
def _keys(store: StoreOption) -> Iterator[KeyRing]:
    from theworld.stores.ledger.api_keys import KeyRing
    from theworld.stores.ledger.opening import require_ledger
    from theworld.stores.ledger.service_ledger import ServiceLedger

    settings = settings_for(store)
    require_ledger(settings)
    with ServiceLedger.of(settings) as ledger:
        yield KeyRing(ledger)


def _day(moment_ms: int) -> str:
    return datetime.fromtimestamp(moment_ms / 1000, UTC).date().isoformat()


def _until(expires_ms: int | None) -> str:
    if expires_ms is None:
        return "in use"
    return f"until {_day(expires_ms)}" if expires_ms > time.time() * 1000 else "expired"
