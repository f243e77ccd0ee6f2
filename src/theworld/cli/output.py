"""What a person sees of an answer. Everything that came from documents is plain text here, never mark-up."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich.console import Console, JustifyMethod
from rich.live import Live
from rich.table import Table
from rich.text import Text

from theworld.cli.options import LanguageName, terminal_language
from theworld.packages import load_table, reason_in

if TYPE_CHECKING:
    from theworld.errors import TheWorldError
    from theworld.evaluation.metrics import PairedDifference
    from theworld.state import EntityJudgement, EvidencePath, QueryOutput, QueryTable

QUOTE_CHARACTERS = 160
NEAREST = 2
"""Notes named where none was enough for an answer."""
NO_CANDIDATES = "无候选"
"""Reason of the judgement of a name that no entry has."""
PATHS_SHOWN = 5
ROWS_SHOWN = 20
CHANNELS = ("sparse", "dense", "graph", "ontology")
BAR_CHARACTERS = 30
PIPE_COLUMNS = 1000
"""Columns of a table that no terminal shows: programs read a row a line."""


def word(key: str, language: LanguageName, **values: object) -> str:
    """Return a text of data/words.yaml, filled."""
    return str(load_table("theworld.cli", "data/words.yaml")[key][language]).format(**values)


def called(kind: Literal["node", "channel", "count"], name: str, language: LanguageName) -> str:
    """Return what a stage, a channel or a count is called: its own name in English, as on the page in Chinese."""
    page = load_table("theworld.service", "page/data/messages/found.yaml")
    texts = page.get(f"{kind}_{name}") if language == "zh" else None
    return str(texts["zh"]) if texts else name


def error_in_words(error: TheWorldError, language: LanguageName) -> str:
    """Return an error in the language of who asks; in English where its sentence has no other."""
    what, remedy, where = (reason_in(language, text) for text in (error.what, error.remedy, error.where))
    if what == error.what:
        return str(error)
    said = what if what.endswith("。") else f"{what}。"
    return f"{where}：{said}{remedy}" if where else f"{said}{remedy}"


def console() -> Console:
    """Return the console of standard output, made anew so that redirections are seen; a table in a pipe keeps lines."""
    made = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = PIPE_COLUMNS
    return made


def error_console() -> Console:
    """Return the console of standard error: progress and remarks."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


@contextmanager
def live_text() -> Iterator[Callable[[str], None] | None]:
    """Yield what shows a language model's text as it comes, on a terminal only; it makes room for the answer then."""
    out, pieces = error_console(), list[str]()
    if not out.is_terminal:
        yield None
        return
    with Live(console=out, transient=True) as live:

        def write(text: str) -> None:
            pieces.append(text)
            live.update(Text(visible("".join(pieces)), style="dim"))

        yield write


def plain_table(titles: Iterable[str], right: Collection[str] = (), *, gap: int = 2, no_wrap: bool = False) -> Table:
    """Return a table without lines: its columns by their titles, figures at the right, `gap` spaces between."""
    table = Table(box=None, padding=(0, gap, 0, 0), header_style="dim")
    for title in titles:
        justify: JustifyMethod = "right" if title in right else "left"
        table.add_column(title, justify=justify, overflow="ellipsis" if no_wrap else "fold", no_wrap=no_wrap)
    return table


