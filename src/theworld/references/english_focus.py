"""What an English conversation is about at its end: its topic, and the names and phrases of the last turns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from theworld.references.history import text_of, topic_tokens
from theworld.references.phrases import load_table
from theworld.state import Message
from theworld.text import tokens, without_qualifier

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
_PLACED = re.compile(r"\b(?:in|at|near|into|throughout|across)\s+(?:the\s+)?$", re.IGNORECASE)
_LONGEST = 4000


class Name(NamedTuple):
    """A name in a text."""

    text: str
    start: int
    quoted: bool
    """In quotation marks: a title."""
    opening: bool
    """A single word that may be capitalised only because it opens a sentence."""
    placed: bool
    """After "in" or "at": a place or a time rather than a person."""


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
        Name(body.strip(" ,."), match.start(), True, False, False)
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
    return Name(name, start, False, opening, bool(_PLACED.search(text[max(0, start - 16) : start])))


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


Nature = Literal["person", "group", "thing", "unknown"]
"""Which pronouns may stand for a topic; `unknown` takes any."""

LOOK_BACK = 24
"""Messages that are looked at for names, the last ones; and the first two for a heading."""
_ASKED_ABOUT = re.compile(
    r"^\W*(?:(?:who|what)(?:\s+(?:is|was|are|were)|['’]s)"
    r"|(?:can you\s+|please\s+|could you\s+)?(?:tell me|talk)\s+(?:more\s+)?about|(?:explain|describe|introduce))\s+"
    r"(?P<topic>[^?.!,]{2,60}?)\s*[?.!]*\s*$",
    re.IGNORECASE,
)
ASKED_WEIGHT, ANSWERED_WEIGHT = 2.0, 0.5
"""Weight of the first name of a question and of a name in an answer; 1 for another name in a question."""
LONGEST_COUNTED = 2000
"""Characters of a message in which pronouns are counted."""
FADING = 0.8
"""Weight kept per turn back."""
MOST_OPTIONS = 5
_ASKS_NAME = re.compile(
    r"^\W*(?:(?:and|so|but|then)\s+)?(?:(?:by|to|for|with|in|on|at)\s+)?(?:who|whom|which|what)\b"
    r"(?!\s+(?:is|was|are|were)\s+(?!the\b|a\b|an\b)|\s+(?:do|does|did|has|have|had|can|could|will|would|kinds?|happen\w*)\b|['’]s)",
    re.IGNORECASE,
)
_ASKS_THING = re.compile(
    r"^\W*(?:(?:and|so|but|then)\s+)?(?:who|whom|which|what|where)\b(?!\s+(?:kinds?|happen\w*)\b)", re.IGNORECASE
)
_ARTICLE = re.compile(r"^\W*(?:(?:in|at|by|from)\s+)?(?:the|an?)?\s*", re.IGNORECASE)
_BESIDE = re.compile(
    r"[\"”’]?\s*(?:,|and|or|vs\.?|versus|with|to|from|,\s*(?:and|or))\s*(?:the\s+)?[\"“‘]?", re.IGNORECASE
)
_DEPENDENT = frozenset(
    "it he she they that this his her their its those these you your there him them some any one i my me we us our "
    "wrong best most first last next with about for in on at by from called named like doing saying name".split()
)
_PRONOUNS: dict[Nature, re.Pattern[str]] = {
    "person": re.compile(r"\b(?:he|him|his|she|her|hers)\b", re.IGNORECASE),
    "group": re.compile(r"\b(?:they|them|their)\b", re.IGNORECASE),
    "thing": re.compile(r"\b(?:it|its)\b", re.IGNORECASE),
}


class Antecedent(NamedTuple):
    """What an expression may stand for, and the message it comes from."""

    text: str
    source: int


class AnsweredName(NamedTuple):
    """The name that an answer gives, and the question that asked for it."""

    name: Antecedent
    question: str


@dataclass(frozen=True)
class Focus:
    """The state of a conversation, as far as pronouns need it."""

    topic: Antecedent | None
    given: bool
    """Whether the topic was stated as such: a heading or a label."""
    nature: Nature
    section: Antecedent | None
    question: str
    answer: str
    names: tuple[Antecedent, ...]
    """Names of the last turns, the most recent message first, each once, the topic left out."""
    persons: tuple[Antecedent, ...]
    """Names of the last turns that may be persons', the weightiest first."""
    asked_about: tuple[Antecedent, ...]
    """What the last questions were about, one name a question, the latest first."""
    answered: AnsweredName | None
    """The name that the last answer gives, where the last question asks for one that it does not name itself."""
    rivals: tuple[Antecedent, ...]
    """Names that the last question puts side by side ("A and B", "A or B")."""
    tokens: frozenset[str]
    """Index tokens of the topic: a query that holds one of them names its topic itself."""
    section_tokens: frozenset[str]
    """Index tokens of the names in the section."""
    person_seen: bool
    """Whether anyone was called he or she in the last turns."""


