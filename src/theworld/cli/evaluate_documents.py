"""`theworld eval documents`: questions over folders of documents, asked and measured as users get their answers.

`theworld eval threads` and `theworld eval references`: how well conversations are followed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from theworld.cli.ingesting import ingest_paths, progress_bars, show_report
from theworld.cli.options import JsonFlag, LimitOption, check_writable, settings_for
from theworld.cli.output import console, error_console, gain_in_words, plain_table, print_json, printable
from theworld.errors import IngestionError

if TYPE_CHECKING:
    from theworld.evaluation.documents.question_set import DocumentAnswer, DocumentQuestion, QuestionSet, Watch
    from theworld.evaluation.documents.rivals import Rivals
    from theworld.evaluation.documents.scoring import DocumentsReport, Figures
    from theworld.ingestion import IngestReport
    from theworld.settings import Settings


KeptStore = Annotated[
    Path | None,
    Option(
        "--store",
        metavar="DIR",
        help="Keep the store there and reuse it: only changed files cost time.",
        show_default="a temporary folder",
    ),
]
ResultsFile = Annotated[
    Path | None, Option("--results", metavar="FILE", help="Write answers, files and notes as JSON lines.")
]
FailuresFlag = Annotated[bool, Option("--failures", help="List each failed question with its cause.")]


def documents(
    sets: Annotated[list[Path], Argument(metavar="SET...", help="Folders with corpus/ and questions.jsonl.")],
    *,
    store: KeptStore = None,
    limit: LimitOption = None,
    failures: FailuresFlag = False,
    compare: Annotated[
        bool,
        Option(
            "--compare", help="Measure BM25, LangChain, LlamaIndex and Haystack too, on the same files and questions."
        ),
    ] = False,
    results: ResultsFile = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask the questions of a set over its documents, without a language model, and measure the answers.

    A set is a folder with the documents in corpus/ and one JSON object a line
    in questions.jsonl: id, kind (fact, howto, two-file or unanswerable),
    question, answers (a list of strings of which one shows that the answer is
    there) and files (a list of those it stands in). docs/evaluation.md explains
    every field and measure. With several sets, each has its store in DIR/NAME
    and its results in FILE/NAME.jsonl.

    For example: theworld eval documents ./handbook --store handbook.store --failures --compare
    """
    from theworld.evaluation.documents.question_set import load_question_set, write_results

    loaded = [load_question_set(folder, limit) for folder in sets]
    names = [questions.name for questions in loaded]
    if twice := [name for name in names if names.count(name) > 1]:
        raise typer.BadParameter(f"two sets are named {twice[0]!r}: rename one of the folders.", param_hint="SET...")
    several = len(loaded) > 1

    def place_of(name: str, given: Path | None, ending: str) -> Path | None:
        """Return where a set's part goes: the place itself for one set, else below it; its folder is made."""
        place = given / f"{name}{ending}" if given is not None and several else given
        if place is not None:
            place.absolute().parent.mkdir(parents=True, exist_ok=True)
        return place

    for name in names:
        check_writable(place_of(name, results, ".jsonl"), "--results")
    reports: list[DocumentsReport] = []
    found: list[dict[str, Any]] = []
    for questions in loaded:
        place, file = place_of(questions.name, store, ""), place_of(questions.name, results, ".jsonl")
        report, rivals = _measured(questions, place, compare=compare)
        if file is not None:
            write_results(file, report.answers)
        if not as_json:
            show_report_of(report, rivals, failures=failures)
        reports.append(report)
        found.append(report.as_json() | ({} if rivals is None else {"compare": rivals.as_json(report)}))
    if as_json:
        print_json({"sets": found})
    elif len(reports) > 1:
        console().print("\nAll sets, per cent")
        show_figures("set", [(printable(report.questions.name), report.figures) for report in reports])