def gain_in_words(gain: PairedDifference) -> str:
    """Return a paired difference in per cent, with its interval and test where it has them."""
    if gain.low is None or gain.high is None or gain.p_value is None:
        return f"{100 * gain.mean:+.1f} (one question)"
    return f"{100 * gain.mean:+.1f} 95% [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}], p = {gain.p_value:.4f}"


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object, readable and in UTF-8."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def printable(text: str) -> str:
    """Return the text on one line, without control characters that a terminal would obey."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 document`, `2 documents`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def print_troubles(troubles: Mapping[str, str]) -> None:
    """Print which projections on servers are out of date, and that nothing is lost."""
    out = error_console()
    for name, reason in troubles.items():
        out.print(f"The {name} index is out of date: {printable(reason)}")
    if troubles:
        out.print("What was written is safe in the ledger. Run `theworld sync`.")


def show_answer(out: Console, answer: QueryOutput, elapsed_ms: float, language: LanguageName, *, verbose: bool) -> None:
    """Print answer, sources, one line of how it was found, and degradations; `verbose` adds everything else."""
    show_answer_text(out, answer, language)
    show_understood(out, answer, language)
    show_nearest(out, answer, language)
    show_sources(out, answer, language)
    out.print(Text(f"\n{headline(answer, elapsed_ms, language)}\n{how_found(answer, language)}", style="dim"))
    unsure = answer.result is None or answer.result.sureness in {"none", "unsure"}
    for reason in answer.route.reasons if unsure else ():  # beside passages that may not answer it
        if reason.startswith("it is not read for the database"):
            out.print(Text(printable(reason_in(language, reason)), style="dim"))
    _show_steps(out, answer, language, verbose=verbose)


def show_details(out: Console, answer: QueryOutput, elapsed_ms: float, language: LanguageName) -> None:
    """Print how an answer was found: the reading, the way, why that way, entities, paths, times and fallbacks."""
    show_understood(out, answer, language)
    out.print(f"{headline(answer, elapsed_ms, language)}\n{how_found(answer, language)}")
    for reason in [*answer.route.reasons, *([answer.result.reason] if answer.result else [])]:
        out.print(f"  {printable(reason_in(language, reason))}")
    _show_steps(out, answer, language, verbose=True)


def _show_steps(out: Console, answer: QueryOutput, language: LanguageName, *, verbose: bool) -> None:
    """Print what each name means, evidence paths and a table of the nodes run, where wanted; and every fallback."""
    judged = [item for item in answer.judgements if item.matched or item.reason != NO_CANDIDATES]
    if verbose and judged:
        out.print(f"\n{word('entities', language)}")
        for item in judged:
            out.print(f"  {entity_in_words(item, language)}")
    cited = [citation.note_id for citation in answer.citations]
    paths = sorted((path for path in answer.paths if path.steps), key=lambda path: path.note_id not in cited)
    if verbose and paths:
        out.print(f"\n{word('paths', language)}")
        for path in paths[:PATHS_SHOWN]:
            out.print(f"  {path_in_words(path)}")
        if len(paths) > PATHS_SHOWN:
            out.print(Text(f"  {word('more', language, number=len(paths) - PATHS_SHOWN)}", style="dim"))
    if verbose:
        _show_stages(out, answer, language)
    if answer.degradations:
        out.print(f"\n{word('degradations', language)}")
    for fallback in answer.degradations:
        why, where = printable(reason_in(language, fallback.reason)), called("node", fallback.stage, language)
        said = word("degradation", language, stage=where, reason=why, ms=f"{fallback.elapsed_ms:.0f}")
        out.print(f"  {said}")


def _show_stages(out: Console, answer: QueryOutput, language: LanguageName) -> None:
    """Print a table of the nodes run: time, counts, and what each decided."""
    titles = [word(key, language) for key in ("stage", "time", "counts", "notes")]
    table = plain_table(titles, right=titles[1:2])
    for stage in answer.stages:
        name, ms = called("node", stage.stage, language), f"{stage.elapsed_ms:.1f}"
        found = [f"{called('count', what, language)} {number}" for what, number in stage.counts.items()]
        notes = word("semicolon", language).join(reason_in(language, note) for note in stage.notes)
        table.add_row(name, ms, word("comma", language).join(found), Text(printable(notes)))
    out.print()
    out.print(table, soft_wrap=False)


def show_answer_text(out: Console, answer: QueryOutput, language: LanguageName) -> None:
    """Print the answer and the rows it rests on."""
    out.print(answer_in_colours(answer))
    for table in answer.tables:
        show_table(out, table, language)


def language_of(question: str, language: LanguageName | None = None) -> LanguageName:
    """Return the language of the words beside an answer: the one it was asked for in, else the question's."""
    from theworld.questions import read_question  # late: not every command needs the readers of texts

    return language or read_question(question).language


def language_for(question: str, language: LanguageName | None) -> LanguageName | None:
    """Return the language to answer in: the one chosen, else the terminal's where the question's own is not plain."""
    from theworld.questions import spoken_language

    return language or spoken_language(question, terminal_language())


