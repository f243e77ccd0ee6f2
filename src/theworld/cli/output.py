"""What a person sees of an answer. Everything that came from documents is plain text here, never mark-up."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, JustifyMethod
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
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
CHINESE = {
    **{"sure": "有把握", "likely": "很可能", "unsure": "不确定"},
    **{"entity": "简短答案", "extractive": "段落", "generated": "模型撰写", "computed": "数据库计算", "none": "未作答"},
    **{"sparse": "词语", "dense": "语义", "graph": "图谱", "ontology": "本体"},
}
"""Words beside the answer to a Chinese question."""


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


def show_answer(out: Console, answer: QueryOutput, elapsed_ms: float, *, verbose: bool) -> None:
    """Print answer, sources, one line of how it was found, and degradations; `verbose` adds everything else."""
    show_answer_text(out, answer)
    show_understood(out, answer)
    show_nearest(out, answer)
    show_sources(out, answer)
    out.print(Text(f"\n{headline(answer, elapsed_ms)}\n{how_found(answer)}", style="dim"))
    _show_steps(out, answer, verbose=verbose)


def show_details(out: Console, answer: QueryOutput, elapsed_ms: float) -> None:
    """Print how an answer was found: the reading, the way, why that way, entities, paths, times and fallbacks."""
    show_understood(out, answer)
    out.print(f"{headline(answer, elapsed_ms)}\n{how_found(answer)}")
    for reason in [*answer.route.reasons, *([answer.result.reason] if answer.result else [])]:
        out.print(f"  {printable(reason)}")
    _show_steps(out, answer, verbose=True)


def _show_steps(out: Console, answer: QueryOutput, *, verbose: bool) -> None:
    """Print what each name means, evidence paths and a table of the nodes run, where wanted; and every fallback."""
    judged = [item for item in answer.judgements if item.matched or item.reason != NO_CANDIDATES]
    if verbose and judged:
        out.print("\nEntities")
        for item in judged:
            out.print(f"  {entity_in_words(item)}")
    cited = [citation.note_id for citation in answer.citations]
    paths = sorted((path for path in answer.paths if path.steps), key=lambda path: path.note_id not in cited)
    if verbose and paths:
        out.print("\nEvidence paths")
        for path in paths[:PATHS_SHOWN]:
            out.print(f"  {path_in_words(path)}")
        if len(paths) > PATHS_SHOWN:
            out.print(Text(f"  and {len(paths) - PATHS_SHOWN} more (--json has them all)", style="dim"))
    if verbose:
        table = plain_table(("Stage", "ms", "Counts", "Notes"), right=["ms"])
        for stage in answer.stages:
            counts = ", ".join(f"{name} {number}" for name, number in stage.counts.items())
            table.add_row(stage.stage, f"{stage.elapsed_ms:.1f}", counts, Text(printable("; ".join(stage.notes))))
        out.print()
        out.print(table, soft_wrap=False)
    if answer.degradations:
        out.print("\nDegradations")
    for fallback in answer.degradations:
        out.print(f"  {fallback.stage}: {printable(fallback.reason)} ({fallback.elapsed_ms:.0f} ms)")


def show_answer_text(out: Console, answer: QueryOutput) -> None:
    """Print the answer and the rows it rests on."""
    out.print(answer_in_colours(answer))
    for table in answer.tables:
        show_table(out, table)


def is_chinese(answer: QueryOutput) -> bool:
    """Return whether the question is Chinese, in whose language the words beside its answer are."""
    from theworld.questions import read_question  # late: not every command needs the readers of texts

    return read_question(answer.question).language == "zh"


def show_understood(out: Console, answer: QueryOutput, *, indent: int = 0) -> None:
    """Print the stand-alone question, where it is another than the one asked, `indent` spaces in."""
    if answer.query != answer.question:
        label = "理解为：" if is_chinese(answer) else "Understood as: "
        out.print(Text(f"{' ' * indent}{label}{printable(answer.query)}", style="italic"))


def how_found(answer: QueryOutput) -> str:
    """Return in one line what each channel brought and what became of it, as the stages counted it."""
    counts = {name: number for stage in answer.stages for name, number in stage.counts.items()}
    zh, statements, cited = is_chinese(answer), len(answer.tables), len(answer.citations)
    hits = {CHINESE[name] if zh else name: counts.get(f"{name}_hits") for name in CHANNELS}
    brought = [f"{name} {number}" for name, number in hits.items() if number is not None]
    steps = [f"检索：{'、'.join(brought)}" if zh else f"searched: {', '.join(brought)}"] if brought else []
    if statements:
        steps.append(f"数据库语句 {statements} 条" if zh else f"{counted(statements, 'statement')} over the database")
    if brought:
        reranked = sum(candidate.rerank_rank is not None for candidate in answer.candidates)
        said = (f"重排 {reranked} 条", "未重排") if zh else (f"{reranked} reranked", "not reranked")
        steps.append(said[0] if reranked else said[1])
    steps.append(f"引用 {cited} 处" if zh else f"{counted(cited, 'source')} cited")
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


def headline(answer: QueryOutput, elapsed_ms: float) -> str:
    """Return how sure it is, kind, confidence, model calls, tokens, cost and time in a line; small talk has no kind."""
    tokens, calls = answer.usage.prompt_tokens + answer.usage.completion_tokens, answer.usage.calls
    sureness = answer.result.sureness if answer.result else "none"
    zh = is_chinese(answer)
    words = [*([sureness] if sureness != "none" else []), answer.kind]
    confidence = f"置信度 {answer.confidence:.2f}" if zh else f"confidence {answer.confidence:.2f}"
    how = [*(CHINESE.get(word, word) if zh else word for word in words), confidence]
    parts = [
        *([] if answer.kind == "none" and answer.route.intent == "smalltalk" else how),
        f"模型调用 {calls} 次" if zh else counted(calls, "LLM call"),
        *([f"{tokens} 个 token" if zh else f"{tokens} tokens"] if tokens else []),
        *(f"{currency} {amount:.4f}" for currency, amount in answer.usage.cost.items()),
    ]
    return " · ".join([*parts, f"{elapsed_ms:.0f} {'毫秒' if zh else 'ms'}"])


def show_sources(out: Console, answer: QueryOutput, *, quotes: bool = False) -> None:
    """Print the citations with their places, and with their quotes where the answer does not show them, or always."""
    passages = answer.result.passages if answer.result and not quotes else ()
    shown = {(passage.number, passage.start, passage.end) for passage in passages}
    zh = is_chinese(answer)
    if answer.citations:
        out.print("\n出处" if zh else "\nSources")
    for citation in answer.citations:
        place = f"{citation.start}-{citation.end}"
        place = f"{citation.source or citation.document_id}{f'，第 {place} 字' if zh else f', characters {place}'}"
        out.print(f"  [{citation.number}] {printable(citation.place)} ({printable(place)})")
        if (citation.number, citation.start, citation.end) not in shown and citation.quote.strip():
            out.print(Text(f"      {_shortened(citation.quote)}", style="dim"))


def show_nearest(out: Console, answer: QueryOutput) -> None:
    """Print, where nothing found was enough for an answer, the nearest notes, to judge oneself."""
    from theworld.state.answers import place_of  # late: help needs no models of the state

    if answer.kind == "none" and answer.candidates:
        out.print("\n最接近的段落（不足以作答）" if is_chinese(answer) else "\nNearest passages, not enough to answer")
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


def entity_in_words(judgement: EntityJudgement) -> str:
    """Return the name, its entry or "none", the confidence and what decided, in one line."""
    entry = judgement.selection
    meant = f"{entry.label} ({entry.url})" if entry is not None else "none of the entries known"
    return printable(f"{judgement.label}: {meant}, {judgement.confidence:.2f}; {judgement.reason}")


def show_table(out: Console, table: QueryTable) -> None:
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
        more = "more rows than are kept" if table.truncated else f"{len(table.rows) - ROWS_SHOWN} more"
        out.print(Text(f"  and {more} (--json has them)", style="dim"))
    given = ", ".join(f"{name}={value!r}" for name, value in table.parameters.items())
    given = f"with {given}; " if given else ""
    out.print(Text(f"  {printable(table.sql)}", style="dim"))
    out.print(Text(f"  {given}{printable(table.source)}, {table.elapsed_ms:.0f} ms", style="dim"))


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
