"""A resolved reference in words, for the command line and notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.nodes.resolve_references.turns import text_of
from theworld.state import Message, ResolvedReference


def describe(resolved: ResolvedReference, query: str, history: Sequence[Message] = ()) -> str:
    """Return what was found, step by step: every reference with its turns, the decision, the stand-alone query."""
    lines = [f"query       {query}", f"language    {resolved.metadata.get('language', '-')}"]
    if not resolved.matches:
        lines.append("references  none")
    for number, match in enumerate(resolved.matches, 1):
        label = "references  " if number == 1 else "            "
        lines.append(
            f"{label}{number}. {match.keyword!r} at {match.span[0]}-{match.span[1]}: "
            f"{match.reference_type} / {match.scope} ({match.reason or 'no history'})"
        )
        lines.extend(_quote(history, match.source_turns))
    recall = "" if resolved.recall_turns is None else f", recall {resolved.recall_turns} turns"
    lines.append(
        f"decision    {resolved.reference_type} / {resolved.scope}, confidence {resolved.confidence:.2f}{recall}"
    )
    if antecedents := resolved.metadata.get("antecedents"):
        lines.append(f"antecedents {', '.join(antecedents)}")
    if len(resolved.options) > 1:
        lines.append("ambiguous   " + "  ".join(f"{n}. {option}" for n, option in enumerate(resolved.options, 1)))
    notes = (resolved.metadata.get(name) for name in ("note", "llm_problem"))
    lines.extend(f"note        {note}" for note in notes if note)
    lines.append(f"stand-alone {resolved.standalone_query or query + '   (unchanged)'}")
    return "\n".join(lines)


def _quote(history: Sequence[Message], indexes: Sequence[int], longest: int = 72) -> list[str]:
    quoted = []
    for index in indexes:
        if index < len(history):
            text = " ".join(text_of(history[index]).split())
            shown = text if len(text) <= longest else text[: longest - 1] + "…"
            quoted.append(f"              [{index}] {history[index].role}: {shown}")
    return quoted