def show_understood(out: Console, answer: QueryOutput, language: LanguageName, *, indent: int = 0) -> None:
    """Print the stand-alone question, where it is another than the one asked, `indent` spaces in."""
    if answer.query != answer.question:
        said = word("understood", language, query=printable(answer.query))
        out.print(Text(f"{' ' * indent}{said}", style="italic"))


def how_found(answer: QueryOutput, language: LanguageName) -> str:
    """Return in one line what each channel brought and what became of it, as the stages counted it."""
    counts = {name: number for stage in answer.stages for name, number in stage.counts.items()}
    statements, cited = len(answer.tables), len(answer.citations)
    hits = {called("channel", name, language): counts.get(f"{name}_hits") for name in CHANNELS}
    brought = [f"{name} {number}" for name, number in hits.items() if number is not None]
    steps = [word("searched", language, found=word("comma", language).join(brought))] if brought else []
    if statements:
        steps.append(word("statements", language, counted=counted(statements, "statement"), number=statements))
    if brought:
        reranked = sum(candidate.rerank_rank is not None for candidate in answer.candidates)
        steps.append(word("reranked" if reranked else "not_reranked", language, number=reranked))
    steps.append(word("cited", language, counted=counted(cited, "source"), number=cited))
    return " → ".join(steps)


def answer_in_colours(answer: QueryOutput) -> Text:
    """Return the answer's own words; on a terminal its passages stand out: their places, and the question's words."""
    text, result = Text(visible(answer.answer)), answer.result
    if result is None or not result.passages:
        text.stylize("bold")
        return text
    begin, place_style = 0, "bold yellow" if result.sureness == "unsure" else "bold cyan"
    for passage in result.passages:
        head = visible(f"{passage.place} [{passage.number}]\n")
        place = text.plain.find(head + visible(passage.text), begin)
        if place < 0:
            continue
        begin = place + len(head)
        text.stylize(place_style, place, begin)
        for mark_start, mark_end in passage.marks:
            text.stylize("bold", begin + mark_start, begin + mark_end)
    if result.short and (place := text.plain.find(visible(result.short))) >= 0:
        text.stylize("bold green", place, place + len(result.short))
    return text


def visible(text: str) -> str:
    """Return the text with its lines and indentation, what a terminal would obey as spaces; offsets stay."""
    return "".join(c if c == "\n" or c.isprintable() else " " for c in text)


def headline(answer: QueryOutput, elapsed_ms: float, language: LanguageName) -> str:
    """Return how sure it is, kind, confidence, model calls, tokens, cost and time in a line; small talk has no kind."""
    tokens, calls = answer.usage.prompt_tokens + answer.usage.completion_tokens, answer.usage.calls
    sureness = answer.result.sureness if answer.result else "none"
    words = [*([sureness] if sureness != "none" else []), answer.kind]
    how = [*(word(one, language) for one in words), word("confidence", language, number=f"{answer.confidence:.2f}")]
    parts = [
        *([] if answer.kind == "none" and answer.route.intent == "smalltalk" else how),
        word("calls", language, counted=counted(calls, "LLM call"), number=calls),
        *([word("tokens", language, number=tokens)] if tokens else []),
        *(f"{currency} {amount:.4f}" for currency, amount in answer.usage.cost.items()),
    ]
    return " · ".join([*parts, word("ms", language, number=f"{elapsed_ms:.0f}")])


def show_sources(out: Console, answer: QueryOutput, language: LanguageName, *, quotes: bool = False) -> None:
    """Print the citations with their places, and with their quotes where the answer does not show them, or always."""
    passages = answer.result.passages if answer.result and not quotes else ()
    shown = {(passage.number, passage.start, passage.end) for passage in passages}
    if answer.citations:
        out.print(f"\n{word('sources', language)}")
    for citation in answer.citations:
        source, place = citation.source or citation.document_id, f"{citation.start}-{citation.end}"
        place = word("place", language, source=source, place=place)
        out.print(f"  [{citation.number}] {printable(citation.place)} ({printable(place)})")
        if (citation.number, citation.start, citation.end) not in shown and citation.quote.strip():
            out.print(Text(f"      {_shortened(citation.quote)}", style="dim"))