def _measured(questions: QuestionSet, place: Path | None, *, compare: bool) -> tuple[DocumentsReport, Rivals | None]:
    """Bring the set's store up to date, ask its questions, and measure the rivals where wanted."""
    from theworld.evaluation.datasets import document_facts
    from theworld.evaluation.documents.question_set import ask_questions
    from theworld.evaluation.documents.rivals import measure_rivals
    from theworld.evaluation.documents.scoring import DocumentsReport
    from theworld.graph import build_graph, open_resources

    with tempfile.TemporaryDirectory(prefix="theworld-") as temporary, watching() as watch:
        settings = settings_for(place or Path(temporary) / "store")
        report = ingested(questions, settings)
        with open_resources(settings) as resources:
            answers = ask_questions(questions, build_graph(resources), watch)
            mine = DocumentsReport(questions, answers, document_facts(report))
            rivals = measure_rivals(questions, resources.store, resources.models, watch) if compare else None
    for reason in rivals.left_out.values() if rivals is not None else ():
        error_console().print(f"LEFT OUT: {reason}", style="bold red", soft_wrap=True)
    return mine, rivals


def ingested(questions: QuestionSet, settings: Settings) -> IngestReport:
    """Bring the store up to date; one that holds other documents is refused before anything is written to it."""
    from theworld.evaluation.datasets import check_only_corpus
    from theworld.stores.knowledge_store import open_store

    if settings.store.exists():
        with open_store(settings, create=True) as store:
            check_only_corpus(store, questions.corpus)
    error_console().print(f"Reading the documents of {questions.name}", soft_wrap=True)
    report = ingest_paths([questions.corpus], settings, prune=True)
    show_report(error_console(), report, settings.store)
    if not report.documents and not report.unchanged:
        where, remedy = str(questions.corpus), "Put the documents there."
        raise IngestionError("holds no file that can be read.", where=where, remedy=remedy)
    return report


@contextmanager
def watching() -> Iterator[Watch]:
    """Yield what shows each piece of work: a line when it begins, and on a terminal a bar."""

    with progress_bars(error_console()) as progress:

        def watch(label: str, total: int) -> Callable[[], None]:
            if progress.disable:
                progress.console.print(label)
            return partial(progress.advance, progress.add_task(label, total=total))

        yield watch


OURS = "TheWorld"
_WIDTH = 130
"""Characters that the widest table takes; a narrower terminal breaks lines, but no figure is cut."""
LEGEND = """\
file@K: files needed among the first K; files@5: all of several among five; note@K: the fact in the first K notes;
answer: in the answer; screen: in its first 1,600 characters (Chinese 700); handled: unanswerable ones declined;
declined: answerable ones declined; chars: median length of the answers"""


def show_report_of(report: DocumentsReport, rivals: Rivals | None, *, failures: bool) -> None:
    """Print the figures of one set, then the rivals beside them and the failures, where wanted."""
    from theworld.evaluation.documents.rivals import GAINS, RIVALS

    out, latency = console(), report.latency_ms()
    out.print(f"\n{printable(report.questions.name)}: {len(report.answers)} questions, per cent")
    groups = [(f"{name} {printable(value)}", figures) for name, value, figures in report.groups()]
    show_figures("group", [("all", report.figures), *groups])
    out.print(LEGEND, style="dim")
    out.print(f"Latency of the whole graph: p50 {latency['p50']} ms, p95 {latency['p95']} ms")
    if rivals is not None:
        out.print("\nThe same files, questions and embedder; a rival's answer is its first three passages")
        systems = [(OURS, report), *((RIVALS[name], found) for name, found in rivals.reports.items())]
        show_figures("system", [(label, found.figures) for label, found in systems])
        for label, other in systems[1:]:
            for measure in (measure for measure in GAINS if measure in report.figures.shares):
                out.print(f"{OURS} over {label}, {measure}: {gain_in_words(report.gain(other, measure))}")
    if failures:
        _show_failures(report)


def _show_failures(report: DocumentsReport) -> None:
    """Print the failed questions by cause."""
    from theworld.evaluation.documents.scoring import CAUSES

    out, failed = console(), report.failures()
    out.print(f"\nFailed: {sum(map(len, failed.values()))} of {len(report.answers)}")
    for cause, some in failed.items():
        out.print(f"{cause} ({CAUSES[cause]}): {len(some)}")
        for failure in some:
            fact, files = (rank or "-" for rank in (failure.note_rank, failure.file_rank))
            sure = "" if failure.confidence is None else f", {failure.kind} {failure.confidence:.2f}"
            out.print(f"  {failure.id:8} fact at note {fact}, files at {files}{sure}: {printable(failure.question)}")


