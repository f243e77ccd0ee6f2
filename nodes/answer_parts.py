"""The node: answer each part of a question by a graph of its own, and join the answers.

A question has parts where these need different ways: some the database, some the documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from theworld.questions import read_question
from theworld.routing import DatabaseReader
from theworld.settings import Settings
from theworld.state import (
    Answer,
    Candidate,
    Citation,
    Context,
    Message,
    ModelUsage,
    QueryState,
    Update,
    context_at,
)

FindParts = Callable[[str, Context], list[str]]
"""Says the parts of a question, [] for one that stays whole."""
AnswerOne = Callable[[QueryState, Context], Mapping[str, Any]]
"""Answers one stand-alone query; returns the values of the state afterwards."""
_MARK = re.compile(r"\[(\d{1,9})\]")


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


def parts_finder(settings: Settings, database: DatabaseReader | None) -> FindParts:
    """Return what says the parts of a question of which some are for the database and some for the documents.

    [] leaves a question whole, as always without a database: parts that are all searched find more together.
    """

    def find(query: str, context: Context) -> list[str]:
        enabled = settings.router.enabled if context.router is None else context.router
        if database is None or not enabled or context.channels is not None or context.database is False:
            return []
        parts = list(read_question(query).parts)
        understood = {database(part, context).understood for part in parts}
        return parts if len(understood) > 1 else []

    return find


def join_parts(parts: Sequence[str], states: Sequence[QueryState]) -> Update:
    """Return the update with the parts' answers in order, citations numbered through, candidates and tables together.

    Without any answered part there is no result; beside an answered one, a part says what kept it from an answer.
    """
    answers = [state.result or Answer() for state in states]
    together = ("candidates", "evidence", "paths", "tables", "judgements", "stages", "degradations")
    found: Any = {name: [one for state in states for one in getattr(state, name)] for name in together}
    found |= {name: _distinct(found[name]) for name in ("candidates", "evidence")} | {"result": None}
    update: Update = found
    if all(answer.kind == "none" for answer in answers):
        return update
    texts, citations = [], list[Citation]()
    for part, answer in zip(parts, answers, strict=True):
        numbers = {citation.number: len(citations) + i for i, citation in enumerate(answer.citations, start=1)}
        text = _renumbered(answer.text, numbers)
        citations += [c.model_copy(update={"number": numbers[c.number]}) for c in answer.citations]
        texts.append(f"{part}\n{text}")
    kinds = {answer.kind for answer in answers if answer.kind != "none"}
    order = ("generated", "extractive", "entity", "computed")
    return update | {
        "result": Answer(
            text="\n\n".join(texts),
            kind=next(kind for kind in order if kind in kinds),
            confidence=min(answer.confidence for answer in answers),
            citations=tuple(citations),
            reason="; ".join(f"part {i}: {answer.reason}" for i, answer in enumerate(answers, start=1)),
        )
    }


def _renumbered(text: str, numbers: Mapping[int, int]) -> str:
    return _MARK.sub(lambda mark: f"[{numbers.get(int(mark[1]), mark[1])}]", text)


def _distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    found: dict[str, Candidate] = {}
    for candidate in candidates:
        known = found.get(candidate.note_id)
        if known is None or candidate.final_score > known.final_score:
            found[candidate.note_id] = candidate
    return sorted(found.values(), key=lambda c: (-c.final_score, c.note_id))
