"""What an English conversation is about at its end: its topic, and the names and phrases of the last turns."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from theworld.references.phrases import load_table

_CAPITAL = r"[A-Z][\w.&-]*(?:['’](?!s\b)\w+)?"
_GAP = r"[^\S\n]+"
"""A name ends with its line: what is shown one below the other is apart."""
_NAME = re.compile(
    rf"(?<![\w'’]){_CAPITAL}(?:(?:{_GAP}(?:of|de|van|von|der|la|le|du|del|the|for|&))*{_GAP}(?:{_CAPITAL}|\d+\b))*"
)
_QUOTED = re.compile(r"[\"“]([^\"“”]{2,60})[\"”]|‘([^‘’]{2,60})’")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\"“(]\s*)$")
_PREDICATE = re.compile(
    r"['’]s\b|\s+(?:is|was|were|are|has|had|have|did|does|do|can|could|will|would|also|then|now|later|never|and\s+[A-Z]|[a-z]+ed|won"
    r"|made|took|said|says|began|became|went|gave|wrote|left|met|found|told|sought|led|played|sang|grew|thus|still|once)\b"
)
_LONGEST = 4000


class Name(NamedTuple):
    """A name in a text."""

    text: str
    start: int
    opening: bool
    """A single word that may be capitalised only because it opens a sentence."""


@lru_cache(maxsize=1)
def _not_names() -> frozenset[str]:
    return frozenset(map(str, load_table("english")["not_names"]))


@lru_cache(maxsize=1)
def _things() -> frozenset[str]:
    return frozenset(load_table("english")["things"])


@lru_cache(maxsize=1)
def _groups() -> frozenset[str]:
    return frozenset(load_table("english")["groups"])


@lru_cache(maxsize=4096)
def names_in(text: str) -> tuple[Name, ...]:
    """Return the names of a text from left to right; one that merely opens a sentence is marked as `opening`."""
    text = text[:_LONGEST]
    found = [
        Name(body.strip(" ,."), match.start(), False)
        for match in _QUOTED.finditer(text)
        if (body := match.group(1) or match.group(2)) and body[:1].isupper()
    ]
    taken = [(name.start, name.start + len(name.text) + 2) for name in found]
    for match in _NAME.finditer(text):
        if any(start <= match.start() < end for start, end in taken):
            continue
        if name := _trimmed(match.group(), match.start(), text):
            found.append(name)
    return tuple(sorted(found, key=lambda name: name.start))


def _trimmed(phrase: str, start: int, text: str) -> Name | None:
    opening = bool(_SENTENCE_START.search(text[max(0, start - 3) : start]))
    words = phrase.split()
    while words and _names_nothing(words[0]) and not (words[0] == "The" and len(words) > 1 and not opening):
        start += len(words[0]) + 1
        opening = False
        words = words[1:]
    while words and (_names_nothing(words[-1]) or words[-1] == "&"):
        words = words[:-1]
    name = " ".join(words).rstrip(".,-&'’")
    if len(name) < 2 or name.isdecimal():
        return None
    opening = opening and len(words) == 1 and not _PREDICATE.match(text, start + len(name))
    return Name(name, start, opening)


def _names_nothing(word: str) -> bool:
    bare = word.lower().strip(".,").replace("’", "'")
    return bare in _not_names() or bare.split("'")[0] in {"i", "it", "he", "she", "they", "we", "you", "don", "didn"}


@lru_cache(maxsize=8192)
def looks_like_person(name: str) -> bool:
    """Return whether a name has the shape of a person's: two to four capitalised words, none of a thing."""
    words = name.replace(".", " ").split()
    if not 1 <= len(words) <= 5 or any(c.isdigit() for c in name) or name.isupper() or not words[-1][:1].isupper():
        return False
    return not any(word.lower().strip("'\"(),") in _things() | _groups() for word in words) and "(" not in name


@lru_cache(maxsize=8192)
def looks_like_group(name: str) -> bool:
    """Return whether a name has the shape of a group's: a plural, a team, "The ...", "A & B"."""
    words = name.lower().split()
    if not words:
        return False
    plural = words[-1].endswith("s") and not words[-1].endswith(("ss", "us", "is"))
    return (words[0] == "the" and plural) or "&" in words or any(w.strip("()") in _groups() for w in words)
