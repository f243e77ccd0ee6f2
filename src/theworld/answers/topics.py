"""What a question is about: the notes whose titles it names, and the notes a name leads to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from theworld.questions import Question
from theworld.state import Candidate
from theworld.text import entity_key, fold, tokens, without_qualifier
from theworld.text.folding import fold_in_place
from theworld.text.tokens import function_words

MIN_TITLE_CHARACTERS = 2
_APART = re.compile(r"[^\w]+")
_PAIRS = (
    re.compile(
        r"(?:[,:?]|\b(?:first|earlier|later|older|younger|recently|between|is|was|are|were|do|does|did)\b)\s*(?:the )?"
        r"(?P<left>[^,:?]+?),?\s+(?:or|and)\s+(?:the )?(?P<right>[^,:?]+?)"
        r"(?=\s*(?:[,?]|$|\b(?:both|all|each|from|located|have|share|born|in|of|the same)\b))"
    ),
    re.compile(
        r"(?:^|[，,：:？?、是在]|[谁誰]|哪一?[个個位座部家所条條本])(?P<left>[^，,：:？?、]{2,20}?)(?:[和与與跟同]|[还還]是|或者?)"
        r"(?P<right>[^，,：:？?、]{2,20}?)(?=[，,？?]|$|相比|[谁誰哪]|都|是否|是不是|的)"
    ),
)
"""How a question writes two things, where their titles say more than the question does."""
PLAIN_EN = function_words() | frozenset(
    tokens(
        "film movie song album single book novel play musical opera series show person man woman named called band "
        "company come came all not also considered type kind its s 's"
    )
)
"""Words of a question that add no condition."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A note named in the question."""

    note: int
    """Index in the evidence."""
    name: str
    """Its name as the title or the question writes it."""
    start: int
    """Where the question names it, an offset in the plain form of the question."""
    end: int


def plain(text: str) -> str:
    """Return folded text with everything but letters and digits made single spaces, offsets not kept."""
    return _APART.sub(" ", fold(text)).strip()


def named_topics(question: Question, evidence: Sequence[Candidate]) -> list[Topic]:
    """Return the topics a question names, in its order; longer names win over names inside them."""
    asked = f" {question.plain} "
    found: list[Topic] = []
    seen: set[str] = set()
    for index, note in enumerate(evidence):
        for title in dict.fromkeys((note.title, without_qualifier(note.title))):
            form = plain(title)
            at = _find(asked, form) if len(form) >= MIN_TITLE_CHARACTERS else -1
            if at >= 0 and note.document_id not in seen:
                seen.add(note.document_id)
                found.append(Topic(index, title, at, at + len(form)))
    found.sort(key=lambda topic: (topic.start - topic.end, topic.note))
    kept: list[Topic] = []
    for topic in found:
        if not any(topic.start < other.end and other.start < topic.end for other in kept):
            kept.append(topic)
    return sorted(kept, key=lambda topic: topic.start)


def compared_topics(question: Question, named: list[Topic], evidence: Sequence[Candidate]) -> list[Topic]:
    """Return the two topics a question compares, by their titles (`named`) or as it writes them, or nothing."""
    if len(named) == 2:
        return named
    for match in (match for pattern in _PAIRS for match in pattern.finditer(question.simplified)):
        left = note_about(match["left"], evidence)
        right = note_about(match["right"], evidence, frozenset(() if left is None else (left,)))
        if left is not None and right is not None:
            places = zip((left, right), (match.span("left"), match.span("right")), strict=True)
            return [_written(note, question.text[slice(*place)], question) for note, place in places]
    return []


def without_names(question: Question, topics: Sequence[Topic]) -> str:
    """Return a question in simplified Chinese with spaces where it names its topics, every offset as it was."""
    left = question.simplified
    for topic in topics:
        at = fold_in_place(left).find(fold_in_place(topic.name))
        if at >= 0:
            left = left[:at] + " " * len(topic.name) + left[at + len(topic.name) :]
    return left


def note_about(name: str, evidence: Sequence[Candidate], without: frozenset[int] = frozenset()) -> int | None:
    """Return the index of the note about a name: the same title first, then one whose words contain the other's."""
    key = entity_key(name)
    if not key:
        return None
    others = [index for index in range(len(evidence)) if index not in without]
    for index in others:
        if key in {entity_key(evidence[index].title), entity_key(without_qualifier(evidence[index].title))}:
            return index
    words = set(tokens(name))
    for index in others:
        title = set(tokens(without_qualifier(evidence[index].title)))
        if len(words & title) >= 2 and (words <= title or title <= words):
            return index
    return None


def _written(note: int, name: str, question: Question) -> Topic:
    name = name.strip(" 《》〈〉「」『』“”")
    at = max(f" {question.plain} ".find(plain(name)), 0)
    return Topic(note, name, at, at + len(plain(name)))


def _find(asked: str, form: str) -> int:
    """Return where the question has a name as whole words (anywhere in Chinese), else -1."""
    if form.isascii() or " " in form:
        at = asked.find(f" {form} ")
        return at + 1 if at >= 0 else -1
    return asked.find(form)
