"""Two things compared by what their notes say they are: kinds, statements, amounts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from theworld.nodes.answer_with_entity.clauses.facts import countries_in, lead
from theworld.nodes.answer_with_entity.confidence import CONFIDENCE
from theworld.nodes.answer_with_entity.question.topics import Topic, plain
from theworld.nodes.answer_with_entity.reasoned import NO, YES, ReasonedAnswer, Support
from theworld.nodes.answer_with_entity.values.quantities import BARE, Quantity, find_quantities
from theworld.nodes.answer_with_entity.words import word_set
from theworld.state import Candidate
from theworld.text import Sentence, cjk_share, split_sentences, tokens

STATED = 0.75
"""Share of the asked words a note must say for the thing to be so."""
NOT_STATED = 0.5
"""At or below this share the thing is not so, when the other note says all of it."""
CLEAR_LEAD = 0.3
"""By how much one note must say more of the asked words than the other."""

_SAME = re.compile(
    r"\b(same|different|more|less|fewer|most|least|common|share)\b|相同|不同|一[样樣]|同一|更|最|[较較]|共同",
    re.IGNORECASE,
)
_EMPTY_ZH = re.compile(
    r"是不是|是否|[两兩](?:者|[个個人位名部首本座家所条條])|(?:一|哪一?|[这這那])[个個位名种種部首本座家款只隻条條所]?|都|均|皆|同[时時]|[吗嗎谁誰的]|"
    r"位[于於]|[属屬][于於]|[来來]自|[是为為在有和与與跟同]|[还還]是|或者?"
)
"""Chinese words of a comparison that say nothing of the things compared."""


def asked_words(question: str, topics: Sequence[Topic]) -> frozenset[str]:
    """Return the content tokens of a question outside its topics."""
    asked = f" {plain(question)} "
    for topic in topics:
        name = plain(topic.name)
        asked = asked.replace(name if cjk_share(name) else f" {name} ", " ", 1)
    if cjk_share(asked):
        asked = _EMPTY_ZH.sub(" ", asked)
        for country in reversed(countries_in(asked)):
            end = country.end + asked.startswith("人", country.end)
            asked = f"{asked[: country.start]} {asked[country.start : country.end]} {asked[end:]}"
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


def is_kind(question: str, language: str, topic: Topic, evidence: Sequence[Candidate]) -> ReasonedAnswer | None:
    """Answer "is X a Z?" with yes where X's note says in its opening all of what it is; no is never concluded."""
    match = _KIND_ASKED.search(question)
    wanted = asked_words(question, [topic]) - word_set("plain")
    if match is None or not wanted or _SAME.search(question):
        return None
    note = evidence[topic.note]
    opening = next(iter(split_sentences(note.text)), None)
    if opening is None or _NOT.search(opening.text) or not wanted <= set(tokens(opening.text)):
        return None
    support = (Support(topic.note, opening.start, opening.end),)
    return ReasonedAnswer(YES[language], CONFIDENCE["statement"], support, f"stated of {topic.name}")


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


_KIND_ASKED = re.compile(
    r"^\s*(?:is|are|was|were)\b[^,]*?\b(?:an?|the)\b(?!.*\b(?:or|than|that|which|who|when|where|by)\b)|"
    r"(?:是(?!否|不是)|位[于於]|在|[来來]自|[属屬][于於])[^，,]{2,14}[吗嗎][？?]?\s*$|"
    r"(?:是否|是不是)(?:[是为為在]|位[于於]|[来來]自|[属屬][于於])?[^，,]{2,14}[？?]?\s*$",
    re.IGNORECASE,
)
"""Questions whether one thing is of a kind."""
_NOT = re.compile(r"\b(?:not|never|no longer|neither)\b|不是|并非|並非|不再|[没沒]有|从未|從未", re.IGNORECASE)
_AMOUNTS = (
    re.compile(
        r"\b(?P<more>more|most|fewer|fewest|less|least)\s+(?:\w+\s+)?(?P<noun>[a-z]+s|species)\b", re.IGNORECASE
    ),
    re.compile(
        r"(?:的|有|中|哪\w)(?P<noun>[\u4e00-\u9fff]{1,4}?)(?:[数數]量?|人[数數])?(?:更|最|比?[较較])(?P<more>多|少)"
    ),
    re.compile(r"(?:更|最|比?[较較])(?P<more>多|少)(?:的)?(?P<noun>[\u4e00-\u9fff]{1,4}?)(?:[？?]|$)"),
)
_FEWER = frozenset({"fewer", "fewest", "less", "least", "少"})