def show_figures(head: str, rows: Iterable[tuple[str, Figures]]) -> None:
    """Print one row of figures each."""
    from theworld.evaluation.documents.scoring import MEASURES

    names = ("n", *MEASURES.values(), "chars")
    table = plain_table((head, *names), names, gap=1, no_wrap=True)
    for label, figures in rows:
        shares = (f"{100 * figures.shares[name]:.1f}" if name in figures.shares else "-" for name in MEASURES)
        table.add_row(label, str(figures.asked), *shares, f"{figures.characters:.0f}")
    out = console()
    out.width = max(out.width, _WIDTH)
    out.print(table, soft_wrap=False)


def threads(
    folder: Annotated[Path, Argument(metavar="SET", help="Folder with corpus/ and threads.jsonl.")],
    *,
    store: KeptStore = None,
    rewriting_only: Annotated[
        bool, Option("--rewriting-only", help="Measure the stand-alone questions alone; nothing is searched.")
    ] = False,
    own_answers: Annotated[
        bool, Option("--own-answers", help="Put the answers given into the history, not the set's replies.")
    ] = False,
    limit: LimitOption = None,
    failures: FailuresFlag = False,
    results: ResultsFile = None,
    as_json: JsonFlag = False,
) -> None:
    """Hold conversations over documents and measure every turn, asked as typed and as a person made it stand alone.

    A line of threads.jsonl is a conversation: id, lang and turns of question,
    reply, refers (pronoun, ordinal, none, ...), standalone,
    standalone_must_contain, answers or parts, and files.

    For example: theworld eval threads ./handbook --store handbook.store
    """
    from theworld.evaluation.conversations import load_threads, measure_threads
    from theworld.evaluation.documents.question_set import QuestionSet, write_results
    from theworld.evaluation.documents.scoring import DocumentsReport
    from theworld.graph import build_graph, open_resources

    of_answers = compress(("--failures", "--results", "--own-answers"), (failures, results, own_answers))
    if rewriting_only and (option := next(of_answers, "")):
        raise typer.BadParameter("tells of answers: leave out --rewriting-only.", param_hint=option)
    check_writable(results, "--results")
    documents, found = load_threads(folder, limit)
    asked: list[tuple[DocumentQuestion, DocumentAnswer]] = []
    turns = sum(len(thread.turns) for thread in found)
    with watching() as watch:
        if rewriting_only:
            figures = measure_threads(found, documents, None, watch(f"Reading {documents.name}", turns))
        else:
            with tempfile.TemporaryDirectory(prefix="theworld-") as temporary:
                settings = settings_for(store or Path(temporary) / "store")
                ingested(documents, settings)
                with open_resources(settings) as resources:
                    graph = build_graph(resources)
                    step = watch(f"Asking {documents.name}", turns)
                    figures = measure_threads(found, documents, graph, step, asked, own_answers=own_answers)
    if results is not None:
        write_results(results, [answer for _, answer in asked])
    questions = QuestionSet(documents.name, documents.corpus, tuple(question for question, _ in asked))
    report = DocumentsReport(questions, [answer for _, answer in asked])
    if as_json:
        failed = {cause: [asdict(one) for one in some] for cause, some in report.failures().items()}
        groups = [one.as_json() for one in figures]
        print_json({"set": documents.name, "threads": len(found), "groups": groups, "failures": failed})
        return
    console().print(f"{documents.name}: {len(found)} conversations, {turns} turns, per cent")
    for one in figures:
        console().print(f"{printable(one.group)} ({one.asked})")
        for name, share in one.shares.items():
            console().print(f"  {name:60}{100 * share:6.1f}", soft_wrap=True)
    if failures:
        _show_failures(report)


def references(
    file: Annotated[
        Path, Argument(metavar="SET", help="JSON lines of history, current and rewrite, as CANARD has them.")
    ],
    *,
    limit: LimitOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare stand-alone questions with those that people wrote: exact, F1, and how often one is made worse.

    For example: theworld eval references canard-dev.jsonl
    """
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
