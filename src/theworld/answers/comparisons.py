"""Questions that compare two named notes: which came first, which is more, whether both are so.

Which came first follows from the dates of the notes, which is higher or has more from their quantities, whether both
are from one country from their countries, whether both are of a kind from the first sentences of both. None where the
notes do not state enough.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from theworld.answers.confidence import NO, YES, FoundAnswer, Support, stated_answer
from theworld.answers.facts import begin_of, countries_in, country_of, lifespan
from theworld.answers.relations import relation_values
from theworld.answers.topics import PLAIN_EN, Topic, compared_topics, note_about, plain, without_names
from theworld.questions import Question
from theworld.questions.relations import Relation, asked_relations
from theworld.state import Candidate
from theworld.text import Language, cjk_share, split_sentences, tokens
from theworld.text.dates import DateSpan
from theworld.text.quantities import Quantity, find_quantities, unit_of
from theworld.text.tokens import function_words

STATED, NOT_STATED = 0.75, 0.5
"""Shares of the asked words: a thing is so from the first on, and not so up to the second where the other one is."""
_FIRST = re.compile(
    r"\b(?:first|earlier|earliest|before|older|oldest|elder|eldest)\b|先|早|年长|[更较比]老|大", re.IGNORECASE
)
_LAST = re.compile(
    r"\b(?:later|last|latest|after|(?:more |most )?recent(?:ly)?|younger|youngest|newer|newest)\b|后|晚|年轻|新|小",
    re.IGNORECASE,
)
_DEATH = re.compile(r"\b(?:die[sd]?|death|passed away)\b|去世|逝世|过世|病逝|死", re.IGNORECASE)
_BIRTH = re.compile(r"\b(?:born|birth|younger|youngest|elder|eldest)\b|出生|诞生|年[长轻纪龄]|岁", re.IGNORECASE)
_OLDER = re.compile(r"\bold(?:er|est)\b|[更较比]老", re.IGNORECASE)
_BEGIN = re.compile(
    r"\b(?:c[ao]me|releas\w*|publish\w*|found\w*|form\w*|establish\w*|open\w*|creat\w*|start\w*|began|launch\w*|premier\w*|"
    r"made|aired|built|newer|newest|recent)\b|上映|[发创][行布售立办建刊作]|出版|成立|建[成立造]|问世|首播|开[放幕通业播办]|通车|落成|启[用动]|推出|"
    r"设立|完[成工]|竣工|历史|新",
    re.IGNORECASE,
)
_HOW_MUCH = re.compile(r"\bhow (?:much|many|old)\b|多少|几", re.IGNORECASE)
_LONGER = re.compile(r"\b(?:high|tall|long|deep|wid)(?:er|est)\b|[更最较][高长深宽]", re.IGNORECASE)
_SHORTER = re.compile(r"\b(?:short|low|shallow|narrow)(?:er|est)\b|[更最较][低短浅窄矮]", re.IGNORECASE)
_MORE = re.compile(
    r"\b(?:more|most|(?P<less>fewer|fewest))\s+(?P<noun>[a-z]+s)\b|(?P<noun_zh>[\u4e00-\u9fff]{2}?)[更最较](?:多|少)",
    re.IGNORECASE,
)
REACH = 24
"""Characters behind a number in which what it counts stands."""
_SAME_COUNTRY = re.compile(
    r"\bsame (?:country|nationality)\b|\bnationality\b[^?]*\bsame\b|\bshare\b[^?]*\b(?:nationality|country)\b|"
    r"(?:同一|相同)[个的]?国|国籍(?:是否)?(?:相同|一样)",
    re.IGNORECASE,
)
_YES_NO = re.compile(r"^\s*(?:is|are|was|were|do|does|did|has|have|had|can)\b|吗[？?]?\s*$|是否|是不是", re.IGNORECASE)
_OTHERWISE = re.compile(
    r"\b(?:same|different|more|less|fewer|than|common|share|or)\b|同|一样|更|最|比|较|还是", re.IGNORECASE
)
"""Words of questions that ask more than whether both things are so."""
_EMPTY_ZH = re.compile(r"是不是|是否|两[者个位名部座家]|[都均皆吗的是为在有和与跟]|位于|属于|来自|一[个位名种部座家]")


def answer_comparison(question: Question, named: list[Topic], evidence: Sequence[Candidate]) -> FoundAnswer | None:
    """Return the answer to a question that compares two things, None when the notes do not state enough.

    `named` are the topics it names.
    """
    topics = compared_topics(question, named, evidence)
    if len(topics) != 2 or _HOW_MUCH.search(question.simplified):
        return None
    asked, language = without_names(question, topics), question.language
    links = [one.relation for one in asked_relations(asked, language) if one.relation.link]
    if _SAME_COUNTRY.search(asked):
        return _same_country(links, language, topics, evidence)
    if _YES_NO.search(question.simplified) and not _OTHERWISE.search(asked):
        return _both_are(asked, language, topics, evidence)
    return _by_order(asked, links, topics, evidence) or _by_quantity(asked, topics, evidence)


def _by_order(
    asked: str, links: Sequence[Relation], topics: Sequence[Topic], evidence: Sequence[Candidate]
) -> FoundAnswer | None:
    """Return which of two came first or last, by births, deaths or beginnings."""
    latest = bool(_LAST.search(asked))
    if latest == bool(_FIRST.search(asked)):
        return None
    by_death = bool(_DEATH.search(asked))
    by_birth = not by_death and (bool(_BIRTH.search(asked)) or _are_older(asked, links, topics, evidence))
    if not (by_birth or by_death or _BEGIN.search(asked) or _OLDER.search(asked)):
        return None
    subjects = [_subject(links, topic, evidence, person=by_birth or by_death) for topic in topics]
    texts = [evidence[index].text if index is not None else "" for index in subjects]
    if by_birth or by_death:
        lives = [lifespan(text) for text in texts]
        moments = [life.birth if by_birth else life.death for life in lives]
    else:
        moments = [begin_of(text) for text in texts]
    left, right = moments
    if left is None or right is None or _tied(left, right):
        return None
    winner = 0 if (left.moment < right.moment) != latest else 1
    dates = [Support(i, d.start, d.end) for i, d in zip(subjects, moments, strict=True) if d and i is not None]
    support = [dates[winner], dates[1 - winner]]
    if topics[winner].note != support[0].note:
        support.insert(0, _opening(topics[winner].note, evidence))
    reason = f"{topics[0].name} {left.year}, {topics[1].name} {right.year}"
    return stated_answer(topics[winner].name, support, reason, links=0)


def _are_older(asked: str, links: Sequence[Relation], topics: Sequence[Topic], evidence: Sequence[Candidate]) -> bool:
    """Return whether "older" is said of people: those who directed or sang, or the topics when both were born."""
    if not _OLDER.search(asked):
        return False
    return bool(links) or all(lifespan(evidence[topic.note].text).birth for topic in topics)


def _tied(left: DateSpan, right: DateSpan) -> bool:
    """Return whether two moments cannot be distinguished at the precision both have."""
    parts = 1 + (left.month > 0 and right.month > 0) + (left.day > 0 and right.day > 0)
    return left.moment[:parts] == right.moment[:parts]


def _same_country(
    links: Sequence[Relation], language: Language, topics: Sequence[Topic], evidence: Sequence[Candidate]
) -> FoundAnswer | None:
    subjects = [_subject(links, topic, evidence, person=True) for topic in topics]
    if subjects[0] is None or subjects[1] is None:
        return None
    left, right = (country_of(evidence[index].text) for index in subjects if index is not None)
    if left is None or right is None:
        return None
    text = YES[language] if left.country == right.country else NO[language]
    support = [Support(subjects[0], left.start, left.end), Support(subjects[1], right.start, right.end)]
    return stated_answer(text, support, f"{topics[0].name}: {left.country}, {topics[1].name}: {right.country}", links=0)


def _both_are(
    asked: str, language: Language, topics: Sequence[Topic], evidence: Sequence[Candidate]
) -> FoundAnswer | None:
    """Return yes when the first sentences of both notes say what is asked, no when only one of them does."""
    wanted = _content(asked)
    if not wanted:
        return None
    openings = [_opening(topic.note, evidence, sentences=2) for topic in topics]
    shares = [
        len(wanted & {*tokens(evidence[one.note].text[one.start : one.end]), *tokens(evidence[one.note].title)})
        / len(wanted)
        for one in openings
    ]
    if min(shares) < STATED and (min(shares) > NOT_STATED or max(shares) < STATED):
        return None
    text = YES[language] if min(shares) >= STATED else NO[language]
    reason = f"{topics[0].name}: {shares[0]:.0%}, {topics[1].name}: {shares[1]:.0%}"
    return stated_answer(text, openings, reason, links=0)


def _content(asked: str) -> set[str]:
    """Return the tokens of a question, its names left out, that say what is asked."""
    if cjk_share(asked):
        asked = _EMPTY_ZH.sub(" ", asked)
        for country in reversed(countries_in(asked)):
            end = country.end + asked.startswith("人", country.end)
            asked = f"{asked[: country.start]} {asked[country.start : country.end]} {asked[end:]}"
    return set(tokens(plain(asked))) - PLAIN_EN - function_words()


def _subject(links: Sequence[Relation], topic: Topic, evidence: Sequence[Candidate], *, person: bool) -> int | None:
    """Return the note compared: the topic's own, or that of its director or performer when the question says so."""
    note = evidence[topic.note]
    if not links or not person or lifespan(note.text[:300]).birth is not None:
        return topic.note
    values = (note.text[slice(*value)] for value in relation_values(links[0], note))
    found = (note_about(value, evidence, frozenset({topic.note})) for value in values)
    return next((index for index in found if index is not None), None)


