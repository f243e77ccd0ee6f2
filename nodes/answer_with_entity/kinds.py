"""Two things compared by what their notes say they are: kinds, statements, amounts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from theworld.nodes.answer_with_entity.confidence import CONFIDENCE
from theworld.nodes.answer_with_entity.facts import lead
from theworld.nodes.answer_with_entity.reasoned import NO, YES, ReasonedAnswer, Support
from theworld.nodes.answer_with_entity.topics import Topic, plain
from theworld.nodes.answer_with_entity.words import word_set
from theworld.state import Candidate
from theworld.text import Sentence, split_sentences, tokens

STATED = 0.75
"""Share of the asked words a note must say for the thing to be so."""
NOT_STATED = 0.5
"""At or below this share the thing is not so, when the other note says all of it."""
CLEAR_LEAD = 0.3
"""By how much one note must say more of the asked words than the other."""

_SAME = re.compile(r"\b(same|different|more|less|fewer|most|least|common|share)\b", re.IGNORECASE)


def asked_words(question: str, topics: Sequence[Topic]) -> frozenset[str]:
    """Return the content tokens of a question outside its topics."""
    asked = f" {plain(question)} "
    for topic in topics:
        asked = asked.replace(f" {plain(topic.name)} ", " ", 1)
    return frozenset(token for token in tokens(asked) if token not in word_set("empty"))


def same_kind(
    question: str, language: str, topics: Sequence[Topic], evidence: Sequence[Candidate]
) -> ReasonedAnswer | None:
    """Answer "are X and Y both Z?" by whether the notes' leads say Z of both."""
    wanted = asked_words(question, topics)
    if not wanted or _SAME.search(question):
        return None
    shares = [_share(wanted, evidence[topic.note], lead(evidence[topic.note].text)) for topic in topics]
    if min(shares) >= STATED:
        text = YES[language]
    elif min(shares) <= NOT_STATED and max(shares) >= STATED:
        text = NO[language]
    else:
        return None
    support = tuple(Support(topic.note, 0, len(lead(evidence[topic.note].text))) for topic in topics)
    reason = f"stated of {topics[0].name}: {shares[0]:.0%}, of {topics[1].name}: {shares[1]:.0%}"
    return ReasonedAnswer(text, CONFIDENCE["statement"], support, reason)


def by_statement(question: str, topics: Sequence[Topic], evidence: Sequence[Candidate]) -> ReasonedAnswer | None:
    """Answer "which is Z, X or Y?" with the one whose note says clearly more of Z."""
    wanted = asked_words(question, topics)
    if not wanted or _SAME.search(question):
        return None
    shares = [_share(wanted, evidence[topic.note], evidence[topic.note].text) for topic in topics]
    if max(shares) < STATED or abs(shares[0] - shares[1]) < CLEAR_LEAD:
        return None
    winner = topics[0] if shares[0] > shares[1] else topics[1]
    sentence = _best_sentence(wanted, evidence[winner.note])
    reason = f"stated of {topics[0].name}: {shares[0]:.0%}, of {topics[1].name}: {shares[1]:.0%}"
    return ReasonedAnswer(
        winner.name, CONFIDENCE["statement"], (Support(winner.note, sentence.start, sentence.end),), reason
    )


_AMOUNT = re.compile(
    r"\b(?P<more>more|most|fewer|fewest|less|least)\s+(?:\w+\s+)?(?P<noun>[a-z]+s|members|species)\b", re.IGNORECASE
)
_WORDS = {
    word: value
    for value, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
}


def asks_amount(question: str) -> bool:
    """Tell whether a question compares amounts."""
    return bool(_AMOUNT.search(question))


def by_amount(question: str, topics: Sequence[Topic], evidence: Sequence[Candidate]) -> ReasonedAnswer | None:
    """Answer "which has more Z?" from numbers both notes state."""
    amount = _AMOUNT.search(question)
    if amount is None:
        return None
    found = [_count_of(amount["noun"], evidence[topic.note].text) for topic in topics]
    fewer = amount["more"].casefold() in {"fewer", "fewest", "less", "least"}
    left, right = found
    if left is None or right is None or left[0] == right[0]:
        return None
    winner = topics[0] if (left[0] > right[0]) != fewer else topics[1]
    support = tuple(Support(topic.note, *place[1]) for topic, place in zip(topics, (left, right), strict=True))
    reason = f"{topics[0].name}: {left[0]:g}, {topics[1].name}: {right[0]:g}"
    return ReasonedAnswer(winner.name, CONFIDENCE["amount"], support, reason)


def _count_of(noun: str, text: str) -> tuple[float, tuple[int, int]] | None:
    stem = re.escape(noun.casefold().removesuffix("s"))
    number = rf"(?P<number>\d[\d,]*|{'|'.join(_WORDS)})"
    match = re.search(rf"\b{number}\+?\s+(?:[\w-]+\s+){{0,2}}{stem}\w*", text, re.IGNORECASE)
    if match is None:
        return None
    value = match["number"].casefold()
    return float(_WORDS[value] if value in _WORDS else value.replace(",", "")), match.span()


_COMMON = re.compile(
    r"\b(in common|both (which|what)|what (type|kind|profession|occupation|genre|role|nationality)|which (type|kind)|"
    r"share (what|the same|which)|both (are|were|hold|held))\b",
    re.IGNORECASE,
)
_IS_A = re.compile(r"\b(?:is|was|are|were)\s+(?:an?|the|one of the)?\s*(?P<kind>[^.;]{3,120})", re.IGNORECASE)


def shared_kind(question: str, topics: Sequence[Topic], evidence: Sequence[Candidate]) -> ReasonedAnswer | None:
    """Answer "what do X and Y have in common?" with the longest phrase both leads say after "is a"."""
    if not _COMMON.search(question):
        return None
    left, right = (_kind_words(evidence[topic.note].text) for topic in topics)
    best: tuple[str, ...] = ()
    stems = {tuple(tokens(" ".join(words))): words for words in _phrases(right)}
    for words in _phrases(left):
        if tuple(tokens(" ".join(words))) in stems and len(words) > len(best):
            best = words
    if not best:
        return None
    support = tuple(Support(topic.note, 0, len(lead(evidence[topic.note].text))) for topic in topics)
    return ReasonedAnswer(
        " ".join(best), CONFIDENCE["kind in common"], support, "said of both in their first sentences"
    )


def _kind_words(text: str) -> list[list[str]]:
    """Return the words after "is a" in the first sentence, cut where a phrase must end."""
    opening = split_sentences(text)[:1]
    match = _IS_A.search(re.sub(r"[(][^()]*[)]", " ", opening[0].text)) if opening else None
    if match is None:
        return []
    pieces = re.split(r",|\band\b|\b(?:of|in|from|by|who|that|which|with|for|best|known|to|on|at)\b", match["kind"])
    return [piece.split() for piece in pieces if piece.split()]


def _phrases(pieces: list[list[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the endings of noun phrases, longest first: the head noun is always in."""
    for words in pieces:
        for begin in range(len(words)):
            phrase = tuple(words[begin:])
            if not set(tokens(" ".join(phrase))) <= word_set("empty"):
                yield phrase


def _share(wanted: frozenset[str], note: Candidate, text: str) -> float:
    said = set(tokens(text)) | set(tokens(note.title))
    return len(wanted & said) / len(wanted)


def _best_sentence(wanted: frozenset[str], note: Candidate) -> Sentence:
    sentences = split_sentences(note.text) or [Sentence(note.text, 0, len(note.text))]
    return max(sentences, key=lambda sentence: (len(wanted & set(tokens(sentence.text))), -sentence.start))
