"""What helps where the rules are unsure, and what was found in words.

A language model, if wanted: a callable, sync or async, whose failure or nonsense never raises. The user: a question
with numbered options about an ambiguous reference, and what an answer to it means.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from theworld.errors import ModelError, TheWorldError
from theworld.models.protocols import ChatMessage, ChatModel, usage_of
from theworld.prompts import fill_prompt, harmless, load_prompt
from theworld.references.history import last_turns, text_of, transcript
from theworld.state import Message, ModelUsage, ReferenceScope, ReferenceType, ResolvedReference
from theworld.structure import extract_json_from_text
from theworld.structure.remedies import share_of
from theworld.text import Language, detect_language
from theworld.text.numerals import read_numeral
from theworld.text.tokens import fold_in_place

LLMResolver = Callable[[str, Sequence[Message]], Any]
"""(query, history) -> a ResolvedReference, a mapping of its fields (`reference_type` or `type`, `scope`, ...), the same
as JSON text, fenced or broken too, or None; or an awaitable of one of these."""
LONGEST_CONVERSATION = 6_000  # characters of the conversation that a model is shown, the last ones
LONGEST_QUOTE = 72  # characters of a message that are shown
_QUESTIONS: dict[Language, str] = {
    "zh": "“{keyword}”指的是哪一个？请回复编号或名称：",
    "en": "What does “{keyword}” refer to? Reply with a number or a name:",
}
_NUMBER = re.compile(
    r"(?:no\.?|number|option|第|选|选项|#)?\s*(?P<digits>-?\d+)\s*[.)个项）]?|第?(?P<written>[一二两三四五六七八九十])个?",
    re.IGNORECASE,
)
_REMEDY = "Reply with a number, an option's text, or what is meant in your own words."


def ask_model(
    resolver: LLMResolver, query: str, history: Sequence[Message]
) -> tuple[ResolvedReference | None, dict[str, Any]]:
    """Call the fallback once; return its reference, and what goes on record. Never raises an Exception."""
    usage, notes, found = ModelUsage(calls=1), {"reason": "the model fallback"}, None
    try:
        reply = resolver(query, list(history))
        if inspect.isawaitable(reply):
            with ThreadPoolExecutor(max_workers=1) as pool:  # this thread may run a loop; wait_for takes any awaitable
                reply = pool.submit(asyncio.run, asyncio.wait_for(reply, timeout=None)).result()
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
        said = harmless(shown[-LONGEST_CONVERSATION:], "conversation")
        asked = fill_prompt(load_prompt("resolve_reference", language), conversation=said, question=query)
        reply = model.complete([ChatMessage(role="user", content=asked)], timeout_s=timeout_s)
        try:
            return {**extract_json_from_text(reply.text), "usage": reply.usage}
        except ValueError as error:
            failure = ModelError(f"unreadable reply: {error}", where=model.name)
            failure.usage = reply.usage
            raise failure from error

    return resolve


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


class InvalidChoiceError(TheWorldError, ValueError):
    """A reply to a clarification that is no option; the message lists them."""


def ask_back(reference: ResolvedReference, language: Language) -> dict[str, Any]:
    """Return the payload of the interrupt: `kind`, `question` with numbered options, and `options`."""
    head = _QUESTIONS[language].format(keyword=reference.matched_keyword or "")
    lines = [f"{number}. {option}" for number, option in enumerate(reference.options, 1)]
    return {"kind": "clarification", "question": "\n".join([head, *lines]), "options": list(reference.options)}


def chosen_option(reply: Any, options: Sequence[str]) -> str:
    """Return the option a reply means: its number from 1, its text, or a mapping with `choice`.

    Other text is taken as the antecedent itself. Raises InvalidChoiceError, which lists the options, for a number that
    is none of theirs, an empty reply and what is no reply.
    """
    reply = reply.get("choice") if isinstance(reply, Mapping) else reply
    text = str(reply).strip() if isinstance(reply, str | int) and not isinstance(reply, bool) else ""
    by_text = {fold_in_place(option): option for option in reversed(options)}
    if exact := by_text.get(fold_in_place(text)):
        return exact
    if number := _NUMBER.fullmatch(text):
        position = read_numeral(fold_in_place(number["digits"] or number["written"]).removeprefix("-")) or 0
        if 1 <= position <= len(options) and "-" not in text:
            return options[position - 1]
    if number or not text:
        listed = ", ".join(f"{place} {option}" for place, option in enumerate(options, 1))
        raise InvalidChoiceError(f"{reply!r} is none of the options: {listed}.", where="choice", remedy=_REMEDY)
    return next((option for option in options if fold_in_place(option) in fold_in_place(text)), text)


def describe(resolved: ResolvedReference, query: str, history: Sequence[Message] = ()) -> str:
    """Return what was found, step by step: every reference with its turns, the decision, the stand-alone query."""
    facts = resolved.metadata
    lines = [f"query       {query}", f"language    {facts.get('language', '-')}"]
    lines += [] if resolved.matches else ["references  none"]
    for number, match in enumerate(resolved.matches, 1):
        label = "references  " if number == 1 else "            "
        place, found = f"{match.span[0]}-{match.span[1]}", f"{match.reference_type} / {match.scope}"
        lines.append(f"{label}{number}. {match.keyword!r} at {place}: {found} ({match.reason or 'no history'})")
        for index in (index for index in match.source_turns if index < len(history)):
            said = " ".join(text_of(history[index]).split())
            said = said if len(said) <= LONGEST_QUOTE else said[: LONGEST_QUOTE - 1] + "…"
            lines.append(f"              [{index}] {history[index].role}: {said}")
    recall = "" if resolved.recall_turns is None else f", recall {resolved.recall_turns} turns"
    numbered = "  ".join(f"{number}. {option}" for number, option in enumerate(resolved.options, 1))
    details = {
        "decision": f"{resolved.reference_type} / {resolved.scope}, confidence {resolved.confidence:.2f}{recall}",
        "antecedents": ", ".join(facts.get("antecedents", ())),
        "ambiguous": numbered if len(resolved.options) > 1 else "",
        "note": "; ".join(str(facts[name]) for name in ("note", "llm_problem") if name in facts),
        "stand-alone": resolved.standalone_query or query + "   (unchanged)",
    }
    return "\n".join([*lines, *(f"{name:<11} {text}" for name, text in details.items() if text)])
