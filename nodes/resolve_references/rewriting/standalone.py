"""Make a dependent query stand alone: which expressions depend on the history, on what, and the query without them."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.nodes.resolve_references.matching import has_ideographs
from theworld.nodes.resolve_references.rewriting import chinese, english
from theworld.nodes.resolve_references.rewriting.edits import Standalone
from theworld.nodes.resolve_references.rewriting.english_slots import last_full_question
from theworld.nodes.resolve_references.tables import LanguageCode
from theworld.nodes.resolve_references.turns import text_of
from theworld.state import Message

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
