"""`theworld ask`: one question, one answer with everything it rests on.

`theworld resolve`: what a question refers to in a conversation; no store, no model. `theworld router`: why a question
goes which way.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer import Option

from theworld.cli.options import (
    ChannelName,
    FilterOption,
    HistoryOption,
    JsonFlag,
    LanguageOption,
    ModelFlag,
    NowOption,
    QuestionWords,
    StoreOption,
    TenantOption,
    read_filters,
    settings_for,
)
from theworld.cli.output import console, language_for, language_of, live_text, print_json, printable, show_answer
from theworld.errors import InvalidQuestionError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from theworld.graph.build import CompiledGraph
    from theworld.state import Context, Message, QueryOutput

ROLES = ("user", "assistant", "system", "tool")
FORM = 'Write a JSON list, or one object a line: {"role": "user", "content": "...", "timestamp": ..., "topic": ...}.'


def read_history(path: Path) -> list[Message]:
    """Return the messages of a JSON list or JSON-lines file, oldest first.

    Raises InvalidQuestionError naming file and message or line.
    """
    from pydantic import TypeAdapter, ValidationError

    from theworld.state import Message

    messages, found, where = TypeAdapter(Message), list[Message](), str(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        whole = text.lstrip().startswith("[")
        # Lines end with \n alone: a text may hold other ends of lines, as JSON allows.
        for number, one in enumerate(json.loads(text) if whole else text.split("\n"), start=1):
            if not whole and not one.strip():
                continue
            where = f"{path}, {'message' if whole else 'line'} {number}"
            row = one if whole else json.loads(one)
            if not isinstance(row, dict):
                raise InvalidQuestionError(f"is a {type(row).__name__}, not a message.", where=where, remedy=FORM)
            if row.get("role") not in ROLES:
                what, remedy = f"has the role {row.get('role')!r}.", f"Allowed: {', '.join(ROLES)}."
                raise InvalidQuestionError(what, where=where, remedy=remedy)
            found.append(messages.validate_python(row))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InvalidQuestionError(f"the history cannot be read: {reason}.", where=str(path)) from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InvalidQuestionError(f"`{field}` is wrong: {first['msg']}.", where=where, remedy=FORM) from error
    except ValueError as error:
        raise InvalidQuestionError(f"is no JSON: {error}.", where=where, remedy=FORM) from error
    return found


PATIENT_DEADLINE_MS = 10_000
"""A person who asks once rather waits than gets an answer without reranking, on a busy machine or with cold models."""


def ask(
    words: QuestionWords,
    *,
    store: StoreOption = None,
    history: HistoryOption = None,
    as_json: JsonFlag = False,
    verbose: Annotated[
        bool, Option("--verbose", "--why", "-v", help="Show entities, evidence paths and the time of each stage.")
    ] = False,
    tenant: TenantOption = "default",
    filters: FilterOption = None,
    channels: Annotated[
        list[ChannelName] | None, Option("--channel", help="Search only this channel; repeat for more.")
    ] = None,
    rerank: Annotated[bool | None, Option(help="Force reranking on or off.")] = None,
    graph: Annotated[bool | None, Option(help="Force graph retrieval on or off.")] = None,
    router: Annotated[bool | None, Option(help="Force routing on or off.")] = None,
    database: Annotated[bool | None, Option(help="Ask a configured database first, or not.")] = None,
    now: NowOption = None,
    language: LanguageOption = None,
    top_k: Annotated[
        int | None,
        Option(min=1, max=1000, help="Candidates kept (--json).", show_default="the setting retrieval.top_k"),
    ] = None,
    model: ModelFlag = True,
    strict: Annotated[bool, Option("--strict", help="Fail instead of degrading.")] = False,
    deadline_ms: Annotated[
        int | None,
        Option(
            min=1,
            max=600_000,
            help="Budget for retrieval and reranking.",
            show_default="10000, or the setting retrieval.deadline_ms where it is longer",
        ),
    ] = None,
    total_deadline_ms: Annotated[
        int | None, Option(min=1, max=3_600_000, help="Budget for retrieval and a language model together.")
    ] = None,
) -> None:
    """Answer a question over a store."""
    from theworld.graph import build_graph, open_resources
    from theworld.nodes.receive_question import clean_question
    from theworld.state import Context

    question, settings = " ".join(words), settings_for(store)
    language = language_for(question, language)
    context = Context(
        tenant=tenant,
        filters=read_filters(filters),
        channels=[channel.value for channel in channels] if channels else None,
        rerank=rerank,
        graph=graph,
        router=router,
        database=database,
        now=now,
        language=language,
        top_k=top_k,
        use_model=model,
        strict=strict,
        deadline_ms=deadline_ms or max(settings.retrieval.deadline_ms, PATIENT_DEADLINE_MS),
        total_deadline_ms=total_deadline_ms,
    )
    clean_question(question)
    messages = read_history(history) if history else []
    with open_resources(settings) as resources:
        begun = time.perf_counter()
        with nullcontext() if as_json else live_text() as on_token:
            answer = run_question(build_graph(resources), question, messages, context, on_token=on_token)
        elapsed_ms = (time.perf_counter() - begun) * 1000
    if as_json:
        print_json(answer.model_dump(mode="json", exclude={"messages"}) | {"elapsed_ms": round(elapsed_ms, 2)})
    else:
        show_answer(console(), answer, elapsed_ms, language_of(answer.question, language), verbose=verbose)


def run_question(
    graph: CompiledGraph,
    question: str,
    messages: list[Message],
    context: Context,
    *,
    thread: str | None = None,
    on_token: Callable[[str], None] | None = None,
    ask_back: Callable[[Any], str] | None = None,
) -> QueryOutput:
    """Run the graph and return its output as a value.

    `thread` names a conversation of its checkpointer; `on_token` gets a language model's text piece by piece;
    `ask_back` gets the payload of a clarifying question and returns the reply (with a thread and `context.clarify`).
    """
    from langgraph.types import Command

    from theworld.state import QueryInput, QueryOutput

    config: RunnableConfig | None = {"configurable": {"thread_id": thread}} if thread else None
    asked: QueryInput | Command[Any] | None = QueryInput(question=question, history=messages)
    output: Any = None
    while asked is not None:
        for part in graph.stream(asked, config, context=context, stream_mode=["custom", "values"]):
            mode, event = cast("tuple[str, Any]", part)
            if mode == "values":
                output = event
            elif on_token is not None and event.get("type") in {"token", "restart"}:
                on_token(event.get("text", "\n"))
        waiting = graph.get_state(config).interrupts if config is not None and ask_back is not None else ()
        asked = Command(resume=ask_back(waiting[0].value)) if waiting and ask_back is not None else None
    return QueryOutput.model_validate(output)


def resolve(words: QuestionWords, history: HistoryOption = None, as_json: JsonFlag = False) -> None:
    """Show what a question refers to in its history, and why."""
    from pydantic import TypeAdapter

    from theworld.nodes.receive_question import clean_question
    from theworld.references import ReferenceResolver, describe
    from theworld.state import ResolvedReference

    query = clean_question(" ".join(words))
    messages = read_history(history) if history else []
    resolved = ReferenceResolver().resolve(query, messages)
    if as_json:
        print_json(TypeAdapter(ResolvedReference).dump_python(resolved, mode="json"))
    else:
        typer.echo(describe(resolved, query, messages))


router_app = typer.Typer(help="Which way questions go, and why.")


@router_app.command("explain")
def explain_route(words: QuestionWords, now: NowOption = None, as_json: JsonFlag = False) -> None:
    """Show the decision for a question: path, channels, depths, weights, confidence, reasons. Nothing is searched."""
    from theworld.graph.resources import open_database
    from theworld.nodes.receive_question import clean_question
    from theworld.routing import Rules, route
    from theworld.settings import Settings
    from theworld.state import Context

    question, context, settings = clean_question(" ".join(words)), Context(now=now), Settings.load()
    with open_database(settings) as database:
        view = database.view(question, context) if database is not None else None
        decision = route(question, context, settings, Rules(), database=view)
    if as_json:
        print_json(decision.model_dump(mode="json"))
        return
    out = console()
    out.print(f"{decision.path}  (intent {decision.intent}, confidence {decision.confidence:.2f}, {decision.strategy})")
    for name, plan in decision.channels.items():
        out.print(f"  {name}: {plan.top_k} candidates, weight {plan.weight:g}")
    asked, reranking = "first" if decision.database else "not asked", "on" if decision.rerank else "off"
    out.print(f"  database {asked}, reranking {reranking}")
    for reason in decision.reasons:
        out.print(f"  because {printable(reason)}")
