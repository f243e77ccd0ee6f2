"""`theworld keys`: API keys of a store's service."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from theworld.cli.options import JsonFlag, StoreOption, settings_for

if TYPE_CHECKING:
    from theworld.stores.ledger.api_keys import KeyRing

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