def asks_amount(question: str) -> bool:
    """Tell whether a question compares amounts."""
    return _asked_amount(question) is not None


def by_amount(question: str, topics: Sequence[Topic], evidence: Sequence[Candidate]) -> ReasonedAnswer | None:
    """Answer "which has more Z?" from numbers both notes state."""
    amount = _asked_amount(question)
    if amount is None:
        return None
    found = [_count_of(amount["noun"], evidence[topic.note].text) for topic in topics]
    fewer = amount["more"].casefold() in _FEWER
    left, right = found
    sign = left[0].compared(right[0]) if left and right else 0
    if left is None or right is None or sign == 0:
        return None
    winner = topics[0] if (sign > 0) != fewer else topics[1]
    support = tuple(Support(topic.note, *place[1]) for topic, place in zip(topics, (left, right), strict=True))
    reason = f"{topics[0].name}: {left[0].stated:g}, {topics[1].name}: {right[0].stated:g}"
    return ReasonedAnswer(winner.name, CONFIDENCE["amount"], support, reason)


def _asked_amount(question: str) -> re.Match[str] | None:
    return next((match for pattern in _AMOUNTS if (match := pattern.search(question))), None)


def _count_of(noun: str, text: str) -> tuple[Quantity, tuple[int, int]] | None:
    """Return the first number counted of a noun, and where: "four members", 四名成员."""
    if noun.isascii():
        beside = re.compile(
            rf"\+?\s+(?:[\w-]+\s+){{0,2}}{re.escape(noun.casefold().removesuffix('s'))}\w*", re.IGNORECASE
        )
    else:
        beside = re.compile(rf"[\u4e00-\u9fff]{{0,3}}?{re.escape(noun)}")
    for quantity in find_quantities(text):
        match = beside.match(text, quantity.end)
        if match and quantity.dimension == BARE:
            return quantity, (quantity.start, match.end())
    return None


_COMMON = re.compile(
    r"\b(in common|both (which|what)|what (type|kind|profession|occupation|genre|role|nationality)|which (type|kind)|"
    r"share (what|the same|which)|both (are|were|hold|held))\b|"
    r"共同|都是(什[么麼]|哪)|什[么麼]([类類]型|[职職][业業]|[种種][类類])",
    re.IGNORECASE,
)
_IS_A = re.compile(r"\b(?:is|was|are|were)\s+(?:an?|the|one of the)?\s*(?P<kind>[^.;]{3,120})", re.IGNORECASE)
_IS_A_ZH = re.compile(
    r"(?:是|为|為|系)(?:一?[个個位名种種部首本座家款只隻条條])?(?P<kind>[^，。；,;]{2,60})|[，,](?P<kind2>[^，。；,;]{2,20})(?=[，。；,;]|$)"
)


def shared_kind(question: str, topics: Sequence[Topic], evidence: Sequence[Candidate]) -> ReasonedAnswer | None:
    """Answer "what do X and Y have in common?" with the longest phrase both leads say after "is a"."""
    if not _COMMON.search(question):
        return None
    left, right = (_kind_words(evidence[topic.note].text) for topic in topics)
    best: tuple[str, ...] = ()
    stems = {tuple(tokens(" ".join(words))) for words in _phrases(right)}
    for words in _phrases(left):
        if tuple(tokens(" ".join(words))) in stems and len(words) > len(best):
            best = words
    if len("".join(best)) < 2:
        return None
    support = tuple(Support(topic.note, 0, len(lead(evidence[topic.note].text))) for topic in topics)
    return ReasonedAnswer(
        ("" if cjk_share(best[0]) else " ").join(best),
        CONFIDENCE["kind in common"],
        support,
        "said of both in their first sentences",
    )


def _kind_words(text: str) -> list[list[str]]:
    """Return the words after "is a" in the first sentence, cut where a phrase must end."""
    opening = split_sentences(text)[:1]
    if opening and cjk_share(opening[0].text):
        plain_text = re.sub(r"[（(][^()（）]*[)）]", "", opening[0].text)
        kinds = [match["kind"] or match["kind2"] for match in _IS_A_ZH.finditer(plain_text)]
        return [list(piece) for kind in kinds for piece in re.split(r"[和与與及兼的、]", kind) if piece]
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
