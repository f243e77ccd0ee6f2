"""What of a model's text may be shown while it comes: the answer, without thoughts, refusals and invented citations."""

from __future__ import annotations

import re
from typing import NamedTuple

from theworld.nodes.generate_answer.citations import check_citations
from theworld.text import begun_pair, well_formed

NO_ANSWER = {"en": "Not enough evidence.", "zh": "证据不足。"}
"""What the prompt asks the model to say when the notes do not answer; recognised in its reply."""

_THOUGHT_ENDS = "</think>"
_THOUGHT_BEGINS = "<think>"
_OPEN_MARK = re.compile(r"[\[【［][^\]】］]{0,40}$")
_EDGE = " \t\r\n\"'“”「」*_`。.！!"
_MARKUP = "\"'*_`"
_SENTENCE_END = ".。!！\n"


class Shown(NamedTuple):
    """What one piece of text adds."""

    text: str
    restart: bool = False
    """True when what was shown before turned out not to be the answer."""


def answer_part(text: str) -> str:
    """Return a reply without the thoughts before its answer; nothing while it is still thinking."""
    _, mark, answer = text.partition(_THOUGHT_ENDS)
    if mark:
        return answer.strip()
    begun = text.lstrip()
    thinks = begun.startswith(_THOUGHT_BEGINS) or (bool(begun) and _THOUGHT_BEGINS.startswith(begun))
    return "" if thinks else text.strip()


def declines(text: str) -> bool:
    """Tell whether an answer is the agreed phrase for "not in the notes", alone or before a comment that cites none."""
    opening = text.lstrip(_EDGE).casefold()
    said = next((phrase for phrase in _REFUSALS if opening.startswith(phrase)), None)
    if said is None:
        return False
    comment = opening[len(said) :]
    checked = check_citations(comment, _ANY_NUMBER)
    alone = not _bare(check_citations(comment, 0).text)
    return alone or (not checked.cited and comment.lstrip(_MARKUP)[:1] in _SENTENCE_END)


def _bare(text: str) -> str:
    return text.strip(_EDGE).casefold()


_ANY_NUMBER = 9_999
_REFUSALS = frozenset({*map(_bare, NO_ANSWER.values()), "證據不足"})


class AnswerStream:
    """Takes a reply piece by piece and says what to show; the shown pieces together are the checked answer."""

    def __init__(self, notes: int) -> None:
        self._notes = notes
        self._raw = ""
        self._shown = ""

    def feed(self, piece: str) -> Shown:
        """Take in a piece; text that may still become a citation, a refusal or a thought is held back."""
        self._raw += piece
        answer = answer_part(well_formed(self._raw.removesuffix(begun_pair(self._raw))))
        bare = _bare(answer)
        if any(refusal.startswith(bare) for refusal in _REFUSALS) or declines(answer):
            return self._turn("")
        return self._turn(_OPEN_MARK.sub("", answer))

    def end(self) -> Shown:
        """Return what was held back."""
        answer = answer_part(well_formed(self._raw))
        return self._turn("" if declines(answer) else answer)

    def _turn(self, answer: str) -> Shown:
        visible = check_citations(answer, self._notes).text
        before, restart = self._shown, not visible.startswith(self._shown)
        self._shown = visible
        return Shown(visible if restart else visible[len(before) :], restart)
