"""Confidence: the share of right decisions of each kind, as measured on the development dialogues."""

from __future__ import annotations

from functools import cache

from theworld.nodes.resolve_references.detection import Detected
from theworld.nodes.resolve_references.rewriting.edits import Standalone
from theworld.nodes.resolve_references.rewriting.mentions import names_in
from theworld.nodes.resolve_references.scopes import Conversation
from theworld.nodes.resolve_references.tables import load_table


@cache
def _shares() -> dict[str, float]:
    return {name: float(share) for name, share in load_table("confidence").items()}


def evidence_of(primary: Detected | None, query: str, conversation: Conversation, alone: Standalone) -> str:
    """Return the name of what decided, a key of `data/confidence.yaml`."""
    if primary is None:
        if not conversation.history:
            return "none_without_history"
        if conversation.language == "cn":
            return "none_cn"
        return "none_en_named" if any(not name.opening for name in names_in(query)) else "none_en_bare"
    if primary.kind in {"pronoun", "continuation"}:
        return "ambiguous" if len(alone.options) > 1 else f"{primary.kind}_{conversation.language}"
    if primary.kind == "keyword" and primary.span.phrase == "just":
        return "just"
    return primary.kind


def confidence_of(primary: Detected | None, query: str, conversation: Conversation, alone: Standalone) -> float:
    """Return the probability that type and scope are right."""
    return _shares()[evidence_of(primary, query, conversation, alone)]
