"""Make a dependent query stand alone, by the rules of its language; or by what its keyword points at.

A query that refers by a keyword and names nothing itself ("之前你说的还有效吗？") gets what the keyword points at.
"""

from __future__ import annotations

from collections.abc import Sequence

from theworld.references import chinese, english
from theworld.references.chinese_topics import topic_in
from theworld.references.context import Standalone, with_context
from theworld.references.history import text_of, topic_tokens
from theworld.references.phrases import LanguageCode, has_ideographs
from theworld.state import Message, ReferenceMatch, ReferenceType

LONGEST_DEPENDENT = 300
"""Characters; a longer query says itself what it is about."""


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


def supplement(query: str, matches: Sequence[ReferenceMatch], history: Sequence[Message]) -> str | None:
    """Return the query with what its primary reference points at, None where it needs nothing or nothing is known.

    A correction gets the question that was answered wrongly, a reference to a stance the stance, any other the topic of
    its turns; only a query that names no topic of its own gets one.
    """
    primary = matches[0]
    if primary.reference_type is ReferenceType.CORRECTION:
        return with_context(query, last_question(history) if primary.source_turns else "")
    if topic_tokens(_without(query, matches)):
        return None
    if primary.reference_type is ReferenceType.STANCE:
        return with_context(query, primary.content or "")
    asked = [text_of(history[i]) for i in primary.source_turns if history[i].role == "user"]
    topics = [topic for text in reversed(asked) if (topic := topic_in(text)) and topic_tokens(topic)]
    return with_context(query, topics[0] if topics else "")


def last_question(history: Sequence[Message]) -> str:
    """Return the last question of the user, made to stand alone; empty where there is none."""
    found = english.last_question(history)
    if found is not None and has_ideographs(text_of(history[found.source])):
        base = chinese.last_full_question(history)
        return base.text if base else ""
    return found.text[:LONGEST_DEPENDENT] if found else ""


def _without(query: str, matches: Sequence[ReferenceMatch]) -> str:
    for start, end in sorted((match.span for match in matches), reverse=True):
        query = f"{query[:start]} {query[end:]}"
    return query
