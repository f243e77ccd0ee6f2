"""Make a dependent query stand alone: by what it does with the frame before, its language's rules, or its keyword.

An announced change of topic drops the frame, a correction refills it (`frames.py`); else the language's rules decide.
A query that refers by a keyword and names nothing itself ("之前你说的还有效吗？") gets what the keyword points at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from theworld.references.chinese import ChineseFollowUp
from theworld.references.chinese_topics import topic_in
from theworld.references.context import FollowUp, Standalone, is_small_talk, with_context
from theworld.references.english import EnglishFollowUp
from theworld.references.frames import corrected, since_topic_change, topic_change
from theworld.references.history import text_of, topic_tokens
from theworld.references.tables import LanguageCode, has_ideographs
from theworld.state import Message, ReferenceMatch, ReferenceType

DEEPEST = 3
"""Follow-ups on follow-ups that are traced back."""
LONGEST_DEPENDENT = 300
"""Characters; a longer query says itself what it is about."""


def make_standalone(
    query: str, history: Sequence[Message], language: LanguageCode, antecedent: str | None = None, depth: int = 0
) -> Standalone:
    """Return the query rewritten with its antecedents, or as it is (`query` None) where it depends on nothing.

    `antecedent` overrides the choice among equally good antecedents.
    """
    if not history or len(query) > LONGEST_DEPENDENT or depth > DEEPEST:
        return Standalone()
    if (start := topic_change(query)) is not None:
        return Standalone(query[start:].strip() or None, reason="another topic is announced")
    recent, first = since_topic_change(history)
    rules = ChineseFollowUp if language == "cn" or has_ideographs(query) else EnglishFollowUp
    follow_up = rules(query, recent, antecedent, partial(_alone, depth + 1))
    alone = corrected(follow_up) or (Standalone() if is_small_talk(query) else follow_up.rewritten())
    return replace(alone, sources=tuple(source + first for source in alone.sources)) if first else alone


def _alone(depth: int, text: str, before: Sequence[Message]) -> str:
    return make_standalone(text, before, "en", depth=depth).query or text


def supplement(query: str, matches: Sequence[ReferenceMatch], history: Sequence[Message]) -> str | None:
    """Return the query with what its primary reference points at, None where it needs nothing or nothing is known.

    A correction gets the question that was answered wrongly, a reference to a stance the stance, any other the topic of
    its turns; only a query that names no topic of its own gets one.
    """
    primary, rest = matches[0], query
    if primary.reference_type is ReferenceType.CORRECTION:
        before = FollowUp("", since_topic_change(history)[0], None, partial(_alone, 1)).before
        return with_context(query, before.text[:LONGEST_DEPENDENT]) if before and primary.source_turns else None
    for start, end in sorted((match.span for match in matches), reverse=True):
        rest = f"{rest[:start]} {rest[end:]}"
    if topic_tokens(rest):
        return None
    if primary.reference_type is ReferenceType.STANCE:
        return with_context(query, primary.content or "")
    asked = [text_of(history[i]) for i in primary.source_turns if history[i].role == "user"]
    return with_context(query, next((topic for text in asked[::-1] if topic_tokens(topic := topic_in(text))), ""))
