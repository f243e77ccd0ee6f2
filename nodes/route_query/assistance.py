"""Asking a language model which way an unclear question goes: one call, read through `theworld.structure`."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import BaseModel, Field

from theworld.errors import ModelError
from theworld.models.protocols import ChatMessage, ChatModel
from theworld.models.usage import usage_of
from theworld.prompts import fill_prompt, load_prompt
from theworld.state import ModelUsage, RouteDecision
from theworld.structure import extract_json_from_text

TIMEOUT_S = 5.0


class PathReply(BaseModel):
    """What a model says of a question."""

    path: Literal["sql", "sparse", "dense", "graph", "hybrid"] = Field(description="The path it would take")


class Asked(NamedTuple):
    """The decision after asking, what it cost, and what went wrong."""

    decision: RouteDecision
    usage: ModelUsage
    problem: str


def ask_for_path(
    model: ChatModel, query: str, language: str, decision: RouteDecision, *, timeout_s: float = TIMEOUT_S
) -> Asked:
    """Return the decision with the model's path; its channels stay, as all paths keep all channels."""
    prompt = fill_prompt(load_prompt("route", "zh" if language == "zh" else "en"), question=query)
    try:
        completion = model.complete([ChatMessage("user", prompt)], timeout_s=timeout_s)
    except ModelError as error:
        return Asked(decision, usage_of(error), f"{model.name} was not able to choose a path ({error})")
    try:
        reply = PathReply.model_validate(extract_json_from_text(completion.text))
    except ValueError as error:
        said = next(iter(str(error).splitlines()), "no path")
        return Asked(decision, completion.usage, f"{model.name} named no path ({said})")
    if reply.path == "sql" and not decision.database:
        return Asked(decision, completion.usage, f"{model.name} chose sql, but there is no database to ask")
    reasons = (*decision.reasons, f"{model.name} was asked and chose {reply.path}")
    return Asked(decision.model_copy(update={"path": reply.path, "reasons": reasons}), completion.usage, "")
