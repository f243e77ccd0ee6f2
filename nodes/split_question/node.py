"""The node: answer each part of a question by a graph of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from langgraph.runtime import Runtime

from theworld.nodes.route_query import DatabaseReader
from theworld.nodes.split_question.joining import join_parts
from theworld.nodes.split_question.splitting import split_parts
from theworld.settings import Settings
from theworld.state import Answer, Context, Message, ModelUsage, QueryState, Update, context_of

AnswerOne = Callable[[QueryState, Context], Mapping[str, Any]]
"""Answers one stand-alone query; returns the values of the state afterwards."""
FindParts = Callable[[str, Context], list[str]]
"""Says the parts of a question, [] for one that stays whole."""


def parts_finder(settings: Settings, database: DatabaseReader | None) -> FindParts:
    """Return what says the parts of a question of which some are for the database and some for the documents.

    [] leaves a question whole, as always without a database: parts that are all searched find more together.
    """

    def find(query: str, context: Context) -> list[str]:
        enabled = settings.router.enabled if context.router is None else context.router
        if database is None or not enabled or context.channels is not None or context.database is False:
            return []
        parts = split_parts(query)
        understood = {database(part, context).understood for part in parts}
        return parts if len(understood) > 1 else []

    return find


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
