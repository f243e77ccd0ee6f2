"""The application: its commands, and one place where errors become one sentence and an exit code.

Exit codes: 0 done; 1 failed or, in `demo`, a wrong answer; 2 wrong question, setting or usage; 3 model; 4 store;
5 source; 6 retrieval unavailable; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from theworld import __version__
from theworld.cli.ask import ask, resolve, router_app
from theworld.cli.chat import chat
from theworld.cli.database import database_app
from theworld.cli.demo import demo
from theworld.cli.documents import delete, ingest, list_documents, show_document, watch
from theworld.cli.evaluate import evaluate_app
from theworld.cli.ontology import ontology_app
from theworld.cli.options import INTERRUPTED, terminal_language
from theworld.cli.output import error_in_words
from theworld.cli.records import explain, replay
from theworld.cli.serve import keys_app, mcp, serve
from theworld.cli.store import backup, doctor, info, ledger_app, restore, sync
from theworld.cli.wikidata import wikidata_app
from theworld.errors import TheWorldError

DEBUG = "--debug"


class StoppableGroup(TyperGroup):
    """Says that Ctrl-C was heard, after what a command itself does about it, and which option an unknown command is."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            typer.echo("theworld: stopped.", err=True)
            raise typer.Exit(INTERRUPTED) from stop

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names; where it names an option, that is what was meant."""
        options = [name for parameter in self.get_params(ctx) for name in parameter.opts]
        near = get_close_matches(f"--{args[0]}", options, n=1, cutoff=0.8)
        if near and not get_close_matches(args[0], self.commands):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]}?")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="theworld",
    cls=StoppableGroup,
    help="Answers questions over your documents: no key, no server, no download needed.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS: tuple[Callable[..., None], ...] = (
    *(ingest, ask, chat, serve, mcp, list_documents, show_document, delete, watch),
    *(info, doctor, sync, backup, restore, explain, replay, resolve, demo),
)
_GROUPS = {
    **{"eval": evaluate_app, "ledger": ledger_app, "database": database_app, "ontology": ontology_app},
    **{"router": router_app, "wikidata": wikidata_app, "keys": keys_app},
}
for command in _COMMANDS:
    app.command({list_documents: "list", show_document: "show"}.get(command))(command)
for name, group in _GROUPS.items():
    app.add_typer(group, name=name, no_args_is_help=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"theworld {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, Option(DEBUG, help="Show tracebacks; may stand anywhere.")] = False,
) -> None:
    """Answers questions over your documents: no key, no server, no download needed."""


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; what goes wrong is one sentence on standard error."""
    end = arguments.index("--") if "--" in arguments else len(arguments)  # it may stand anywhere before that
    debug = DEBUG in arguments[:end]
    try:
        app([*(one for one in arguments[:end] if one != DEBUG), *arguments[end:]], prog_name="theworld")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except TheWorldError as error:
        if debug:
            raise
        from theworld.text.tokens import has_ideographs

        language = "zh" if has_ideographs(" ".join(arguments)) else terminal_language()
        typer.echo(f"theworld: {error_in_words(error, language)}", err=True)
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if debug:
            raise
        if isinstance(error, OSError) and error.filename is not None:
            message = f"{os.fsdecode(error.filename)}: {error.strerror}. Check the path and its permissions"
        else:
            message = f"unexpected {type(error).__name__}: {error}"
        typer.echo(f"theworld: {message} (add {DEBUG} for the details)", err=True)
        return 1
    return 0
