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
)
from theworld.cli.output import (
    console,
    headline,
    is_chinese,
    live_text,
    show_answer_text,
    show_details,
    show_nearest,
    show_sources,
    show_understood,
)
from theworld.errors import TheWorldError

if TYPE_CHECKING:
    from rich.console import Console

    from theworld.graph.build import CompiledGraph
    from theworld.state import Context, QueryOutput
    from theworld.text import Language

PROMPT = "› "
COMMANDS: dict[str, dict[Language, str]] = {
    "/sources": {"en": "the sources of the last answer, with what they say", "zh": "上一个回答的出处及其原文"},
    "/why": {
        "en": "how the last answer was found: as what the question was understood, the way it took, times",
        "zh": "上一个回答是怎么得来的：问题被理解成什么，经过哪些步骤，各用多少时间",
    },
    "/new": {"en": "a new conversation: what was said is forgotten", "zh": "新的对话：忘掉之前说过的话"},
    "/help": {"en": "these commands", "zh": "这些命令"},
    "/quit": {"en": "the end (Ctrl-D, too)", "zh": "结束（也可按 Ctrl-D）"},
}
SAID: dict[str, dict[Language, str]] = {
    "new": {"en": "A new conversation.", "zh": "新的对话。"},
    "nothing": {"en": "Nothing was asked yet.", "zh": "还没有问过什么。"},
    "no source": {"en": "The last answer rests on no source.", "zh": "上一个回答没有出处。"},
    "unknown": {"en": "There is no command {}.", "zh": "没有 {} 这个命令。"},
}


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
            out.print(f"Questions over {settings.store}, in English or Chinese. /help shows the commands, Ctrl-D ends.")
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
        self._language: Language = context.language or "en"

    def take(self, line: str) -> bool:
        """Answer a question or do what a command says; False at the end."""
        text, out, last = line.strip(), self._out, self._last
        if text in {"/quit", "/exit"}:
            return False
        if text == "/new":
            self._thread, self._last = uuid.uuid4().hex, None
            out.print(SAID["new"][self._language])
        elif text in {"/sources", "/why"} and last is None:
            out.print(SAID["nothing"][self._language])
        elif text == "/sources" and last is not None and last[0].citations:
            show_sources(out, last[0], quotes=True)
        elif text == "/sources":
            out.print(SAID["no source"][self._language])
        elif text == "/why" and last is not None:
            show_details(out, *last)
        elif text.startswith("/"):
            if text != "/help":
                out.print(SAID["unknown"][self._language].format(text))
            for name, meaning in COMMANDS.items():
                out.print(f"  {name:10}{meaning[self._language]}")
        elif text:
            self._ask(text)
        return True

    def _ask(self, question: str) -> None:
        begun, thread = time.perf_counter(), self._thread

        def back(asked: Any) -> str:
            self._out.print(asked["question"])
            try:
                return input(PROMPT)
            except EOFError:
                return "1"

        try:
            with live_text() as on_token:
                answer = run_question(
                    self._graph, question, [], self._context, thread=thread, on_token=on_token, ask_back=back
                )
        except TheWorldError as error:  # the conversation goes on
            self._out.print(f"{error}")
            return
        elapsed_ms = (time.perf_counter() - begun) * 1000
        self._last = answer, elapsed_ms
        self._language = "zh" if is_chinese(answer) else "en"
        show_understood(self._out, answer)
        show_answer_text(self._out, answer)
        show_nearest(self._out, answer)
        self._out.print(f"{headline(answer, elapsed_ms)}\n", style="dim")
