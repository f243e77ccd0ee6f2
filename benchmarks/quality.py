"""Retrieval by stage and answers without a model on BEIR folders, as Markdown, with intervals.

    OMP_NUM_THREADS=1 python benchmarks/quality.py DATASET... --merged --update benchmarks/README.md

Stores are made once and kept in the user's cache, one for each set. `--merged` measures the English sets once more, in
one store that holds the documents of all of them. `--update` writes the result between the two marks in that file.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import fmean

from environment import environment
from quality_measures.first_answers import FirstAnswers, evaluate_first_answers
from quality_measures.losses import losses
from quality_measures.merging import merge_datasets

from theworld.cli.ingesting import ingest_paths
from theworld.cli.output import error_console
from theworld.errors import TheWorldError
from theworld.evaluation.answers import AnswersReport
from theworld.evaluation.datasets import Dataset, load_dataset, store_path
from theworld.evaluation.metrics import PairedDifference
from theworld.evaluation.retrieval import STAGES, RetrievalReport, evaluate_retrieval
from theworld.graph import Resources, build_graph, open_resources
from theworld.settings import Settings
from theworld.text import detect_language

COLUMNS = ("recall@1", "recall@2", "recall@5", "recall@10", "recall@20", "all@5", "ndcg@10")
GAINS = (
    ("m3_baseline", "recall@5"),
    ("m3_baseline", "recall@20"),
    ("m3_baseline", "all@5"),
    ("dense", "recall@5"),
    ("fused", "recall@5"),
)
BEGIN, END = "<!-- quality: begin -->", "<!-- quality: end -->"


def main() -> None:
    """Measure, print, and put the text into the file that asks for it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+", type=Path, metavar="DATASET", help="BEIR folder")
    parser.add_argument("--merged", action="store_true", help="also all English sets in one store (two or more)")
    parser.add_argument("--limit", type=int, help="only the first questions of each set")
    parser.add_argument("--update", type=Path, metavar="FILE", help=f"replace what stands between {BEGIN} and {END}")
    arguments = parser.parse_args()
    if arguments.update:
        _halves(arguments.update)
    try:
        lines = list(_shown(sections(arguments.datasets, merged=arguments.merged, limit=arguments.limit)))
    except TheWorldError as error:
        parser.exit(1, f"{error}\n")
    if arguments.update:
        before, after = _halves(arguments.update)
        arguments.update.write_text(f"{before}{BEGIN}\n{''.join(lines)}{END}{after}", "utf-8")


def _halves(file: Path) -> tuple[str, str]:
    before, begin, rest = file.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{file} does not hold {BEGIN} and, after it, {END}")
    return before, after


def _shown(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        print(line, end="", flush=True)
        yield line


def sections(folders: Sequence[Path], *, merged: bool, limit: int | None) -> Iterator[str]:
    """Yield the Markdown, piece by piece."""
    yield "".join(f"    {line}\n" for line in environment().splitlines())
    datasets = [load_dataset(folder) for folder in folders]
    for dataset in datasets:
        with _opened(dataset) as resources:
            yield from measured(dataset, resources, f"{dataset.name}", limit)
    if merged:
        whole, parts = merge_datasets([dataset for dataset in datasets if _is_english(dataset)])
        with _opened(whole) as resources:
            for part in parts:
                title = f"{part.name} among {len(whole.document_ids)} documents of {len(parts)} sets"
                yield from measured(part, resources, title, limit)


def _is_english(dataset: Dataset) -> bool:
    return detect_language(dataset.queries[0].text) == "en"


def _opened(dataset: Dataset) -> AbstractContextManager[Resources]:
    settings = Settings.load(store=store_path(dataset, Settings.load()))
    ingest_paths([dataset.corpus], settings)
    return open_resources(settings)


def measured(dataset: Dataset, resources: Resources, title: str, limit: int | None) -> Iterator[str]:
    """Yield the section of one set."""
    error_console().print(f"{title} ...")
    yield from retrieval_section(evaluate_retrieval(dataset, build_graph(resources), limit=limit), title)
    yield from answer_lines(evaluate_first_answers(dataset, resources, limit=limit))


def retrieval_section(report: RetrievalReport, title: str) -> Iterator[str]:
    """Yield the table of stages, what is gained over which, and what a stage loses."""
    latency = report.as_json()["latency_ms"]
    yield f"\n### {title}, n = {len(report.results)}, P50 {latency['p50']} ms, P95 {latency['p95']} ms\n\n"
    yield f"| stage | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}\n"
    for stage in STAGES:
        yield f"| {stage} | {' | '.join(f'{100 * report.mean(stage, metric):.1f}' for metric in COLUMNS)} |\n"
    yield "\n"
    for over, metric in GAINS:
        relative = relatively(report.mean("reranked", metric), report.mean(over, metric))
        yield f"- reranked over {over}, {metric}: {interval(report.gain('reranked', over, metric))}{relative}\n"
    lost = ", ".join(
        f"{loss.stage} {100 * loss.points:.1f} below {loss.over} at {loss.metric}" for loss in losses(report)
    )
    yield f"- stages that lose what they were given: {lost or 'none'}\n"


def answer_lines(answers: FirstAnswers) -> Iterator[str]:
    """Yield what was answered, and the accuracy of the first answer on both lists of candidates."""
    relational = answers.relational()
    for name, some in (("relational questions", relational), ("all questions", answers)):
        if name == "all questions" and len(relational.own.results) == len(answers.own.results):
            continue
        if not some.own.results:
            continue
        asked = (some.own.results, some.baseline.results)
        own, baseline = (fmean(result.measures["contains"] for result in results) for results in asked)
        yield (
            f"- first answer right, {name} (n = {len(some.own.results)}): {100 * own:.1f}, on m3_baseline's candidates "
            f"{100 * baseline:.1f}: {interval(some.gain())}{relatively(own, baseline)}\n"
        )
    yield f"- answers: {answers_text(answers.own)}\n"


def answers_text(report: AnswersReport) -> str:
    """Return how many were answered, and by kind how many are equal to a gold answer and hold one."""
    figures = report.as_json()
    kinds = "; ".join(
        f"{kind} {row['n']} (equal {100 * row['em']:.1f}, holding {100 * row['contains']:.1f})"
        for kind, row in figures["by_kind"].items()
    )
    return (
        f"{figures['answered']} of {figures['n']}, EM {100 * figures['em']:.1f}, F1 {100 * figures['f1']:.1f}; {kinds}"
    )


def relatively(value: float, base: float) -> str:
    """Return by how many per cent of it a value differs from a base; nothing where the base is 0."""
    return f", relatively {100 * (value / base - 1):+.1f} %" if base else ""


def interval(gain: PairedDifference) -> str:
    """Return a difference in points with its 95 % interval and p."""
    return f"{100 * gain.mean:+.1f} [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}], p = {gain.p_value:.4f}"


if __name__ == "__main__":
    main()
