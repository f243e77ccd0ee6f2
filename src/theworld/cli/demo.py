"""`theworld demo`: the bundled corpus ingested and asked, every answer checked."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text
from typer import Option

from theworld.cli.ask import run_question
from theworld.cli.ingesting import ingest_paths, show_report
from theworld.cli.options import settings_for
from theworld.cli.output import (
    answer_in_colours,
    called,
    console,
    entity_in_words,
    headline,
    language_of,
    path_in_words,
    printable,
    show_understood,
)

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from theworld.demo import DemoQuestion
    from theworld.graph.build import CompiledGraph
    from theworld.state import Channel, QueryOutput

DEMO_STORE = Path(".demo/store")
INDENT = 5
CHANNELS: dict[Channel, str] = {"sparse": "words", "dense": "meaning", "graph": "the graph", "ontology": "the ontology"}


@dataclass(frozen=True, slots=True)
class Turn:
    """One question of the demo as it was answered."""

    question: DemoQuestion
    output: QueryOutput
    elapsed_ms: float

    @property
    def missing(self) -> list[str]:
        """What was expected and is not so, in words: silence, wording, content, whole passages, citations, links."""
        from theworld.demo import SILENT

        question, output, result = self.question, self.output, self.output.result
        linked = {item.label: item.selection.id if item.selection else None for item in output.judgements}
        wrong = {name: qid for name, qid in question.entities.items() if linked.get(name, "") != qid}
        links = [f"{name} linked to {qid or 'none'}" for name, qid in wrong.items()]
        if question.branch not in SILENT:
            return [*self._not_shown(), *links]
        # Over documents that may not answer it, an answer may say that it is unsure.
        unsure = question.branch == "no-evidence" and result is not None and result.sureness == "unsure"
        return [*([] if output.kind == "none" or unsure else ["not enough evidence, or unsure"]), *links]

    def _not_shown(self) -> list[str]:
        """Return what was not understood, and what an answer must hold, show in one passage, and cite, and does not."""
        from theworld.evaluation.metrics import contains

        question, output, result = self.question, self.output, self.output.result
        contents = [output.answer]
        if result is not None and result.passages:
            contents = [passage.text for passage in result.passages if passage.document_id in question.documents]
        shown = [*contents, result.short if result else ""] if output.kind != "none" else []
        missing = []
        if question.standalone and not any(wording in output.query for wording in question.standalone):
            missing.append(f"understood as {' or '.join(question.standalone)}")
        if question.answers and not any(contains(text, question.answers) == 1.0 for text in shown):
            missing.append(" or ".join(question.answers))
        if question.whole and not any(all(part in text for part in question.whole) for text in contents):
            missing.append(f"in one passage: {', '.join(question.whole)}")
        cited = {one.document_id for one in output.citations}
        return [*missing, *(f"{name} cited" for name in question.documents if name not in cited)]


def demo(store: Annotated[Path, Option(metavar="DIR", help="Where the demo's store is kept.")] = DEMO_STORE) -> None:
    """Ingest the bundled bilingual corpus, ask its questions, check the answers; exit code 1 when one is wrong."""
    from langgraph.checkpoint.memory import InMemorySaver

    from theworld.demo import corpus_dir, load_questions
    from theworld.graph import build_graph, open_resources

    out, settings = console(), settings_for(store)
    report = ingest_paths([corpus_dir()], settings, prune=True)
    show_report(out, report, settings.store)
    with open_resources(settings) as resources:
        resources.models.warm()
        questions = load_questions()
        graph = build_graph(resources, checkpointer=InMemorySaver())
        turns = []
        for number, question in enumerate(questions, start=1):
            out.print(f"\n{number}. {question.question}  [{question.branch}]", style="bold")
            for message in question.history:
                out.print(f"     {message.role}: {message.content}", style="dim")
            turns.append(_ask(out, graph, question, f"single-{question.id}"))
        # The follow-ups again as conversations, whose thread remembers the earlier turns.
        for follow_up in (question for question in questions if question.branch == "follow-up"):
            out.print(f"\nA conversation in one thread ({follow_up.language}), remembered by the checkpointer:")
            for question in follow_up.turns:
                out.print(f"\n   {question.question}", style="bold")
                turns.append(_ask(out, graph, question, f"conversation-{follow_up.id}"))
    wrong = [turn for turn in turns if turn.missing]
    calls = sum(turn.output.usage.calls for turn in turns)
    out.print(f"\n{len(turns) - len(wrong)} of {len(turns)} answers as expected, {calls} LLM calls.")
    for turn in wrong:
        out.print(f"  {turn.question.question} Expected: {'; '.join(turn.missing)}.")
    if wrong:
        raise typer.Exit(1)


def _ask(out: Console, graph: CompiledGraph, question: DemoQuestion, thread: str) -> Turn:
    from theworld.state import Context

    context = Context(tenant=question.tenant, filters=question.filters, use_model=False)
    if question.stances:
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        graph.update_state(config, {"stances": question.stances}, as_node="receive_question")
    begun = time.perf_counter()
    output = run_question(graph, question.question, question.history, context, thread=thread)
    turn = Turn(question, output, (time.perf_counter() - begun) * 1000)
    show_turn(out, turn)
    return turn


def show_turn(out: Console, turn: Turn) -> None:
    """Print the answer, how sure it is, how it was found, what was expected in vain, and degradations."""
    output = turn.output
    answer = answer_in_colours(output)
    if out.is_terminal:
        out.print(Padding(answer, (0, 2, 0, INDENT), expand=False), soft_wrap=False)
    else:
        for line in answer.split("\n", allow_blank=True):
            out.print(line if not line.plain else Text(" " * INDENT).append_text(line))
    mark, style = ("✗", "red") if turn.missing else ("✓", "green")
    out.print(f"   {mark} {headline(output, turn.elapsed_ms, language_of(output.question))}", style=style)
    for reason in turn.missing:
        out.print(f"     expected: {reason}", style="red")
    show_understood(out, output, language_of(output.question), indent=INDENT)
    if found := how_found(output):
        out.print(f"     {found}", style="dim")
    for judgement in output.judgements if turn.question.entities else ():
        if judgement.label in turn.question.entities:
            out.print(f"     entity: {entity_in_words(judgement)}", style="dim")
    for item in output.degradations:
        out.print(f"     degraded: {item.stage}: {printable(item.reason)}", style="dim")


def how_found(output: QueryOutput) -> str:
    """Return in one line which channels found the first cited note, at which rank, and a path to it or on from it."""
    cited = [citation.note_id for citation in output.citations]
    note = next((one for one in output.candidates if one.note_id in cited[:1]), None)
    ranks = {name: note.channels[name].rank for name in CHANNELS if note and name in note.channels}
    if language_of(output.question) == "zh":
        ways = (f"{called('channel', name, 'zh')}（第 {rank} 位）" for name, rank in ranks.items())
        said = f"检索依据：{'、'.join(ways)}"
    else:
        said = "found by " + ", ".join(f"{CHANNELS[name]} (rank {rank})" for name, rank in ranks.items())
    path = next((path for one in cited[:2] for path in output.paths if path.note_id == one and path.steps), None)
    return "; ".join([*([said] if ranks else []), *([path_in_words(path)] if path else [])])
