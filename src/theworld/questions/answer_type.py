"""What kind of answer a question expects. The expectation may veto a candidate; it never proposes one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from theworld.state import MentionType
from theworld.text import Language, detect_language
from theworld.text.folding import simplified

_UNTYPED = frozenset({"concept", "other"})
_WHICH = (
    r"\b(?:what|which)\s+(?:(?:is|was|are|were)\s+the\s+(?:name\s+of\s+(?:the\s+|an?\s+)?)?)?"
    r"(?:(?!(?:is|are|was|were|did|does|do|has|had|the|an?|of|in|on|at|by|for|from|to|that|who|and|or)\b)[\w-]+\s+){0,4}?"
)
"""What or which, and the words of description before the noun that tells the type."""


@dataclass(frozen=True, slots=True)
class AnswerType:
    """The expected type of an answer."""

    name: str = "any"
    """`person`, `place`, `organization`, `work`, `date`, `year`, `quantity`, `yes_no` or `any`."""
    types: frozenset[str] | None = None
    """Mention types that may answer; None: any, empty: no entity can."""

    def admits(self, mention_type: MentionType | str) -> bool:
        """Return whether a mention of this type may be the answer; untyped ones may, except for dates and numbers."""
        if self.types is None:
            return True
        if mention_type in _UNTYPED:
            return bool(self.types) and not self.types <= {"date", "number", "quantity"}
        return mention_type in self.types


ANY = AnswerType()


@cache
def _rules() -> tuple[tuple[AnswerType, dict[str, re.Pattern[str]]], ...]:
    table = resources.files("theworld.questions").joinpath("answer_types.yaml").read_text(encoding="utf-8")
    return tuple(
        (
            AnswerType(one["name"], frozenset(one["types"])),
            {code: re.compile(one[code].replace("WHICH ", _WHICH), re.IGNORECASE) for code in ("en", "zh")},
        )
        for one in yaml.safe_load(table)
    )


def expected_answer_type(question: str, language: Language | str | None = None) -> AnswerType:
    """Return the type of answer a question expects, `ANY` when it does not say."""
    text = simplified(question.strip())
    chosen = "zh" if (language or detect_language(text)) == "zh" else "en"
    return next((kind for kind, patterns in _rules() if patterns[chosen].search(text)), ANY)
