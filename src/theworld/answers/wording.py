"""An answer in words: how sure it is, the short answer, the passages with their places, and where else to look."""

from __future__ import annotations

import re

from theworld.state import Answer, Passage
from theworld.state.answers import SEE_ALSO, UNSURE
from theworld.text import Language

GOES_ON = "\n…"
"""After a passage that is cut."""
_FENCE = re.compile(r"^ *(`{3,}|~{3,})", re.MULTILINE)

_WORDS = {"en": {"between": "; ", "quoted": "{}: {}"}, "zh": {"between": "；", "quoted": "《{}》：{}"}}


def answer_text(answer: Answer, language: Language) -> str:
    """Return what is shown of an answer with passages, in the language asked for."""
    parts = [UNSURE[language]] if answer.sureness == "unsure" else []
    parts += [answer.short] if answer.short else []
    parts += [f"{passage.place} [{passage.number}]\n{shown_text(passage)}" for passage in answer.passages]
    parts += [SEE_ALSO[language] + _WORDS[language]["between"].join(answer.see_also)] if answer.see_also else []
    return "\n\n".join(parts)


def shown_text(passage: Passage) -> str:
    """Return a passage's text with a mark where it goes on, and its last code block closed."""
    fences = _FENCE.findall(passage.text)
    closing = f"\n{fences[-1]}" if len(fences) % 2 else ""
    return f"{passage.text}{GOES_ON}{closing}" if passage.goes_on or closing else passage.text


def said_text(answer: Answer, language: Language) -> str:
    """Return what a conversation remembers of an answer: its short form, and the first passage under its title.

    What a later "she" or "there" may mean stands first; further passages would only offer more to be meant.
    """
    if not answer.passages:
        return answer.text
    first = answer.passages[0]
    quoted = _WORDS[language]["quoted"].format(first.title or first.place, first.text)
    return "\n".join(filter(None, (answer.short, quoted)))
