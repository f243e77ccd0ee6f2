"""Mentions that are no name by themselves: what they say of the entry they refer to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from theworld.nodes.disambiguate_entities.judging.mention import MentionInText
from theworld.nodes.disambiguate_entities.judging.names import is_head, name_words
from theworld.nodes.disambiguate_entities.judging.words import entry_tokens, type_said
from theworld.text import tokens

_PRONOUN = re.compile(r"(?:its?|they|their|them|he|him|his|she|hers?)", re.IGNORECASE)
_DEFINITE = re.compile(r"(?:the|this|that|these|those) ([a-z]+)", re.IGNORECASE)
_TITLED = re.compile(r" [A-Z]")


def is_reference(mention: MentionInText) -> bool:
    """Tell whether a mention is no name: "the country", "its"."""
    return bool(_PRONOUN.fullmatch(mention.label) or _DEFINITE.fullmatch(mention.label))


def refers(mention: MentionInText, candidate: Mapping[str, Any]) -> float:
    """Return 1 when "the country" may mean the candidate as it is one, or "its" as the text has named it before."""
    if _PRONOUN.fullmatch(mention.label):
        names = name_words(str(candidate.get("label") or ""))
        return float(bool(names) and names <= mention.words_before)
    noun = _DEFINITE.fullmatch(mention.label)
    kind = type_said(noun.group(1)) if noun else None
    return float(kind is not None and kind == type_said(str(candidate.get("description") or "")))


def lacks_head(mention: MentionInText, candidate: Mapping[str, Any]) -> float:
    """Return 1 when the mention's last word, which says what it is, stands nowhere in the candidate: the United States
    for "U.S. government"."""
    words = tokens(mention.label)
    if len(mention.own_words) < 2 or not words:
        return 0.0
    aliases = candidate.get("aliases") or ()
    texts = [candidate.get("label"), candidate.get("description"), *aliases]
    return float(not any(words[-1] in entry_tokens(text) for text in texts if isinstance(text, str)))


def holds_office(mention: MentionInText, label: str) -> float:
    """Return 1 for a certain office where the mention is a title before a name: President of the United States for
    "President" in "President John Adams"."""
    end = mention.start + len(mention.label)
    titled = mention.start >= 0 and mention.label[:1].isupper() and _TITLED.match(mention.context[end : end + 2])
    return float(bool(titled) and is_head(mention.label, label))
