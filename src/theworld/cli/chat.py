"""`theworld chat`: a conversation with one's documents in the terminal.

Each line is a question; what came before is its history. Lines that begin with `/` are commands. Read from a pipe,
every line is asked in turn, nothing is asked back, and the end of the input ends it.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from theworld.cli.ask import PATIENT_DEADLINE_MS, run_question
from theworld.cli.options import (
    FilterOption,
    LanguageOption,
    ModelFlag,
    StoreOption,
    TenantOption,
    read_filters,
    settings_for,
    terminal_language,
)
from theworld.cli.output import (
    console,
    error_in_words,
    headline,
    language_for,
    language_of,
    live_text,
    show_answer_text,
    show_details,
    show_nearest,
    show_sources,
    show_understood,
    word,
)
from theworld.errors import TheWorldError

if TYPE_CHECKING:
    from rich.console import Console

    from theworld.graph.build import CompiledGraph
    from theworld.state import Context, QueryOutput

PROMPT = "› "
COMMANDS = ("/sources", "/why", "/new", "/help", "/quit")


def chat(
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    filters: FilterOption = None,
    language: LanguageOption = None,
    model: ModelFlag = True,
) -> None:
    """Talk with your documents: follow-up questions, /sources, /why, /new; from a pipe every line is a question."""
    from langgraph.checkpoint.memory import InMemorySaver

    from theworld.graph import build_graph, open_resources
    from theworld.state import Context

    settings = settings_for(store)
    context = Context(
        tenant=tenant,
        filters=read_filters(filters),
        language=language,
        use_model=model,
        deadline_ms=max(settings.retrieval.deadline_ms, PATIENT_DEADLINE_MS),
        clarify=sys.stdin.isatty(),
    )
    with open_resources(settings) as resources:
        out = console()
        conversation = Conversation(build_graph(resources, InMemorySaver()), context, out)
        if sys.stdin.isatty():
            out.print(word("welcome", language or terminal_language(), store=settings.store))
        for line in _lines():
            if not conversation.take(line):
                break


def _lines() -> Iterator[str]:
    """Yield what is typed, with editing and history where the terminal can, or what a pipe holds."""
    if not sys.stdin.isatty():
        yield from (line.rstrip("\n") for line in sys.stdin)
        return
    with suppress(ImportError):  # Windows has none
        import_module("readline")  # makes `input` edit and remember lines
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            typer.echo()
            return


class Conversation:
    """One conversation after the other over a graph with a checkpointer, and what the last answer was."""

    def __init__(self, graph: CompiledGraph, context: Context, out: Console) -> None:
        """Take the graph, what each question is asked with, and where answers are printed."""
        self._graph, self._context, self._out = graph, context, out
        self._thread = uuid.uuid4().hex
        self._last: tuple[QueryOutput, float] | None = None
        self._language = context.language or terminal_language()

    def take(self, line: str) -> bool:
        """Answer a question or do what a command says; False at the end."""
        text, out, last = line.strip(), self._out, self._last
        if text in {"/quit", "/exit"}:
            return False
        if text == "/new":
            self._thread, self._last = uuid.uuid4().hex, None
            out.print(word("new", self._language))
        elif text in {"/sources", "/why"} and last is None:
            out.print(word("nothing", self._language))
        elif text == "/sources" and last is not None and last[0].citations:
            show_sources(out, last[0], self._language, quotes=True)
        elif text == "/sources":
            out.print(word("no_source", self._language))
        elif text == "/why" and last is not None:
            show_details(out, *last, self._language)
        elif text.startswith("/"):
            if text != "/help":
                out.print(word("unknown", self._language, command=text))
            for name in COMMANDS:
                out.print(f"  {name:10}{word(name, self._language)}")
        elif text:
            self._ask(text)
        return True

    def _ask(self, question: str) -> None:
        begun, thread = time.perf_counter(), self._thread
        chosen = language_for(question, self._context.language)
        context = self._context.model_copy(update={"language": chosen})

        def back(asked: Any) -> str:
            self._out.print(asked["question"])
            try:
                return input(PROMPT)
            except EOFError:
                return "1"

        try:
            with live_text() as on_token:
                answer = run_question(
                    self._graph, question, [], context, thread=thread, on_token=on_token, ask_back=back
                )
        except TheWorldError as error:  # the conversation goes on
            self._out.print(error_in_words(error, language_of(question, chosen)))
            return
        elapsed_ms = (time.perf_counter() - begun) * 1000
        self._last = answer, elapsed_ms
        self._language = language = language_of(answer.question, chosen)
        show_understood(self._out, answer, language)
        show_answer_text(self._out, answer, language)
        show_nearest(self._out, answer, language)
        self._out.print(f"{headline(answer, elapsed_ms, language)}\n", style="dim")
