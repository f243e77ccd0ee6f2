"""Ask back about an ambiguous reference: a question with numbered options, and what an answer to it means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from theworld.errors import TheWorldError
from theworld.references.history import text_of
from theworld.state import Message, ResolvedReference
from theworld.text import Language
from theworld.text.folding import fold_in_place
from theworld.text.quantities import read_numeral

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
        position = read_numeral((number["digits"] or number["written"]).removeprefix("-")) or 0
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
