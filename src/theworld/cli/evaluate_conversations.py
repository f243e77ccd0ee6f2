"""`theworld eval threads` and `theworld eval references`: how well conversations are followed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theworld.cli.evaluate_documents import ingested, store_folder, watching
from theworld.cli.options import JsonFlag, settings_for

if TYPE_CHECKING:
    from theworld.evaluation.conversations import Measured

Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Use only the first conversations or questions.")]


def threads(
    folder: Annotated[Path, typer.Argument(metavar="SET", help="Folder with corpus/ and threads.jsonl.")],
    *,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="DIR", help="Keep the store there.", show_default="a temporary folder"),
    ] = None,
    rewriting_only: Annotated[
        bool, typer.Option("--rewriting-only", help="Measure the stand-alone questions alone; nothing is searched.")
    ] = False,
    limit: Limit = None,
    as_json: JsonFlag = False,
) -> None:
    """Hold conversations over documents, with the ideal replies as history, and measure every turn.

    A line of threads.jsonl is a conversation: id, lang and turns of question,
    reply, refers (pronoun, ordinal, none, ...), standalone,
    standalone_must_contain, answers or parts, and files.

    For example: theworld eval threads ./handbook --store handbook.store
    """
    from theworld.cli.output import console, print_json
    from theworld.evaluation.conversations import load_threads, measure_threads
    from theworld.graph import build_graph, open_resources

    documents, found = load_threads(folder, limit)
    turns = sum(len(thread.turns) for thread in found)
    with watching() as watch:
        if rewriting_only:
            figures = measure_threads(found, documents, None, watch(f"Reading {documents.name}", turns))
        else:
            with store_folder(store) as place:
                settings = settings_for(place)
                ingested(documents, settings)
                with open_resources(settings) as resources:
                    graph = build_graph(resources)
                    figures = measure_threads(found, documents, graph, watch(f"Asking {documents.name}", turns))
    if as_json:
        print_json({"set": documents.name, "threads": len(found), "groups": [one.as_json() for one in figures]})
        return
    console().print(f"{documents.name}: {len(found)} conversations, {turns} turns, per cent")
    _show(figures)


def references(
    file: Annotated[
        Path, typer.Argument(metavar="SET", help="JSON lines of history, current and rewrite, as CANARD has them.")
    ],
    *,
    limit: Limit = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare stand-alone questions with those that people wrote: exact, F1, and how often one is made worse.

    For example: theworld eval references canard-dev.jsonl
    """
    from theworld.cli.output import console, print_json
    from theworld.evaluation.conversations import load_rewritings, measure_rewritings

    rows = load_rewritings(file, limit)
    with watching() as watch:
        figures = measure_rewritings(rows, watch(f"Reading {file.name}", len(rows)))
    if as_json:
        print_json({"set": file.name} | figures.as_json())
        return
    console().print(f"{file.name}: {figures.asked} questions, per cent")
    for name, share in figures.shares.items():
        console().print(f"  {name:20}{100 * share:6.1f}")


def _show(figures: Sequence[Measured]) -> None:
    from theworld.cli.output import console, printable

    out = console()
    for one in figures:
        out.print(f"{printable(one.group)} ({one.asked})")
        for name, share in one.shares.items():
            out.print(f"  {name:60}{100 * share:6.1f}", soft_wrap=True)
