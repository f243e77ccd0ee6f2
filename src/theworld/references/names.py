"""Names in English text, told by their capitals, and what shape they have."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from theworld.references.config import load_table
from theworld.text.tokens import function_words

LONGEST_TEXT = 4000
"""Characters of a text in which names are looked for."""
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
_HEADING = re.compile(r"\s*(?P<first>[\"'“‘]?[A-Z0-9]\S*)(?:\s+\S+){0,13}(?<![?!.])(?:\.\.\.)?\s*")


class Name(NamedTuple):
    """A name in a text."""

    text: str
    start: int
    opening: bool
    """A single word that may be capitalised only because it opens a sentence."""


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(load_table("english")[name])


@lru_cache(maxsize=4096)
def names_in(text: str) -> tuple[Name, ...]:
    """Return the names of a text from left to right; one that merely opens a sentence is marked as `opening`."""
    text, found = text[:LONGEST_TEXT], []
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


def sure_names(text: str) -> list[Name]:
    """Return the names of a text but for those that may be capitalised only as the first word of a sentence."""
    return [name for name in names_in(text) if not name.opening]


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
    title = _HEADING.fullmatch(text)
    return title is not None and title["first"].lower() not in _words("openers")
