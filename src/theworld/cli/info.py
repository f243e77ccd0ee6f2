"""`theworld info`: what is in the store, and every effective setting with its origin."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theworld import __version__
from theworld.cli.options import JsonFlag, StoreOption, settings_for

if TYPE_CHECKING:
    from rich.console import Console

    from theworld.settings import Settings


def info(
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the store and every effective setting with its origin; secrets are hidden."""
    from theworld.cli.output import console, print_json

    settings = settings_for(store)
    facts = store_facts(settings, required=store is not None)
    if as_json:
        print_json(
            {
                "version": __version__,
                "python": platform.python_version(),
                "store": facts,
                "settings": setting_facts(settings),
            }
        )
        return
    out = console()
    out.print(f"theworld {__version__}, Python {platform.python_version()}")
    _show_store(out, settings, facts)
    _show_settings(out, settings)


def store_facts(settings: Settings, *, required: bool) -> dict[str, Any] | None:
    """Return the store's facts; None when there is none and none was asked for by name."""
    from theworld.stores.knowledge_store import open_store

    if not required and not settings.store.exists():
        return None
    with open_store(settings) as store:
        return store.info()


def setting_facts(settings: Settings) -> dict[str, dict[str, Any]]:
    """Return value and origin of every setting by its dotted name; secrets as stars."""
    from pydantic import SecretStr

    from theworld.settings import setting_value, settings_origins

    found = {}
    for name, origin in settings_origins(settings).items():
        value = setting_value(settings, name)
        shown = str(value) if isinstance(value, Path | SecretStr) else value
        found[name] = {"value": shown, "origin": origin.kind, "where": origin.where}
    return found


def _show_store(out: Console, settings: Settings, facts: dict[str, Any] | None) -> None:
    from theworld.cli.output import counted

    if facts is None:
        out.print(f"No store at {settings.store} yet: make one with `theworld ingest PATH --store {settings.store}`.")
        return
    size = sum(facts["bytes"].values()) / 1_000_000
    out.print(f"Store {facts['path']}: {size:.1f} MB, sequence {facts['sequence']}, versions {facts['versions']}")
    for tenant, counts in facts["tenants"].items():
        languages = ", ".join(f"{number} {language}" for language, number in counts["languages"].items())
        spaces = ", ".join(f"{name} ({number})" for name, number in counts["spaces"].items())
        held = f"{counted(counts['documents'], 'document')}, {counted(counts['notes'], 'note')}"
        out.print(f"  tenant {tenant}: {held} ({languages})")
        out.print(f"    vectors: {spaces or 'none'}")
    behind = {name: "cannot be asked" if lag is None else lag for name, lag in facts["lag"].items() if lag != 0}
    if behind:
        out.print(f"  behind the ledger: {behind}; `theworld sync` brings it up to date")


def _show_settings(out: Console, settings: Settings) -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("Setting", "Value", "Origin"):
        table.add_column(title, overflow="fold")
    for name, fact in setting_facts(settings).items():
        value = "" if fact["value"] is None else str(fact["value"])
        table.add_row(name, value, f"{fact['origin']} {fact['where']}".strip())
    out.print()
    out.print(table, soft_wrap=False)
