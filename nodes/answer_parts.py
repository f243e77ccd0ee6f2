"""The node: answer each part of a question by a graph of its own, and join the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langgraph.runtime import Runtime

from theworld.routing.parts import FindParts, join_parts
from theworld.state import Answer, Context, Message, ModelUsage, QueryState, Update, context_at

AnswerOne = Callable[[QueryState, Context], Mapping[str, Any]]
"""Answers one stand-alone query; returns the values of the state afterwards."""


def answer_parts(state: QueryState, runtime: Runtime[Context], *, find_parts: FindParts, answer: AnswerOne) -> Update:
    """Answer the parts one after the other and join them: a retrieval budget each, one budget of the request for all.

    What a part refers to ("it") is looked for in the parts before it.
    """
    context = context_at(state, runtime)
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
    usage = sum((one.usage for one in states), ModelUsage())
    update = join_parts(parts, states)
    route_of_first = states[0].route
    reasons = tuple(f"part {i}: {one.route.path}" for i, one in enumerate(states, start=1))
    decision = route_of_first.model_copy(update={"path": "hybrid", "reasons": reasons})
    return update | {"usage": usage, "route": decision, "parts": parts if update["result"] is not None else []}
