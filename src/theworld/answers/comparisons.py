"""Questions that compare two named notes: which came first, whether both are of one country, whether both are so.

Which came first follows from the dates of the notes, whether both are from one country from their countries, whether
both are of a kind from the first sentences of both. None where the notes do not state enough, and where the question
compares what the notes lead to ("the directors of A and B").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from theworld.answers.facts import STATED, FoundAnswer, Support, begin_of, countries_in, country_of, lifespan
from theworld.questions import Question
from theworld.state import Candidate
from theworld.text import Language, cjk_share, fold, split_sentences, tokens, without_qualifier
from theworld.text.sentences import apart
from theworld.text.tokens import fold_in_place, function_words

YES, NO = {"en": "yes", "zh": "是"}, {"en": "no", "zh": "否"}
SAID, NOT_SAID = 0.75, 0.5
"""Shares of the asked words: a thing is so from the first on, and not so up to the second where the other one is."""
MIN_TITLE_CHARACTERS = 2
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
_OF_OTHERS = re.compile(
    r"\bwhose\b|\b(?:has|have|had|with) (?:the |a )?(?:director|performer|singer|composer|author)\b|"
    r"\b(?:director|performer|singer|composer|author|father|mother|husband|wife|spouse)s? of\b|"
    r"的(?:导演|歌手|演唱者|作曲|作者|父亲|母亲|丈夫|妻子)",
    re.IGNORECASE,
)
"""What a question compares in place of the things it names: people that the notes only lead to."""
_EMPTY_ZH = re.compile(r"是不是|是否|两[者个位名部座家]|[都均皆吗的是为在有和与跟]|位于|属于|来自|一[个位名种部座家]")
_APART = re.compile(r"[^\w]+")
_PLAIN_EN = function_words() | frozenset(
    tokens(
        "film movie song album single book novel play musical opera series show person man woman named called band "
        "company come came all not also considered type kind its s 's"
    )
)
"""Words that say nothing of what both are."""


class Topic(NamedTuple):
    """A note named in the question."""

    note: int
    """Index in the evidence."""
    name: str
    """Its name as the title writes it."""


def answer_comparison(question: Question, evidence: Sequence[Candidate]) -> FoundAnswer | None:
    """Return the answer to a question that compares two things, None when the notes do not state enough."""
    topics = named_topics(question, evidence)
    if len(topics) != 2 or _OF_OTHERS.search(question.simplified):
        return None
    asked, language = question.simplified, question.language
    for topic in topics:  # its name may hold any word that is looked for
        at = fold_in_place(asked).find(fold_in_place(topic.name))
        if at >= 0:
            asked = asked[:at] + " " * len(topic.name) + asked[at + len(topic.name) :]
    if _SAME_COUNTRY.search(asked):
        left, right = (country_of(evidence[topic.note].text) for topic in topics)
        if left is None or right is None:
            return None
        text = YES[language] if left.country == right.country else NO[language]
        support = Support(topics[0].note, left.start, left.end), Support(topics[1].note, right.start, right.end)
        return FoundAnswer(
            text, STATED, support, f"{topics[0].name}: {left.country}, {topics[1].name}: {right.country}"
        )
    if _YES_NO.search(question.simplified) and not _OTHERWISE.search(asked):
        return _both_are(asked, language, topics, evidence)
    return _by_order(asked, topics, evidence)


def _by_order(asked: str, topics: Sequence[Topic], evidence: Sequence[Candidate]) -> FoundAnswer | None:
    """Return which of two came first or last, by births, deaths or beginnings."""
    latest = bool(_LAST.search(asked))
    if latest == bool(_FIRST.search(asked)):
        return None
    texts = [evidence[topic.note].text for topic in topics]
    lives = [lifespan(text) for text in texts]
    older = bool(_OLDER.search(asked))
    if _DEATH.search(asked):
        moments = [life.death for life in lives]
    elif _BIRTH.search(asked) or (older and all(life.birth for life in lives)):
        moments = [life.birth for life in lives]
    elif older or _BEGIN.search(asked):
        moments = [begin_of(text) for text in texts]
    else:
        return None
    left, right = moments
    if left is None or right is None:
        return None
    known = 1 + (left.month > 0 and right.month > 0) + (left.day > 0 and right.day > 0)
    if left.moment[:known] == right.moment[:known]:  # as precisely as both are known
        return None
    winner = 0 if (left.moment < right.moment) != latest else 1
    dates = [Support(topic.note, d.start, d.end) for topic, d in zip(topics, (left, right), strict=True)]
    reason = f"{topics[0].name} {left.year}, {topics[1].name} {right.year}"
    return FoundAnswer(topics[winner].name, STATED, (dates[winner], dates[1 - winner]), reason)


def _both_are(
    asked: str, language: Language, topics: Sequence[Topic], evidence: Sequence[Candidate]
) -> FoundAnswer | None:
    """Return yes when the first sentences of both notes say what is asked, no when only one of them does."""
    if cjk_share(asked):
        asked = _EMPTY_ZH.sub(" ", asked)
        for country in reversed(countries_in(asked)):  # 法国人 is of the country; words apart have tokens of their own
            end = country.end + asked.startswith("人", country.end)
            asked = f"{asked[: country.start]} {asked[country.start : country.end]} {asked[end:]}"
    wanted = set(tokens(asked)) - _PLAIN_EN
    if not wanted:
        return None
    openings, shares = [], []
    for topic in topics:
        note = evidence[topic.note]
        first = split_sentences(note.text)[:2]
        openings.append(Support(topic.note, first[0].start, first[-1].end) if first else Support(topic.note, 0, 0))
        said = {*tokens(note.text[openings[-1].start : openings[-1].end]), *tokens(note.title)}
        shares.append(len(wanted & said) / len(wanted))
    if min(shares) < SAID and (min(shares) > NOT_SAID or max(shares) < SAID):
        return None
    text = YES[language] if min(shares) >= SAID else NO[language]
    reason = f"{topics[0].name}: {shares[0]:.0%}, {topics[1].name}: {shares[1]:.0%}"
    return FoundAnswer(text, STATED, tuple(openings), reason)


def named_topics(question: Question, evidence: Sequence[Candidate]) -> list[Topic]:
    """Return the topics a question names by title, in its order; longer names win over names inside them."""
    asked = f" {_APART.sub(' ', question.folded).strip()} "
    found: dict[str, tuple[int, int, Topic]] = {}
    for index, note in enumerate(evidence):
        for title in dict.fromkeys((note.title, without_qualifier(note.title))):
            form = _APART.sub(" ", fold(title)).strip()
            # As whole words, in Chinese anywhere; the question has a blank at both ends.
            at = asked.find(f" {form} " if form.isascii() or " " in form else form)
            at = -1 if len(form) < MIN_TITLE_CHARACTERS else at + (at >= 0 and asked[at] == " ")
            if at >= 0:
                found.setdefault(note.document_id, (at, at + len(form), Topic(index, title)))
    longest = sorted(found.values(), key=lambda one: (one[0] - one[1], one[2].note))
    return [topic for _, _, topic in sorted(apart(longest, lambda one: one[:2]))]
