"""Make a dependent query stand alone: which expressions depend on the history, on what, and the query without them."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.references import chinese, english
from theworld.references.chinese_topics import topic_in
from theworld.references.detection import Standalone
from theworld.references.english import last_full_question
from theworld.references.history import text_of, topic_tokens
from theworld.references.phrases import LanguageCode, has_ideographs
from theworld.state import Message, ReferenceMatch, ReferenceType

LONGEST_DEPENDENT = 300
"""Characters; a longer query says itself what it is about."""


def last_question(history: Sequence[Message]) -> str:
    """Return the last question of the user that is no follow-up, made to stand alone; empty where there is none."""
    index = last_full_question(history)
    if index is None:
        return ""
    text = text_of(history[index])
    if has_ideographs(text):
        base = chinese.last_full_question(history)
        return base.text if base else ""
    if len(text) > LONGEST_DEPENDENT:
        return text[:LONGEST_DEPENDENT]
    return english.rewrite(text, history[:index]).query or text


def make_standalone(
    query: str, history: Sequence[Message], language: LanguageCode, antecedent: str | None = None
) -> Standalone:
    """Return the query rewritten with its antecedents, or as it is (`query` None) where it depends on nothing.

    `antecedent` overrides the choice among equally good antecedents.
    """
    if not history or len(query) > LONGEST_DEPENDENT:
        return Standalone()
    if language == "cn" or has_ideographs(query):
        return chinese.rewrite(query, history, antecedent)
    return english.rewrite(query, history, antecedent)


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