@lru_cache(maxsize=1)
def _openers() -> frozenset[str]:
    return frozenset(map(str, load_table("english")["openers"]))


def is_heading(text: str) -> bool:
    """Return whether a message merely names a topic, as a title does ("Ada Lovelace")."""
    stripped = text.strip()
    words = stripped.split()
    if (
        not 1 <= len(words) <= 14
        or stripped.endswith(("?", "!"))
        or (stripped.endswith(".") and not stripped.endswith("..."))
    ):
        return False
    return (stripped[0].isupper() or stripped[0] in "\"'“‘" or stripped[0].isdigit()) and words[
        0
    ].lower() not in _openers()


def focus_of(history: Sequence[Message]) -> Focus:
    """Return what the conversation is about after its last message."""
    recent = range(max(0, len(history) - LOOK_BACK), len(history))
    weighed = _weigh(history, recent)
    topic, section = _topic(history)
    given = topic is not None
    if topic is None and weighed:
        topic = weighed[0].antecedent
    question = next((text_of(history[i]) for i in reversed(recent) if history[i].role == "user"), "")
    answer = next((text_of(history[i]) for i in reversed(recent[-3:]) if history[i].role == "assistant"), "")
    if section is not None and answer == section.text:
        answer = ""
    known = topic_tokens(topic.text) or frozenset(tokens(topic.text)) if topic else frozenset()
    names = tuple(_names(history, recent, known))
    return Focus(
        topic=topic,
        given=given,
        nature=_nature(topic, history, recent),
        persons=tuple(w.antecedent for w in weighed if w.person),
        asked_about=_asked_about(history, recent),
        answered=None if given else _answered(history, recent),
        rivals=_rivals(history, recent),
        section=section,
        question="" if topic is not None and question == text_of(history[topic.source]) else question,
        answer=answer,
        names=names,
        tokens=frozenset(token for token in known if not token.isdecimal()) or known,
        section_tokens=_named_in(section),
        person_seen=any(_pronoun_counts(text_of(history[i]))[0] for i in recent),
    )


def _named_in(section: Antecedent | None) -> frozenset[str]:
    named = " ".join(name.text for name in names_in(section.text) if not name.opening) if section else ""
    return frozenset(token for token in topic_tokens(named) if not token.isdecimal())


def _topic(history: Sequence[Message]) -> tuple[Antecedent | None, Antecedent | None]:
    for index in range(len(history) - 1, -1, -1):
        if label := history[index].topic:
            return Antecedent(label, index), None
        if index > len(history) - LOOK_BACK or index == 0:
            text = text_of(history[index])
            if (history[index].role == "user" or index == 0) and is_heading(text):
                return Antecedent(_clean(text), index), _section(history, index)
    return None, None


def _section(history: Sequence[Message], index: int) -> Antecedent | None:
    if index + 1 < len(history) and index == 0:
        text = text_of(history[1])
        if is_heading(text):
            return Antecedent(text.strip(), 1)
    return None


class _Weighed(NamedTuple):
    antecedent: Antecedent
    person: bool


def _weigh(history: Sequence[Message], recent: range) -> list[_Weighed]:
    """Return the names of the last turns, the weightiest first: those asked about, often and lately named."""
    weights: dict[str, float] = {}
    first: dict[str, _Weighed] = {}
    turns = 0
    for index in reversed(recent):
        text, asked = text_of(history[index]), history[index].role == "user"
        for place, name in enumerate(_names_and_subject(text, asked)):
            weight = ASKED_WEIGHT if place == 0 and asked else 1.0 if asked else ANSWERED_WEIGHT
            weights[name.text] = weights.get(name.text, 0.0) + weight * FADING**turns
            person = looks_like_person(name.text) and not (name.placed or name.quoted)
            first.setdefault(name.text, _Weighed(Antecedent(_clean(name.text), index), person))
        turns += asked
    whole = {name: sum(w for other, w in weights.items() if other in name) for name in weights}
    return [first[name] for name in sorted(whole, key=lambda name: -whole[name])]


