"""What an English conversation is about at its end: the heading it has, the last question's frame, names by salience.

The last question is read in its stand-alone form, so that a chain of pronouns keeps its antecedent. Names count from
the last question back: those asked about before those that answers mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from theworld.references.context import LOOK_BACK, Antecedent
from theworld.references.history import text_of, topic_tokens
from theworld.references.names import looks_like_group, looks_like_person, names_in
from theworld.references.phrases import load_table
from theworld.state import Message
from theworld.text import tokens, without_qualifier

Nature = Literal["person", "group", "thing", "unknown"]
"""Which pronouns may stand for a heading; `unknown` takes any."""

LONGEST_COUNTED = 2000
"""Characters of a message in which pronouns are counted."""
MOST_OPTIONS = 5
_ASKS_NAME = re.compile(r"^\W*(?:(?:and|so|but|then)\s+)?(?:\w+\s+)?(?:who|whom|which|what)\b", re.IGNORECASE)
_BESIDE = re.compile(r"[\"”’]?\s*(?:,|and|or|vs\.?|versus|,\s*(?:and|or))\s*(?:the\s+)?[\"“‘]?", re.IGNORECASE)
_PRONOUNS: dict[Nature, re.Pattern[str]] = {
    "person": re.compile(r"\b(?:he|him|his|she|her|hers)\b", re.IGNORECASE),
    "group": re.compile(r"\b(?:they|them|their)\b", re.IGNORECASE),
    "thing": re.compile(r"\b(?:it|its)\b", re.IGNORECASE),
}


class Focus(NamedTuple):
    """The state of a conversation, as far as follow-ups need it."""

    heading: Antecedent | None
    """The topic where it was stated as such, by a heading or a label."""
    nature: Nature
    """What the heading names."""
    question: Antecedent | None
    """The last question, made to stand alone."""
    answered: Antecedent | None
    """The name that the last answer gives to a question for one."""
    names: tuple[Antecedent, ...]
    """Names of the last turns, the most salient first, each once."""
    rivals: tuple[Antecedent, ...]
    """Names that the last question puts side by side ("A and B", "A or B")."""
    tokens: frozenset[str]
    """Index tokens of the heading: a query that holds one of them names its topic itself."""


def is_heading(text: str) -> bool:
    """Return whether a message merely names a topic, as a title does ("Ada Lovelace")."""
    text = text.strip()
    words = text.split()
    if not 1 <= len(words) <= 14 or text.endswith(("?", "!")) or (text.endswith(".") and not text.endswith("...")):
        return False
    opens = text[0].isupper() or text[0].isdigit() or text[0] in "\"'“‘"
    return opens and words[0].lower() not in load_table("english")["openers"]


def focus_of(history: Sequence[Message], question: Antecedent | None) -> Focus:
    """Return what the conversation is about after its last message; `question` is its last one made to stand alone."""
    recent = range(max(0, len(history) - LOOK_BACK), len(history))
    heading = _heading(history)
    known = topic_tokens(heading.text) or frozenset(tokens(heading.text)) if heading else frozenset()
    return Focus(
        heading=heading,
        nature=_nature(heading, history, recent),
        question=question,
        answered=None if heading else _answered(history, question),
        names=tuple(_names(history, recent, question, known)),
        rivals=_rivals(question) or (() if heading else _rivals(_answer_to(history, question))),
        tokens=frozenset(token for token in known if not token.isdecimal()) or known,
    )


def _heading(history: Sequence[Message]) -> Antecedent | None:
    for index in range(len(history) - 1, -1, -1):
        if label := history[index].topic:
            return Antecedent(label, index)
        if index > len(history) - LOOK_BACK or index == 0:
            text = text_of(history[index])
            if (history[index].role == "user" or index == 0) and is_heading(text):
                return Antecedent(_clean(text), index)
    return None


def _names(
    history: Sequence[Message], recent: range, question: Antecedent | None, known: frozenset[str]
) -> Iterator[Antecedent]:
    asked = [Antecedent(text_of(history[i]), i) for i in reversed(recent) if history[i].role == "user"]
    answers = [Antecedent(text_of(history[i]), i) for i in reversed(recent) if history[i].role != "user"]
    seen: set[str] = set()
    for text, index in [*([question] if question else []), *asked, *answers]:
        if index < 2 and is_heading(text_of(history[index])):
            continue
        for name in names_in(text):
            if not (name.opening or name.text in seen or known & _name_tokens(name.text)):
                seen.add(name.text)
                yield Antecedent(_clean(name.text), index)


@lru_cache(maxsize=8192)
def _name_tokens(name: str) -> frozenset[str]:
    return frozenset(tokens(name))


def _answered(history: Sequence[Message], question: Antecedent | None) -> Antecedent | None:
    """Return the first new name of the answer to "who", "which" or "what", if it comes in the first line."""
    answer = _answer_to(history, question)
    if question is None or answer is None:
        return None
    known, (line, index) = frozenset(tokens(question.text)), answer
    new = [name for name in names_in(line) if not _name_tokens(name.text) <= known]
    alone = bool(new) and len(line.split()) <= len(new[0].text.split()) + 2
    who = re.search(r"\bwho", question.text[:12], re.IGNORECASE) and bool(new) and not new[0].opening
    return Antecedent(_clean(new[0].text), index) if alone or who else None


def _answer_to(history: Sequence[Message], question: Antecedent | None) -> Antecedent | None:
    """Return the first line of the answer to a question for a name."""
    said = range(question.source + 1, len(history)) if question else ()
    index = next((i for i in said if history[i].role == "assistant"), None)
    if question is None or index is None or not _ASKS_NAME.match(question.text):
        return None
    return Antecedent(text_of(history[index]).partition("\n")[0], index)


def _rivals(said: Antecedent | None) -> tuple[Antecedent, ...]:
    """Return the names that a text puts side by side before anything else."""
    names = [name for name in names_in(said.text) if not name.opening] if said else []
    beside = [names[0]] if names else []
    for before, name in pairwise(names):
        if not said or not _BESIDE.fullmatch(said.text[before.start + len(before.text) : name.start]):
            break
        beside.append(name)
    whole = said is not None and (len(beside) == len(names) or not said.text.rstrip().endswith("?"))
    return (
        tuple(Antecedent(n.text, said.source) for n in beside[:MOST_OPTIONS]) if said and whole and beside[1:] else ()
    )


@lru_cache(maxsize=8192)
def _clean(title: str) -> str:
    text = without_qualifier(" ".join(title.split())).strip(' ."“”')
    first, _, rest = text.partition(", ")
    return first if rest and looks_like_person(first) and len(first.split()) > 1 else text


def _nature(heading: Antecedent | None, history: Sequence[Message], recent: range) -> Nature:
    """Return what a heading names: by its shape, and by the pronouns the conversation uses."""
    if heading is None:
        return "thing"
    said = [_pronoun_counts(text_of(history[i])) for i in recent]
    counts: dict[Nature, int] = {nature: sum(each[k] for each in said) for k, nature in enumerate(_PRONOUNS)}
    raw = text_of(history[heading.source])
    if looks_like_person(heading.text) and "(" not in raw:
        return "person" if counts["person"] else _most_used(counts, 1.0, "unknown")
    if looks_like_group(heading.text) or "(band" in raw.lower():
        return "group"
    return "person" if counts["person"] > 2 * (counts["thing"] + counts["group"]) else _most_used(counts, 2.0, "thing")


@lru_cache(maxsize=4096)
def _pronoun_counts(text: str) -> tuple[int, ...]:
    return tuple(len(pattern.findall(text[:LONGEST_COUNTED])) for pattern in _PRONOUNS.values())


def _most_used(counts: dict[Nature, int], margin: float, neither: Nature) -> Nature:
    if not (counts["group"] or counts["thing"]):
        return neither
    return "group" if counts["group"] > margin * counts["thing"] + (margin - 1) else "thing"
