"""Sentences in which the thing asked about only acts on another: "bought by Acme" says nothing of when Acme began."""

from __future__ import annotations

import re

from theworld.nodes.answer_with_entity.one_entity import names_in
from theworld.state import Candidate
from theworld.text import entity_key, split_sentences
from theworld.text.folding import simplified

_AGENT_EN = re.compile(r"(?P<verb>\w+) by (?:the )?$", re.IGNORECASE)
_AGENT_ZH = re.compile(r"[被由]$")
_COUNTED = frozenset({"date", "number", "quantity"})
_VERB_REACH = 2
"""Characters of a Chinese verb after its agent."""


def is_done_by_asked(question: str, note: Candidate, at: int) -> bool:
    """Tell whether the sentence around an offset names what a question is about only as the agent of another verb.

    "Which year was Acme founded?" is not answered by "founded in 1854 and bought by Acme in 2021", while "When did
    Acme buy it?" may be.
    """
    sentence = next((one for one in split_sentences(note.text) if one.start <= at < one.end), None)
    if sentence is None:
        return False
    question = simplified(question)
    named = {m.surface for m in note.mentions if sentence.start <= m.start < sentence.end and m.type not in _COUNTED}
    has = names_in(question)
    asked = {name for name in named if len(name) > 1 and has(entity_key(name))}
    asked = {name for name in asked if not any(name != other and name in other for other in asked)}
    return bool(asked) and all(_only_acts(name, question, sentence.text, note.language) for name in asked)


def _only_acts(name: str, question: str, sentence: str, language: str) -> bool:
    for match in re.finditer(re.escape(name), sentence):
        before, after = sentence[: match.start()], sentence[match.end() :]
        if language == "zh":
            verb = after[:_VERB_REACH]
            if not _AGENT_ZH.search(before) or (verb and simplified(verb) in question):
                return False
        else:
            agent = _AGENT_EN.search(before)
            acts = re.search(rf"\b(?:by|did|does|do|has|had|have|will|would)\s+(?:the\s+)?{re.escape(name)}", question)
            if agent is None or acts or agent["verb"].casefold() in question.casefold():
                return False
    return True
