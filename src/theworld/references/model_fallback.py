"""The optional language-model fallback: a callable, sync or async, whose failure or nonsense never raises."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from theworld.errors import ModelError
from theworld.models.protocols import ChatMessage, ChatModel, usage_of
from theworld.prompts import fill_prompt, harmless, load_prompt
from theworld.references.history import last_turns, transcript
from theworld.state import Message, ModelUsage, ReferenceScope, ReferenceType, ResolvedReference
from theworld.structure import extract_json_from_text
from theworld.structure.fitting.remedies import share_of
from theworld.text import detect_language

LLMResolver = Callable[[str, Sequence[Message]], Any]
"""(query, history) -> a ResolvedReference, a mapping of its fields (`reference_type` or `type`, `scope`, ...), the same
as JSON text, fenced or broken too, or None; or an awaitable of one of these."""
LONGEST_CONVERSATION = 6_000  # characters of the conversation that a model is shown, the last ones


def ask_model(
    resolver: LLMResolver, query: str, history: Sequence[Message]
) -> tuple[ResolvedReference | None, dict[str, Any]]:
    """Call the fallback once; return its reference, and what goes on record. Never raises an Exception."""
    usage, notes, found = ModelUsage(calls=1), {"reason": "the model fallback"}, None
    try:
        reply = resolver(query, list(history))
        if inspect.isawaitable(reply):
            reply = _await(reply)
        if isinstance(reply, Mapping) and isinstance(reply.get("usage"), ModelUsage):
            usage = reply["usage"]
        reply = extract_json_from_text(reply) if isinstance(reply, str) else reply
        if reply is None:
            notes = {"llm_problem": "the model fallback found no reference"}
        else:
            found = reply if isinstance(reply, ResolvedReference) else _reference(reply, len(history))
    except Exception as error:  # the caller's code may raise anything; its failure is reported, not passed on
        usage = usage_of(error) if isinstance(error, ModelError) and error.usage else usage
        notes = {"llm_problem": f"the model fallback failed: {type(error).__name__}: {error}"}
    return found, {"llm_calls": 1, "llm_usage": usage.model_dump(), **notes}


def model_resolver(model: ChatModel, *, turns: int = 10, timeout_s: float | None = None) -> LLMResolver:
    """Return a fallback that asks a language model once about the last `turns` turns."""

    def resolve(query: str, history: Sequence[Message]) -> dict[str, Any]:
        language = detect_language(query)
        shown = transcript(history, last_turns(history, turns), "cn" if language == "zh" else "en") or ""
        prompt = load_prompt("resolve_reference", language)
        said = harmless(shown[-LONGEST_CONVERSATION:], "conversation")
        asked = fill_prompt(prompt, conversation=said, question=query)
        reply = model.complete([ChatMessage(role="user", content=asked)], timeout_s=timeout_s)
        try:
            return {**extract_json_from_text(reply.text), "usage": reply.usage}
        except ValueError as error:
            failure = ModelError(f"unreadable reply: {error}", where=model.name)
            failure.usage = reply.usage
            raise failure from error

    return resolve


def _await(awaitable: Any) -> Any:
    async def result() -> Any:
        return await awaitable

    with ThreadPoolExecutor(max_workers=1) as pool:  # the caller's thread may be running a loop of its own
        return pool.submit(asyncio.run, result()).result()


def _reference(reply: Any, messages: int) -> ResolvedReference:
    if not isinstance(reply, Mapping):
        raise TypeError(f"{type(reply).__name__} is not understood")
    stated, content = reply.get("confidence", 0.5), reply.get("resolved_content")
    if (confidence := share_of(stated)) is None:
        raise ValueError(f"confidence {str(stated)[:40]!r} is no number from 0 to 1")
    return ResolvedReference(
        reference_type=ReferenceType(reply.get("reference_type", reply.get("type"))),
        scope=ReferenceScope(reply.get("scope", ReferenceScope.CUSTOM)),
        resolved_content=None if content is None else str(content),
        confidence=confidence,
        source_turns=sorted({int(turn) for turn in reply.get("source_turns") or [] if 0 <= int(turn) < messages}),
        standalone_query=str(reply.get("standalone_query") or "").strip() or None,
    )
