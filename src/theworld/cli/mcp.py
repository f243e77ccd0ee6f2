"""`theworld mcp`: the knowledge as tools for Claude, Cursor and other programs that start it themselves."""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack, redirect_stdout
from typing import Annotated

import typer

from theworld.cli.options import StoreOption, TenantOption, check_tenant, settings_for


def mcp(
    store: StoreOption = None,
    tenant: TenantOption = "default",
    log: Annotated[bool, typer.Option("--log", help="Log to standard error what runs.")] = False,
) -> None:
    """Serve the Model Context Protocol over standard input and output: tools search, fetch and ask.

    No server is needed: the store is opened here. A client starts it with the command `theworld mcp --store DIR`, the
    folder written in full. The same tools over HTTP, with keys, are at /mcp of `theworld serve`.
    """
    from theworld.errors import SettingsError
    from theworld.extras import install_command
    from theworld.stores.ledger.opening import require_ledger

    check_tenant(tenant)
    settings = settings_for(store)
    require_ledger(settings)
    try:
        from theworld.service.api.access import Caller
        from theworld.service.mcp import Asker, make_server
        from theworld.service.runtime import open_service
    except ImportError as error:
        raise SettingsError(
            f"this command needs {error.name}", where="theworld mcp", remedy=install_command("service")
        ) from error
    logging.basicConfig(stream=sys.stderr, level=logging.INFO if log else logging.WARNING)
    asker = Asker(Caller(tenant, None))
    with ExitStack() as stack:
        with redirect_stdout(sys.stderr):  # standard output is the protocol's alone; the SDK sees to it from then on
            service = stack.enter_context(open_service(settings))
        make_server(service, lambda _message: asker).run("stdio")
