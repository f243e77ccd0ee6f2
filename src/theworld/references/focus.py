"""What an English conversation is about at its end: the heading it has, the last question's frame, names by salience.

The last question is read in its stand-alone form, so that a chain of pronouns keeps its antecedent. Names count from
the last question back: those asked about before those that answers mention.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from theworld.references.context import LOOK_BACK, Antecedent
from theworld.references.history import text_of, topic_tokens
from theworld.references.phrases import load_table
from theworld.state import Message
from theworld.text import tokens, without_qualifier
from theworld.text.tokens import function_words

_LONGEST = 4000
"""Characters of a text in which names are looked for."""
MOST_OPTIONS = 5
MOST_WORDS_OF_A_NAME = 6
_CAPITAL = (
    r"(?:(?:[A-Z][a-z]?|Mrs|Prof|Gen|Col|Rev|Gov|Sen|Rep)\.(?![\w.])|[A-Z](?:[\w&-]|\.(?=\w))*(?:['’](?!s\b)\w+)?)"
)
"""A capitalised word; a full stop at its end belongs to initials and titles only: "John F.", "St.", "Prof."."""
_GAP = r"[^\S\n]+"
"""A name ends with its line: what is shown one below the other is apart."""
_NAME = re.compile(
    rf"(?<![\w'’]){_CAPITAL}(?:(?:{_GAP}(?:of|de|van|von|der|la|le|du|del|the|for|&))*{_GAP}(?:{_CAPITAL}|\d+\b))*"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\"“(]\s*)$")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_ASKS_NAME = re.compile(r"^\W*(?:(?:and|so|but|then)\s+)?(?:\w+\s+)?(?:who|whom|which|what)\b", re.IGNORECASE)
_BESIDE = re.compile(r"[\"”’]?\s*(?:,|and|or|vs\.?|versus|,\s*(?:and|or))\s*(?:the\s+)?[\"“‘]?", re.IGNORECASE)


class Name(NamedTuple):
    """A name in a text."""

    text: str
    start: int
    opening: bool
    """A single word that may be capitalised only because it opens a sentence."""


class Focus(NamedTuple):
    """The state of a conversation, as far as follow-ups need it."""

    heading: Antecedent | None
    """The topic where it was stated as such, by a heading or a label."""
    answered: Antecedent | None
    """The name that the last answer gives to a question for one."""
    names: tuple[Antecedent, ...]
    """Names of the last turns, the most salient first, each once."""
    rivals: tuple[Antecedent, ...]
    """Names that the last question puts side by side ("A and B", "A or B")."""
    tokens: frozenset[str]
    """Index tokens of the heading: a query that holds one of them names its topic itself."""


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(load_table("english")[name])


@lru_cache(maxsize=4096)
def names_in(text: str) -> tuple[Name, ...]:
    """Return the names of a text from left to right; one that merely opens a sentence is marked as `opening`."""
    text, found = text[:_LONGEST], []
    for match in _NAME.finditer(text):
        words, start = match.group().split(" "), match.start()
        opening = bool(_SENTENCE_START.search(text[max(0, start - 3) : start]))
        while words and (_names_nothing(words[0]) or (words[0] == "A" and len(words) > 1 and not opening)):
            start, opening = start + len(words.pop(0)) + 1, False
        while words and (_names_nothing(words[-1]) or words[-1] == "&"):
            del words[-1]
        name = " ".join(words).rstrip(".,-&'’")
        if len(name) > 1 and not name.isdecimal():
            found.append(Name(name, start, opening and len(words) == 1))
    return tuple(found)


def _names_nothing(word: str) -> bool:
    bare = word.lower().strip(".,").replace("’", "'")
    forms = {bare, bare.split("'")[0]}
    return not (forms.isdisjoint(_words("not_names")) and forms.isdisjoint(function_words()))


@lru_cache(maxsize=8192)
def looks_like_person(name: str) -> bool:
    """Return whether a name has the shape of a person's: up to five capitalised words, none of a thing."""
    words = name.replace(".", " ").split()
    if not 1 <= len(words) <= 5 or any(c.isdigit() for c in name) or name.isupper() or not words[-1][:1].isupper():
        return False
    return "(" not in name and _words("things").isdisjoint(word.lower().strip("'\"),") for word in words)


