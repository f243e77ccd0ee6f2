"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from theworld.settings import Settings


class LanguageName(StrEnum):
    """A language, as `theworld.text.Language` without importing it."""

    EN = "en"
    ZH = "zh"


class ChannelName(StrEnum):
    """A retrieval channel, as `theworld.state.Channel` without importing it."""

    SPARSE = "sparse"
    DENSE = "dense"
    GRAPH = "graph"
    ONTOLOGY = "ontology"


StoreOption = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help="Folder of the store.", show_default="the setting store")
]
TenantOption = Annotated[str, typer.Option("--tenant", help="Whose knowledge it is.")]
HistoryOption = Annotated[
    Path | None,
    typer.Option("--history", metavar="FILE", help="Earlier messages: JSON list or JSON lines of {role, content}."),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
STDOUT = Path("-")
"""As the value of an option that names a file: standard output."""


def settings_for(store: Path | None) -> Settings:
    """Return the effective settings, the store given on the command line first."""
    from theworld.settings import Settings

    return Settings.load(store=store)


def check_writable(file: Path | None, option: str) -> None:
    """Refuse a file that cannot be written before hours of work, not after."""
    if file is None or file == STDOUT:
        return
    if file.is_dir() or not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
        raise typer.BadParameter(f"{file} cannot be written.", param_hint=option)


def read_filters(pairs: Sequence[str]) -> dict[str, str | list[str]]:
    """Return metadata filters from `key=value` texts; a usage error for one that is not of this form."""
    from theworld.stores import filters

    try:
        return filters.read_filters(pairs)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--filter") from error


def check_tenant(tenant: str) -> str:
    """Return the tenant; a usage error when it is empty or too long."""
    if not 1 <= len(tenant) <= 128:
        raise typer.BadParameter("a tenant has 1 to 128 characters.", param_hint="--tenant")
    return tenant


def read_moment(text: str | None) -> datetime | None:
    """Return a date or time given as ISO 8601, None for none; a usage error for anything else."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no date such as 2024-12-31.", param_hint="--now") from None
