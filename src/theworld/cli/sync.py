"""`theworld sync`: bring the projections up to date with the ledger, and check that they hold what it holds."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from theworld.cli.options import JsonFlag, StoreOption, settings_for

if TYPE_CHECKING:
    from theworld.stores.knowledge_store import KnowledgeStore

FAILED = 4


class ProjectionName(StrEnum):
    """A projection of a store."""

    SPARSE = "sparse"
    DENSE = "dense"
    GRAPH = "graph"


def sync(
    store: StoreOption = None,
    rebuild: Annotated[
        list[ProjectionName] | None, typer.Option("--rebuild", help="Empty this projection first; repeat for more.")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Compare what servers hold with the ledger.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Replay the ledger into projections that are empty or behind; what is there already is not sent again.

    Interrupted, it goes on where it was when it is run again. Exits with 4 when a projection could not be brought up to
    date, or when --verify finds a difference.

    Moving to servers: set THEWORLD_SPARSE__URL, THEWORLD_DENSE__URL or THEWORLD_GRAPH__URL, then run
    `theworld sync --verify`.
    """
    from theworld.cli.ingesting import progress_bars
    from theworld.cli.output import counted, error_console, print_json, tell_troubles
    from theworld.stores.knowledge_store import open_store

    settings = settings_for(store)
    with open_store(settings, read_only=False) as opened, progress_bars(error_console()) as progress:
        task = progress.add_task("Indexing", total=None)
        for projection in dict.fromkeys(rebuild or ()):
            opened.rebuild(projection.value)
        opened.catch_up(lambda done, total: progress.update(task, completed=done, total=total or 1))
        lag, troubles = opened.info()["lag"], dict(opened.troubles)
        differences = verified(opened) if verify and not troubles else None
    if as_json:
        print_json({"lag": lag, "troubles": troubles, "differences": differences})
    else:
        tell_troubles(troubles)
        for name, count in lag.items():
            typer.echo(
                f"{name}: {'cannot be asked' if count is None else 'up to date' if not count else f'{count} behind'}"
            )
        for difference in differences or ():
            typer.echo(difference)
        if differences is not None:
            typer.echo(f"{counted(len(differences), 'difference')} between servers and ledger.")
    if troubles or differences:
        raise typer.Exit(FAILED)


def verified(store: KnowledgeStore) -> list[str]:
    """Return what differs between projections on servers and the ledger, in words; empty when nothing does."""
    return [
        f"{name}: the ledger has {expected}, the server {held}; `theworld sync --rebuild {name}` mends it"
        for name, (expected, held) in store.verify().items()
        if expected != held
    ]