@lru_cache(maxsize=4096)
def is_heading(text: str) -> bool:
    """Return whether a message merely names a topic, as a title does ("Ada Lovelace")."""
    title = re.fullmatch(r"\s*(?P<first>[\"'“‘]?[A-Z0-9]\S*)(?:\s+\S+){0,13}(?<![?!.])(?:\.\.\.)?\s*", text)
    return title is not None and title["first"].lower() not in _words("openers")


def focus_of(history: Sequence[Message], question: Antecedent | None) -> Focus:
    """Return what the conversation is about after its last message; `question` is its last one made to stand alone."""
    heading = _heading(history)
    known = topic_tokens(heading.text) or frozenset(tokens(heading.text)) if heading else frozenset()
    answer = _answer_to(history, question)
    return Focus(
        heading=heading,
        answered=None if heading else _answered(answer, question),
        names=_names(history, question),
        rivals=_rivals(question) or (() if heading else _rivals(answer)),
        tokens=frozenset(token for token in known if not token.isdecimal()) or known,
    )


def _heading(history: Sequence[Message]) -> Antecedent | None:
    for index in range(len(history) - 1, -1, -1):
        if label := history[index].topic:
            return Antecedent(label, index)
        if index > len(history) - LOOK_BACK or index == 0:
            text = text_of(history[index])
            if (history[index].role == "user" or index == 0) and is_heading(text):
                return Antecedent(without_qualifier(" ".join(text.split())).strip(' ."“”'), index)
    return None


def _names(history: Sequence[Message], question: Antecedent | None) -> tuple[Antecedent, ...]:
    recent = range(len(history) - 1, max(-1, len(history) - 1 - LOOK_BACK), -1)
    asked = [Antecedent(text_of(history[i]), i) for i in recent if history[i].role == "user"]
    answers = [Antecedent(text_of(history[i]), i) for i in recent if history[i].role != "user"]
    found: dict[str, Antecedent] = {}
    for text, index in [*([question] if question else []), *asked, *answers]:
        for name in names_in(text):
            if not name.opening:
                found.setdefault(name.text, Antecedent(name.text, index))
    return tuple(found.values())


def _answer_to(history: Sequence[Message], question: Antecedent | None) -> Antecedent | None:
    """Return the part of the answer to a question for a name that gives it.

    That is its first line where this is little more than a name; else the sentence that shares most words with the
    question beside the names in it.
    """
    if question is None or not _ASKS_NAME.match(question.text):
        return None
    index = next((i for i in range(question.source + 1, len(history)) if history[i].role == "assistant"), None)
    if index is None:
        return None
    first = (text := text_of(history[index])[:_LONGEST]).partition("\n")[0]
    if len(first.split()) <= MOST_WORDS_OF_A_NAME:
        return Antecedent(first, index)
    named = frozenset(token for name in names_in(question.text) for token in tokens(name.text))
    asked = topic_tokens(question.text) - named or named
    return Antecedent(max(_SENTENCE_END.split(text), key=lambda part: len(asked.intersection(tokens(part)))), index)


def _answered(answer: Antecedent | None, question: Antecedent | None) -> Antecedent | None:
    """Return the first new name of the answer, if it is all that this says or the question asks who."""
    if question is None or answer is None:
        return None
    known = frozenset(tokens(question.text))
    for name in names_in(answer.text):
        if not frozenset(tokens(name.text)) <= known:
            alone = len(answer.text.split()) <= len(name.text.split()) + 2
            who = re.search(r"\bwho", question.text[:12], re.IGNORECASE) and not name.opening
            return Antecedent(name.text, answer.source) if alone or who else None
    return None


def _rivals(said: Antecedent | None) -> tuple[Antecedent, ...]:
    """Return the names that a text puts side by side before anything else."""
    names = [name for name in names_in(said.text) if not name.opening] if said else []
    if said is None or len(names) < 2:
        return ()
    gaps = [said.text[one.start + len(one.text) : other.start] for one, other in pairwise(names)]
    apart = next((place for place, gap in enumerate(gaps) if not _BESIDE.fullmatch(gap)), len(gaps))
    if apart == 0 or (apart < len(gaps) and said.text.rstrip().endswith("?")):
        return ()
    return tuple(Antecedent(name.text, said.source) for name in names[: min(apart + 1, MOST_OPTIONS)])
