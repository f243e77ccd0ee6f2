"""`theworld demo`: the bundled corpus ingested and asked, every answer checked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from rich.console import Console

    from theworld.demo import DemoQuestion
    from theworld.graph.build import CompiledGraph
    from theworld.state import QueryOutput

DEMO_STORE = Path(".demo/store")


@dataclass(frozen=True, slots=True)
class Turn:
    """One question of the demo as it was answered."""

    question: DemoQuestion
    output: QueryOutput
    elapsed_ms: float

    @property
    def is_right(self) -> bool:
        """Whether an expected answer is in the answer, or an expected silence was kept, and names are linked right."""
        from theworld.evaluation.metrics import contains

        if self.linked != self.question.entities:
            return False
        if not self.question.answers:
            return self.output.kind == "none"
        return self.output.kind != "none" and contains(self.output.answer, self.question.answers) == 1.0

    @property
    def linked(self) -> dict[str, str | None]:
        """The names whose entry is expected -> the id of the entry they were linked to, None for none."""
        found = {item.label: item.selection.id if item.selection else None for item in self.output.judgements}
        return {name: found[name] for name in self.question.entities if name in found}


def demo(
    store: Annotated[Path, typer.Option("--store", metavar="DIR", help="Where the demo's store is kept.")] = DEMO_STORE,
) -> None:
    """Ingest the bundled bilingual corpus, ask its questions, check the answers; exit code 1 when one is missing."""
    from langgraph.checkpoint.memory import InMemorySaver

    from theworld.cli.ingesting import ingest_paths, show_report
    from theworld.cli.options import settings_for
    from theworld.cli.output import console
    from theworld.demo import corpus_dir, load_questions
    from theworld.graph import build_graph, open_resources

    out, settings = console(), settings_for(store)
    report = ingest_paths([corpus_dir()], settings, prune=True)
    show_report(out, report, settings.store)
    with open_resources(settings) as resources:
        resources.models.warm()
        questions = load_questions()
        graph = build_graph(resources, checkpointer=InMemorySaver())
        turns = [*_single_questions(out, graph, questions), *_conversations(out, graph, questions)]
    right = sum(turn.is_right for turn in turns)
    calls = sum(turn.output.usage.calls for turn in turns)
    out.print(f"\n{right} of {len(turns)} answers as expected, {calls} LLM calls.")
    for turn in turns:
        if not turn.is_right:
            out.print(f"  missing: {turn.question.question} (expected: {expectation(turn.question)})")
    if right < len(turns):
        raise typer.Exit(1)


def expectation(question: DemoQuestion) -> str:
    """Return in words what the answer must be."""
    answer = " or ".join(question.answers) or "an honest `none`"
    return ", ".join([answer, *(f"{name} linked to {qid or 'none'}" for name, qid in question.entities.items())])


def _single_questions(out: Console, graph: CompiledGraph, questions: list[DemoQuestion]) -> Iterator[Turn]:
    for number, question in enumerate(questions, start=1):
        out.print(f"\n{number}. {question.question}  [{question.branch}]")
        for message in question.history:
            out.print(f"     {message.role}: {message.content}", style="dim")
        turn = _ask(graph, question, thread=f"single-{question.id}", with_history=True)
        show_turn(out, turn)
        yield turn


def _conversations(out: Console, graph: CompiledGraph, questions: list[DemoQuestion]) -> Iterator[Turn]:
    """Ask the follow-ups again as conversations: the earlier turns are asked too, and the thread remembers them."""
    for language in ("en", "zh"):
        follow_up = next((q for q in questions if q.branch == "follow-up" and q.language == language), None)
        if follow_up is None:
            continue
        thread = f"conversation-{language}"
        out.print(f"\nA conversation in one thread ({language}), remembered by the checkpointer:")
        for message in follow_up.history:
            if message.role == "user" and message.content:
                earlier = follow_up.model_copy(update={"question": message.content, "history": []})
                out.print(f"\n   {message.content}")
                show_turn(out, _ask(graph, earlier, thread, with_history=False), judged=False)
        out.print(f"\n   {follow_up.question}")
        turn = _ask(graph, follow_up, thread, with_history=False)
        show_turn(out, turn)
        yield turn


def _ask(graph: CompiledGraph, question: DemoQuestion, thread: str, *, with_history: bool) -> Turn:
    from theworld.cli.ask import run_question
    from theworld.state import Context

    context = Context(tenant=question.tenant, filters=question.filters, use_model=False)
    history = question.history if with_history else []
    if question.stances:
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        graph.update_state(config, {"stances": question.stances}, as_node="receive_question")
    begun = time.perf_counter()
    output = run_question(graph, question.question, history, context, thread=thread)
    return Turn(question, output, (time.perf_counter() - begun) * 1000)


def show_turn(out: Console, turn: Turn, *, judged: bool = True) -> None:
    """Print answer, kind, sources, best path and degradations."""
    from theworld.cli.output import entity_in_words, headline, path_in_words, printable

    output = turn.output
    mark = ("✓ " if turn.is_right else "✗ ") if judged else "  "
    out.print(f"   {mark}{printable(output.answer)}", style="bold")
    out.print(f"     {headline(output, turn.elapsed_ms)}", style="dim")
    if output.query != output.question:
        out.print(f"     understood as: {printable(output.query)}")
    sources = list(dict.fromkeys(f"{citation.place} ({citation.document_id})" for citation in output.citations))
    if sources:
        out.print(f"     sources: {printable('; '.join(sources))}")
    cited = {citation.note_id for citation in output.citations}
    paths = [path for path in output.paths if path.note_id in cited and path.steps]
    if paths:
        out.print(f"     path: {path_in_words(paths[0])}")
    for judgement in output.judgements if turn.question.entities else ():
        if judgement.label in turn.question.entities:
            out.print(f"     entity: {entity_in_words(judgement)}")
    for item in output.degradations:
        out.print(f"     degraded: {item.stage}: {printable(item.reason)}")