def _by_quantity(asked: str, topics: Sequence[Topic], evidence: Sequence[Candidate]) -> FoundAnswer | None:
    """Return which of two is longer, higher, ... or has more of what is counted, by the first such quantity of each."""
    greater, lesser, counted = _LONGER.search(asked), _SHORTER.search(asked), _MORE.search(asked)
    if bool(greater) + bool(lesser) + bool(counted) != 1:
        return None
    noun = (counted["noun"] or counted["noun_zh"]) if counted else ""
    found = [_quantity_of(evidence[topic.note].text, noun) for topic in topics]
    left, right = found
    if left is None or right is None or _value(left) == _value(right):
        return None
    less = bool(lesser) or bool(counted and (counted["less"] or counted.group().endswith("少")))
    winner = 0 if (_value(left) > _value(right)) != less else 1
    support = [Support(topic.note, q.start, q.end) for topic, q in zip(topics, (left, right), strict=True)]
    said = [evidence[one.note].text[one.start : one.end] for one in support]
    return stated_answer(
        topics[winner].name, support, f"{topics[0].name} {said[0]}, {topics[1].name} {said[1]}", links=0
    )


def _quantity_of(text: str, noun: str) -> Quantity | None:
    """Return the first length of a text, or the first number of a noun: "117 accepted species"."""
    wanted = set(tokens(noun))
    for quantity in find_quantities(text):
        behind = set(tokens(text[quantity.start : quantity.end + REACH]))
        if wanted <= behind if noun else unit_of(quantity.unit).base == "m":
            return quantity
    return None


def _value(quantity: Quantity) -> float:
    return float(quantity.value) * unit_of(quantity.unit).factor


def _opening(note: int, evidence: Sequence[Candidate], *, sentences: int = 1) -> Support:
    """Return the first sentences of a note."""
    first = split_sentences(evidence[note].text)[:sentences]
    return Support(note, first[0].start, first[-1].end) if first else Support(note, 0, 0)
