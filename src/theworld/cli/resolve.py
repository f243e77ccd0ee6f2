"""`theworld resolve`: what a question refers to in a conversation; no store, no model."""

from __future__ import annotations

from typing import Annotated

import typer

from theworld.cli.options import HistoryOption, JsonFlag


def resolve(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question as asked.", show_default=False)],
    history: HistoryOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what a question refers to in its history, and why."""
    from pydantic import TypeAdapter

    from theworld.cli.history import read_history
    from theworld.cli.output import print_json
    from theworld.nodes.receive_question import clean_question
    from theworld.nodes.resolve_references import ReferenceResolver, describe
    from theworld.state import ResolvedReference

    query = clean_question(question)
    messages = read_history(history) if history else []
    resolved = ReferenceResolver().resolve(query, messages)
    if as_json:
        print_json(TypeAdapter(ResolvedReference).dump_python(resolved, mode="json"))
    else:
        typer.echo(describe(resolved, query, messages))
