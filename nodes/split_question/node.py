"""The node: answer each part of a question by a graph of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from langgraph.runtime import Runtime

from theworld.nodes.route_query import DatabaseReader, Strategy, route
from theworld.nodes.split_question.joining import join_parts
from theworld.nodes.split_question.splitting import split_parts
from theworld.settings import Settings
from theworld.state import Answer, Context, Message, ModelUsage, QueryState, Update, context_of

AnswerOne = Callable[[QueryState, Context], Mapping[str, Any]]
"""Answers one stand-alone query; returns the values of the state afterwards."""
FindParts = Callable[[str, Context], list[str]]
"""Says the parts of a question, [] for one that stays whole."""


def parts_finder(settings: Settings, strategy: Strategy, database: DatabaseReader | None) -> FindParts:
    """Return what says the parts of a question that need different ways; [] leaves it whole.

    So does a strategy that fails: it fails again when the whole is routed, and is named there.
    """

    def find(query: str, context: Context) -> list[str]:
        enabled = settings.router.enabled if context.router is None else context.router
        parts = split_parts(query) if enabled and context.channels is None else []
        ways = set()
        for part in parts:
            view = database(part, context) if database is not None else None
            try:
                decision = route(part, context, settings, strategy, database=view)
            except Exception:  # of one's own; see above
                return []
            understood = view is not None and view.understood and decision.database
            ways.add("database" if understood else _way(decision.path))
        return parts if len(ways) > 1 else []

    return find


def _way(path: str) -> str:
    """Return what a path needs besides the database: all of retrieval's run the same channels."""
    return "nothing" if path == "none" else "retrieval"


def answer_parts(state: QueryState, runtime: Runtime[Context], *, find_parts: FindParts, answer: AnswerOne) -> Update:
    """Answer the parts one after the other and join them: a retrieval budget each, one budget of the request for all.

    What a part refers to ("it") is looked for in the parts before it.
    """
    context = context_of(runtime)
    parts = find_parts(state.query, context)
    states: list[QueryState] = []
    said: list[Message] = []
    for part in parts:
        asked = QueryState(
            question=part,
            query=part,
            language=state.language,
            history=said,
            request_started=state.request_started,
        )
        states.append(QueryState.model_validate(answer(asked, context)))
        said = [*said, Message("user", states[-1].query), Message("assistant", (states[-1].result or Answer()).text)]
    usage = reduce(lambda total, one: total + one.usage, states, ModelUsage())
    update = join_parts(parts, states)
    route_of_first = states[0].route
    reasons = tuple(f"part {i}: {one.route.path}" for i, one in enumerate(states, start=1))
    decision = route_of_first.model_copy(update={"path": "hybrid", "reasons": reasons})
    return update | {"usage": usage, "route": decision, "parts": parts if update["result"] is not None else []}
