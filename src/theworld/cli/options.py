"""Options that several commands share, how their values are read, and what they open."""

from __future__ import annotations

import locale
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from theworld.errors import SettingsError

if TYPE_CHECKING:
    from theworld.settings import Settings
    from theworld.stores.knowledge_store import KnowledgeStore
    from theworld.stores.ledger.database import Database


ChannelName = StrEnum("ChannelName", ["sparse", "dense", "graph", "ontology"])
"""A retrieval channel, as `theworld.state.Channel` without importing it; typer takes lists of enumerations only."""


def _check_tenant(tenant: str) -> str:
    if not 1 <= len(tenant) <= 128:
        raise typer.BadParameter("a tenant has 1 to 128 characters.", param_hint="--tenant")
    return tenant


def _read_moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no date such as 2024-12-31.", param_hint="--now") from None


LanguageName = Literal["en", "zh"]
"""As `theworld.text.Language`, which costs more to import."""


def terminal_language() -> LanguageName:
    """Return `zh` where the terminal's language (LC_ALL, LC_MESSAGES, LANG, or the system's) is Chinese, else `en`."""
    said = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), locale.getlocale()[0] or "")
    return "zh" if said.lower().startswith(("zh", "chinese")) else "en"


StoreOption = Annotated[
    Path | None, Option(metavar="DIR", help="Folder of the store.", show_default="the setting store")
]
TenantOption = Annotated[str, Option(callback=_check_tenant, help="Whose knowledge it is.")]
HistoryOption = Annotated[
    Path | None,
    Option(metavar="FILE", help="Earlier messages: JSON list or JSON lines of {role, content}."),
]
FilterOption = Annotated[
    list[str] | None,
    Option("--filter", metavar="KEY=VALUE", help="Document metadata that must match; repeat for more."),
]
QuestionWords = Annotated[list[str], Argument(metavar="QUESTION", help="The question, in English or Chinese.")]
"""Several arguments are the words of one question: quotes are easily forgotten."""
LanguageOption = Annotated[
    LanguageName | None,
    Option(help="Language of what is said.", show_default="the question's; where that is not plain, the terminal's"),
]
LimitOption = Annotated[int | None, Option(min=1, help="Use only the first so many.")]
NowOption = Annotated[
    datetime | None, Option(metavar="DATE", parser=_read_moment, help="Date that time words refer to.")
]
ModelFlag = Annotated[bool, Option(help="Allow a configured language model.")]
JsonFlag = Annotated[bool, Option("--json", help="Print one JSON object and nothing else.")]
STDOUT = Path("-")
"""As the value of an option that names a file: standard output."""
INTERRUPTED = 130
"""Exit code of what Ctrl-C has stopped."""


def settings_for(store: Path | None) -> Settings:
    """Return the effective settings, the store given on the command line first."""
    from theworld.settings import Settings

    return Settings.load(store=store)


def opened_store(store: Path | None, **options: Any) -> KnowledgeStore:
    """Open the store that is named, or the settings' own; `options` are those of `open_store`."""
    from theworld.stores.knowledge_store import open_store

    return open_store(settings_for(store), **options)


def opened_ledger(settings: Settings) -> Database:
    """Open what the service keeps in a store that must be there: keys and records."""
    from theworld.stores.ledger.opening import open_database, require_ledger

    require_ledger(settings)
    return open_database(settings.store, settings.ledger_server, writable=True)


@contextmanager
def service_needed(command: str) -> Iterator[None]:
    """Import parts of the service; SettingsError that says how to install it where one is missing."""
    from theworld.packages import install_command

    try:
        yield
    except ImportError as error:
        remedy = f"Install it: {install_command('service')}"
        raise SettingsError(f"`theworld {command}` needs {error.name}", remedy=remedy) from error


def check_writable(file: Path | None, option: str) -> None:
    """Refuse a file that cannot be written before hours of work, not after."""
    if file is None or file == STDOUT:
        return
    if file.is_dir() or not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
        raise typer.BadParameter(f"{file} cannot be written.", param_hint=option)


def read_filters(pairs: Sequence[str] | None) -> dict[str, str | list[str]]:
    """Return metadata filters from `key=value` texts; a usage error for one that is not of this form."""
    from theworld.stores import records

    try:
        return records.read_filters(pairs or [])
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--filter") from error