def show_nearest(out: Console, answer: QueryOutput, language: LanguageName) -> None:
    """Print, where nothing found was enough for an answer, the nearest notes, to judge oneself."""
    from theworld.state.answers import place_of  # late: help needs no models of the state

    if answer.kind == "none" and answer.candidates:
        out.print(f"\n{word('nearest', language)}")
        for note in answer.candidates[:NEAREST]:
            place = place_of(note.document_id, note.source, note.title, note.section)
            out.print(f"  {printable(place)}")
            out.print(Text(f"      {_shortened(_from_best_sentence(note.text, answer.query))}", style="dim"))


def _from_best_sentence(text: str, query: str) -> str:
    """Return a text from the sentence on that has most words of the query, the first of several."""
    from theworld.text import split_sentences
    from theworld.text.tokens import function_words, token_set

    wanted = token_set(query) - function_words()
    best = max(split_sentences(text), key=lambda sentence: len(wanted & token_set(sentence.text)), default=None)
    return text[best.start :] if best else text


def _shortened(quote: str) -> str:
    quote = printable(quote)
    return quote if len(quote) <= QUOTE_CHARACTERS else quote[: QUOTE_CHARACTERS - 1] + "…"


def entity_in_words(judgement: EntityJudgement, language: LanguageName = "en") -> str:
    """Return the name, its entry or "none", the confidence and what decided, in one line."""
    entry = judgement.selection
    meant = f"{entry.label} ({entry.url})" if entry is not None else word("no_entry", language)
    why = reason_in(language, judgement.reason)
    return printable(f"{judgement.label}: {meant}, {judgement.confidence:.2f}; {why}")


def show_table(out: Console, table: QueryTable, language: LanguageName = "en") -> None:
    """Print the rows read from a database, a bar beside the figures of a series, and the statement."""
    from theworld.state.tables import cell_text  # late: help needs no models of the state

    title = printable(table.title)
    shown = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 2), header_style="dim")
    for column in table.columns:
        shown.add_column(printable(column.heading), justify="right" if column.unit else "left")
    bars = bars_of(table)
    if bars:
        shown.add_column("")
    for i, row in enumerate(table.rows[:ROWS_SHOWN]):
        cells = [Text(printable(cell_text(cell))) for cell in row]
        shown.add_row(*cells, *([Text(bars[i], style="dim")] if bars else []))
    out.print()
    out.print(shown, soft_wrap=False)
    if len(table.rows) > ROWS_SHOWN or table.truncated:
        more = word("rows_not_kept" if table.truncated else "more_rows", language, number=len(table.rows) - ROWS_SHOWN)
        out.print(Text(f"  {more}", style="dim"))
    rest = word("table_source", language, source=printable(table.source), ms=f"{table.elapsed_ms:.0f}")
    if given := ", ".join(f"{name}={value!r}" for name, value in table.parameters.items()):
        rest = word("with", language, given=given, rest=rest)
    out.print(Text(f"  {printable(table.sql)}", style="dim"))
    out.print(Text(f"  {rest}", style="dim"))


def bars_of(table: QueryTable) -> list[str]:
    """Return one bar a row for the last column's figures, none for a single row or a list."""
    figures = [row[-1] for row in table.rows[:ROWS_SHOWN] if table.shape not in {"figure", "list", "volatility"}]
    numbers = [float(figure) for figure in figures if isinstance(figure, int | float)]
    if len(numbers) < 2 or len(numbers) < len(figures):
        return []
    longest = max(map(abs, numbers)) or 1.0
    lengths = [max(1, round(abs(number) / longest * BAR_CHARACTERS)) if number else 0 for number in numbers]
    return [f"{'-' if number < 0 else ''}{'█' * length}" for number, length in zip(numbers, lengths, strict=True)]


def path_in_words(path: EvidencePath) -> str:
    """Return the path's own words, or its steps drawn as arrows."""
    if path.text:
        return printable(path.text)
    start = path.steps[0].source if path.steps else ""
    return printable(start + "".join(f" --{step.relation}--> {step.target}" for step in path.steps))
