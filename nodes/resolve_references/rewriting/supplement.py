"""A query that refers by a keyword and names nothing itself ("之前你说的还有效吗？"): what it refers to is added."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.nodes.resolve_references.matching import has_ideographs
from theworld.nodes.resolve_references.rewriting.chinese_focus import topic_in
from theworld.nodes.resolve_references.rewriting.standalone import last_question
from theworld.nodes.resolve_references.topics import topic_tokens
from theworld.nodes.resolve_references.turns import text_of
from theworld.state import Message, ReferenceMatch, ReferenceType

LONGEST_ADDED = 80
"""Characters added at most."""
_CLOSING = " \t\n?？!！.。"


def supplement(query: str, matches: Sequence[ReferenceMatch], history: Sequence[Message]) -> str | None:
    """Return the query with what its primary reference points at, None where it needs nothing or nothing is known.

    A correction gets the question that was answered wrongly, a reference to a stance the stance, any other the topic of
    its turns; only a query that names no topic of its own gets one.
    """
    primary = matches[0]
    if primary.reference_type is ReferenceType.CORRECTION:
        return _with(query, last_question(history) if primary.source_turns else "")
    if topic_tokens(_without(query, matches)):
        return None
    if primary.reference_type is ReferenceType.STANCE:
        return _with(query, primary.content or "")
    asked = [text_of(history[i]) for i in primary.source_turns if history[i].role == "user"]
    topics = [topic for text in reversed(asked) if (topic := topic_in(text)) and topic_tokens(topic)]
    return _with(query, topics[0] if topics else "")


def _without(query: str, matches: Sequence[ReferenceMatch]) -> str:
    for start, end in sorted((match.span for match in matches), reverse=True):
        query = f"{query[:start]} {query[end:]}"
    return query


def _with(query: str, added: str) -> str | None:
    added = " ".join(added.split())[:LONGEST_ADDED].strip(_CLOSING)
    if not added:
        return None
    end = len(query.rstrip(_CLOSING))
    inserted = f"（{added}）" if has_ideographs(query) else f" ({added})"
    return query[:end] + inserted + query[end:]