@lru_cache(maxsize=4096)
def _names_and_subject(text: str, asked: bool) -> list[Name]:
    names = [name for name in names_in(text) if not name.opening]
    match = _ASKED_ABOUT.match(text) if asked and not names else None
    if match is None:
        return names
    words = match["topic"].split()
    if words[0].lower() in {"the", "a", "an"}:
        words = words[1:]
    if not 1 <= len(words) <= 4 or any(word.lower() in _DEPENDENT for word in words):
        return names
    return [Name(" ".join(words), match.start("topic"), False, False, False)]


def _asked_about(history: Sequence[Message], recent: range) -> tuple[Antecedent, ...]:
    found: dict[str, Antecedent] = {}
    for index in reversed(recent):
        if history[index].role == "user":
            for name in _names_and_subject(text_of(history[index]), True)[:1]:
                found.setdefault(name.text, Antecedent(_clean(name.text), index))
    return tuple(found.values())[:MOST_OPTIONS]


def _answered(history: Sequence[Message], recent: range) -> AnsweredName | None:
    """Return the first new name of an answer to "who", "which" or "what is the ...", or the name in its first line."""
    asked = next((i for i in reversed(recent) if history[i].role == "user"), None)
    said = next((i for i in range(asked or 0, len(history)) if history[i].role == "assistant"), None)
    if asked is None or said is None:
        return None
    question, answer = text_of(history[asked]), text_of(history[said])
    known = frozenset(tokens(question))
    name = next((name.text for name in names_in(answer) if not _name_tokens(name.text) <= known), None)
    if name is None:
        return None
    alone = _ARTICLE.sub("", answer.partition("\n")[0]).strip(" .!") == name
    if not (_ASKS_NAME.match(question) or (alone and _ASKS_THING.match(question))):
        return None
    return AnsweredName(Antecedent(_clean(name), said), question)


def _rivals(history: Sequence[Message], recent: range) -> tuple[Antecedent, ...]:
    index = next((i for i in reversed(recent) if history[i].role == "user"), None)
    if index is None:
        return ()
    text = text_of(history[index])
    names = [name for name in names_in(text) if not name.opening]
    between = [text[a.start + len(a.text) : b.start] for a, b in pairwise(names)]
    if len(names) < 2 or not all(_BESIDE.fullmatch(gap) for gap in between):
        return ()
    return tuple(Antecedent(name.text, index) for name in names[:MOST_OPTIONS])


@lru_cache(maxsize=8192)
def _clean(title: str) -> str:
    text = without_qualifier(" ".join(title.split())).strip(' ."“”')
    first, _, rest = text.partition(", ")
    return first if rest and looks_like_person(first) and len(first.split()) > 1 else text


def _nature(topic: Antecedent | None, history: Sequence[Message], recent: range) -> Nature:
    if topic is None:
        return "thing"
    said = [_pronoun_counts(text_of(history[i])) for i in recent]
    counts: dict[Nature, int] = {nature: sum(each[k] for each in said) for k, nature in enumerate(_PRONOUNS)}
    raw = text_of(history[topic.source])
    if looks_like_person(topic.text) and "(" not in raw:
        return "person" if counts["person"] else _most_used(counts, 1.0, "unknown")
    if looks_like_group(topic.text) or "(band" in raw.lower():
        return "group"
    return "person" if counts["person"] > 2 * (counts["thing"] + counts["group"]) else _most_used(counts, 2.0, "thing")


@lru_cache(maxsize=4096)
def _pronoun_counts(text: str) -> tuple[int, ...]:
    return tuple(len(pattern.findall(text[:LONGEST_COUNTED])) for pattern in _PRONOUNS.values())


def _most_used(counts: dict[Nature, int], margin: float, neither: Nature) -> Nature:
    if not (counts["group"] or counts["thing"]):
        return neither
    return "group" if counts["group"] > margin * counts["thing"] + (margin - 1) else "thing"


@lru_cache(maxsize=8192)
def _name_tokens(name: str) -> frozenset[str]:
    return frozenset(tokens(name))


def _names(history: Sequence[Message], recent: range, known: frozenset[str]) -> list[Antecedent]:
    found: dict[str, Antecedent] = {}
    for index in reversed(recent):
        if index < 2 and is_heading(text_of(history[index])):
            continue
        for name in names_in(text_of(history[index])):
            if not (name.opening or name.text in found or known & _name_tokens(name.text)):
                found[name.text] = Antecedent(name.text, index)
    return list(found.values())
