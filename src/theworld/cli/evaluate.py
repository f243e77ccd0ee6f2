"""`theworld eval`: the graph measured on a BEIR folder, or on documents with questions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from theworld.cli.evaluate_documents import documents, references, threads, watching
from theworld.cli.ingesting import ingest_paths, show_report
from theworld.cli.options import STDOUT, LimitOption, ModelFlag, StoreOption, check_writable, settings_for
from theworld.cli.output import console, error_console, gain_in_words, plain_table, print_json

if TYPE_CHECKING:
    from theworld.evaluation.answers import AnswersReport
    from theworld.evaluation.datasets import Dataset
    from theworld.graph import Resources
    from theworld.graph.build import CompiledGraph
    from theworld.state import Channel

evaluate_app = typer.Typer(help="Measure retrieval or answers on a BEIR folder, or all of it on documents.")
for command in (documents, threads, references):
    evaluate_app.command()(command)

DatasetArgument = Annotated[
    Path, Argument(metavar="DATASET", help="Folder with corpus.jsonl, queries.jsonl and qrels/test.tsv.")
]
JsonFile = Annotated[
    Path | None, Option("--json", metavar="FILE", help="Write the figures to this file; - for standard output.")
]
GAINS = ("recall@5", "ndcg@10")
"""Metrics whose gain over the baseline is printed with its interval and paired test."""
ALONE: Mapping[str, Channel] = {"BM25 alone": "sparse", "vectors alone": "dense"}
"""What else finds notes for the same language model."""


@evaluate_app.command()
def retrieval(
    dataset: DatasetArgument, *, json_file: JsonFile = None, limit: LimitOption = None, store: StoreOption = None
) -> None:
    """Recall, MRR and nDCG of every stage; the corpus goes into --store, or into a store kept in the user's cache."""
    from theworld.evaluation.retrieval import METRICS, STAGES, evaluate_retrieval, judged_queries

    check_writable(json_file, "--json")
    with _prepared(dataset, store) as (data, graph, _, facts):
        with watching() as watch:
            on_query = watch("Asking", len(judged_queries(data, limit)))
            report = evaluate_retrieval(data, graph, limit=limit, ingest=facts, on_query=on_query)
        figures = report.as_json()
        if json_file != STDOUT:
            names = ("recall@1", *METRICS)
            table = plain_table(("stage", *names), names, gap=1, no_wrap=True)
            for stage in STAGES:
                table.add_row(stage, *(f"{100 * report.mean(stage, name):.1f}" for name in names))
            out, latency = console(), figures["latency_ms"]
            out.print(f"{report.dataset}: {len(report.results)} queries, per cent")
            out.print(table, soft_wrap=False, crop=False)
            for metric in GAINS:
                gain = report.gain("reranked", "m3_baseline", metric)
                out.print(f"reranked over m3_baseline, {metric}: {gain_in_words(gain)}")
            for kind, part in report.by_type().items():
                shown = ", ".join(f"{name} {100 * part.mean('reranked', name):.1f}" for name in ("recall@5", "all@5"))
                over = gain_in_words(part.gain("reranked", "m3_baseline", "recall@5"))
                out.print(
                    f"  {kind or 'no type'} ({len(part.results)}): reranked {shown}; recall@5 over m3_baseline {over}"
                )
            out.print(f"Latency of the whole graph: p50 {latency['p50']} ms, p95 {latency['p95']} ms")
            fallbacks = Counter(item.stage for result in report.results for item in result.degradations)
            out.print("Degradations: " + (", ".join(f"{stage} {n}" for stage, n in fallbacks.items()) or "none"))
        _write(json_file, figures)


@evaluate_app.command()
def answers(
    dataset: DatasetArgument,
    *,
    json_file: JsonFile = None,
    limit: LimitOption = None,
    store: StoreOption = None,
    model: ModelFlag = True,
    compare: Annotated[
        bool, Option("--compare", help="Also give the same model the first notes of BM25, and of vectors, alone.")
    ] = False,
) -> None:
    """Exact match, F1 and precision of the answers, by kind; citations, tokens and cost of a language model."""
    from theworld.evaluation.answers import answerable_queries, evaluate_answers, evaluate_model_alone

    check_writable(json_file, "--json")
    if compare and not (model and settings_for(store).model.name):
        need = "compares what a language model answers: set THEWORLD_MODEL__NAME and leave out --no-model."
        raise typer.BadParameter(need, param_hint="--compare")
    with _prepared(dataset, store) as (data, graph, resources, _):
        with watching() as watch:
            on_query = watch("Asking", len(answerable_queries(data, limit)) * (3 if compare else 1))
            alone = {
                name: evaluate_model_alone(data, graph, resources, channel, limit=limit, on_query=on_query)
                for name, channel in (ALONE if compare else {}).items()
            }
            report = evaluate_answers(data, graph, limit=limit, use_model=model, on_query=on_query)
        figures = report.as_json()
        if compare:
            figures["compare"] = {name: other.as_json() for name, other in alone.items()}
        if json_file != STDOUT:
            out = console()
            out.print(f"{report.dataset}: {figures['answered']} of {figures['n']} questions answered")
            for name in ("em", "f1", "precision_answered"):
                value = figures[name]
                out.print(f"  {name:20}{'0 of 0' if value is None else f'{100 * value:6.1f}'}")
            for kind, values in figures["by_kind"].items():
                shares = ", ".join(f"{name} {100 * values[name]:.1f}" for name in ("em", "f1", "contains"))
                out.print(f"  {kind:20}{values['n']:6} ({shares})")
            _show_models({"TheWorld": report, **alone})
        _write(json_file, figures)


@contextmanager
def _prepared(folder: Path, store: Path | None) -> Iterator[tuple[Dataset, CompiledGraph, Resources, dict[str, Any]]]:
    """Read the dataset, bring its store up to date, and open the graph over it."""
    from theworld.evaluation.datasets import check_store_holds_only, ingest_facts, load_dataset, store_path
    from theworld.graph import build_graph, open_resources

    settings = settings_for(store)
    data = load_dataset(folder)
    settings = settings.model_copy(update={"store": store or store_path(data, settings)})
    report = ingest_paths([data.corpus], settings)
    if report.documents or report.failed:
        show_report(error_console(), report, settings.store)
    with open_resources(settings) as resources:
        check_store_holds_only(resources.store, data)
        yield data, build_graph(resources), resources, ingest_facts(report, data, settings)


def _write(file: Path | None, value: dict[str, Any]) -> None:
    if file == STDOUT:
        print_json(value)
    elif file is not None:
        file.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _show_models(reports: Mapping[str, AnswersReport]) -> None:
    """Print one row a way of finding notes for the same language model; nothing where no model was called."""
    figures = {name: report.as_json() for name, report in reports.items()}
    if not any("calls" in row for row in figures.values()):
        return
    names = ("generated", "EM", "F1", "citations right", "calls", "tokens", "cost")
    table = plain_table(("notes from", *names), names, gap=1, no_wrap=True)
    for name, row in figures.items():
        right = row.get("citations_right")
        cited = "0 of 0" if right is None else f"{100 * right:.1f} of {row['citations']}"
        cost = ", ".join(f"{currency} {amount:.4f}" for currency, amount in row.get("cost", {}).items()) or "?"
        scores = (f"{100 * row['em']:.1f}", f"{100 * row['f1']:.1f}", cited)
        table.add_row(
            name, str(row.get("generated", 0)), *scores, str(row.get("calls", 0)), str(row.get("tokens", 0)), cost
        )
    console().print(table, soft_wrap=False, crop=False)
