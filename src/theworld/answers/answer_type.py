"""What kind of answer a question expects. The expectation may veto a candidate; it never proposes one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from theworld.errors import SettingsError
from theworld.state import MentionType
from theworld.text import Language, detect_language
from theworld.text.folding import simplified

_UNTYPED = frozenset({"concept", "other"})


@dataclass(frozen=True, slots=True)
class AnswerType:
    """The expected type of an answer."""

    name: str = "any"
    """`person`, `place`, `organization`, `work`, `date`, `year`, `quantity`, `yes_no` or `any`."""
    types: frozenset[str] | None = None
    """Mention types that may answer; None: any, empty: no entity can."""

    def admits(self, mention_type: MentionType | str) -> bool:
        """Tell whether a mention of this type may be the answer; untyped mentions may, except for dates and numbers."""
        if self.types is None:
            return True
        if mention_type in _UNTYPED:
            return bool(self.types) and not self.types <= {"date", "number", "quantity"}
        return mention_type in self.types


ANY = AnswerType()


_OWN_WORD = re.compile(r"^\W*(who|whom|whose|when|where|how|why)\b", re.IGNORECASE)
"""Questions that begin so say their type themselves; a later what/which belongs to a clause."""
_WHAT = re.compile(
    r"\b(?:what|which)\s+(?:(?:is|was|are|were)\s+the\s+(?:\w+\s+)?name\s+of\s+(?:the\s+|an?\s+)?|(?:is|was)\s+the\s+)?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
_MODIFIERS = 4
"""Words that may stand between what/which and its noun."""
_NO_MODIFIERS = frozenset(
    (
        "is are was were be been do does did has have had can could will would should may might the a an of in on at "
        "by for from to with that who whom whose which what where when and or as kind type sort"
    ).split()
)


@cache
def _nouns() -> dict[str, AnswerType]:
    """Return the answer type of every noun that may follow what/which."""
    return {noun: kind for kind, _, nouns in _rules() for noun in nouns}


def _asked_noun(question: str) -> AnswerType | None:
    """Return the type of the noun after what/which: the last of the first row of known nouns."""
    known = _nouns()
    for match in _WHAT.finditer(question):
        found: AnswerType | None = None
        for place, word in enumerate(_WORD.finditer(question, match.end())):
            noun = word.group().casefold()
            kind = known.get(noun)
            if kind is None and noun.endswith("s") and not noun.endswith("ss"):
                kind = known.get(noun[:-1])
            if found is not None and kind is None:
                return found
            apart = question[match.end() : word.start()].strip(" \"'“‘")
            if noun in _NO_MODIFIERS or place > _MODIFIERS or any(mark in apart for mark in ",.;:?!"):
                break
            found = kind
        if found is not None:
            return found
    return None


@cache
def _own_patterns() -> tuple[tuple[AnswerType, re.Pattern[str]], ...]:
    """Return the patterns that go before the nouns: "what is the area of" asks for no place."""
    return tuple((kind, pattern) for kind, patterns, _ in _rules() for pattern in patterns["first"])


@cache
def _rules() -> tuple[tuple[AnswerType, dict[str, tuple[re.Pattern[str], ...]], tuple[str, ...]], ...]:
    table = resources.files("theworld.answers").joinpath("answer_types.yaml")
    rules = []
    for entry in yaml.safe_load(table.read_text(encoding="utf-8")):
        try:
            kind = AnswerType(entry["name"], frozenset(entry["types"]))
            patterns = {
                name: tuple(re.compile(pattern, re.IGNORECASE) for pattern in found)
                for name, found in (("en", entry["en"]), ("zh", entry["zh"]), ("first", entry.get("first", [])))
            }
        except (KeyError, TypeError, re.error) as error:
            raise SettingsError(f"entry {entry!r} is not usable: {error}.", where="answer_types.yaml") from error
        rules.append((kind, patterns, tuple(entry.get("nouns", "").split())))
    return tuple(rules)


def expected_answer_type(question: str, language: Language | str | None = None) -> AnswerType:
    """Return the type of answer a question expects, `ANY` when it does not say."""
    text = simplified(question.strip())
    chosen = language or detect_language(text)
    if chosen != "zh" and not _OWN_WORD.search(text):
        first = next((kind for kind, pattern in _own_patterns() if pattern.search(text)), None)
        asked = first or _asked_noun(text)
        if asked is not None:
            return asked
    for kind, patterns, _ in _rules():
        if any(pattern.search(text) for pattern in patterns.get(chosen, ())):
            return kind
    return ANY
