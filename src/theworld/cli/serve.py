"""`theworld serve`: the HTTP service over a store."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Annotated

import typer

from theworld.cli.options import StoreOption, settings_for

if TYPE_CHECKING:
    from theworld.settings import Settings

_APP = "theworld.service.server:application"


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
) -> None:
    """Serve the HTTP API: search, route, rerank, ask, documents, feedback, explain, evaluation, metrics.

    A store that does not exist is made, empty; put documents in with `theworld ingest` or POST /api/v1/documents.
    Bound to this machine (the default) no API key is needed; for other addresses make one with `theworld keys create`.
    Interactive documentation: http://HOST:PORT/docs. Ctrl-C finishes what runs, then stops.
    """
    given = {"host": host, "port": port, "workers": workers}
    settings = settings_for(store)
    chosen = settings.service.model_copy(update={k: v for k, v in given.items() if v is not None})
    settings = settings.model_copy(update={"service": chosen})
    _check(settings)
    _hand_down(settings)
    import uvicorn

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
            timeout_graceful_shutdown=int(chosen.shutdown_s),
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


def _check(settings: Settings) -> None:
    """Say on which terms the service is open; refuse, before models are loaded, what cannot work."""
    from theworld.cli.output import error_console
    from theworld.errors import SettingsError
    from theworld.stores.ledger.opening import ledger_exists, open_database
    from theworld.stores.store_folder import check_folder

    try:
        from theworld.service.api.access import is_loopback
    except ImportError as error:
        raise SettingsError(
            f"the service needs {error.name}", where="theworld serve", remedy='pip install "theworld[service]"'
        ) from error
    chosen, out = settings.service, error_console()
    check_folder(settings.store, create=True, has_ledger=settings.ledger.url is None)
    if ledger_exists(settings):
        open_database(settings.store, settings.ledger).close()
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
