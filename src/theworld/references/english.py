"""Rewriting rules for English: pronouns, "else" and "other", follow-ups without a subject."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from theworld.references.detection import Edit, Standalone, apply_edits, dependent
from theworld.references.english_focus import (
    AnsweredName,
    Antecedent,
    Nature,
    focus_of,
    looks_like_group,
    looks_like_person,
    names_in,
)
from theworld.references.history import text_of
from theworld.references.phrases import Span, load_table
from theworld.state import Message
from theworld.text import tokens

_PRONOUN = re.compile(
    r"(?<![\w'’-])(?P<word>he|she|him|her|hers|his|they|them|their|theirs|it|its)"
    r"(?P<clitic>['’](?:re|ve|ll|d|s))?(?![\w-])",
    re.IGNORECASE,
)
_CLITICS = {"re": " are", "ve": " have", "ll": " will", "d": " would", "s": "'s"}
_POSSESSIVES = {"his", "hers", "their", "theirs", "its"}
_PERSON = {"he", "she", "him", "her", "hers", "his"}
_GROUP = {"they", "them", "their", "theirs"}
_NOT_OWNED = re.compile(
    r"\s*(?:$|[?.,!;:]|(?:to|for|in|on|at|with|by|from|of|as|and|or|but|when|while|after|before|because|so|too|the|a|an"
    r"|do|does|did|is|was|were|be|been|have|has|had|that|this|about|into|during|there|then|again|not|until|if|off|up|out)\b)",
    re.IGNORECASE,
)
_DEMONSTRATIVE = re.compile(
    r"(?:\b(?P<word>this|these|those(?!\s+who\b))\b"
    r"|(?:^|[,;:]|\b(?:is|was|are|were|did|does|do|has|have|had|will|would|can|could|of|in|on|at|to|by|for|from|with|about|after"
    r"|before|like|during|than|since|until|over|and|or|but|so|why|how|what|when|where|who|because|mean|means|not|call|called))"
    r"\s*\b(?P<that>that)\b|\b(?P<last>that)\W*$)(?!\s+(?:he|she|they|it|the|you|i|we|of|is\s+the|was\s+the)\b)",
    re.IGNORECASE,
)
_MORE = re.compile(r"\b(?P<word>else|(?:an)?other|others|next|then|instead|besides|also|after that)\b", re.IGNORECASE)
_CONTINUES = re.compile(
    r"^\W*(?:(?:and|but|so|or|also)\b(?!\s+(?:what|who|how)\s+(?:is|are)\s+(?:an?|the)\b)|what about\b|how about\b"
    r"|any\b|anything\b|tell me more|go on|continue|more\b|what more|why(?: not)?\W*$|how(?: so| come)?\W*$"
    r"|(?:when|where|who|which)\W*$)",
    re.IGNORECASE,
)
_QUESTION_WORDS = frozenset("who what when where which why how whose did was were is are does do any".split())
_THAT_ONE = re.compile(
    r"\b(?:that|this|the other|the latter|the former) one\b|\bthe (?:latter|former)\b", re.IGNORECASE
)
_HAPPENED = re.compile(
    r"\bwhat (?:else )?happen(?:ed|s)?\b(?!\s+(?:with|to\s+(?!him\b|her\b|them\b|it\b|that\b|this\b|those\b))\b)",
    re.IGNORECASE,
)
_BESIDES = re.compile(
    r"\b(?:besides|aside from|apart from|other than|in addition to|along with|except(?: for)?|beyond)\s+"
    r"(?!that\b|this\b|it\b|those\b|these\b)\w",
    re.IGNORECASE,
)
_THERE = re.compile(
    r"(?<!is )(?<!are )(?<!was )(?<!were )(?<!been )(?<!be )\bthere\b"
    r"(?!\s+(?:is|are|was|were|be|been|any|a|an|other|anything|something)\b)",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\b(?:in|at|to|near|from)\s+((?:the\s+)?[A-Z][\w'.-]*(?:\s+(?:of|the|de)?\s*[A-Z][\w'.-]*)*)")
_DEFINITE = re.compile(
    r"\bthe\s+(?!(?:first|last|most|best|same|only|next|other|world|united)\b)([a-z]+)", re.IGNORECASE
)
_QUALIFIED = re.compile(r"\s+(?:\w+\s+)?(?:of|that|which|who|where|whose|named|called)\b", re.IGNORECASE)
_DEFINITION = re.compile(
    r"^\W*(?:what|who)\s+(?:is|are|was|were|does)\s+(?:an?\s+)?(?!the\b|some\b|one\b)[\w\s-]+(?:\s+mean)?\W*$",
    re.IGNORECASE,
)


def rewrite(query: str, history: Sequence[Message], antecedent: str | None = None) -> Standalone:
    """Return the query with its antecedents inserted, or with its topic added; untouched where it needs neither."""
    if is_small_talk(query) or not _MAY_DEPEND.search(query):
        return Standalone()
    return _Rewriting(query, history, antecedent).result()


_MAY_DEPEND = re.compile(
    r"\b(?:he|she|him|her|hers|his|they|them|their|theirs|it|its|this|that|these|those|there|else|other|another|others|next"
    r"|then|instead|besides|also|after|same|one|and|but|so|or|about|any|anything|more|go on|continue|the|happen\w*)\b"
    r"|^\W*\w+(?:\W+\w+){0,3}\W*$",
    re.IGNORECASE,
)
"""A query without any of these words, and longer than four, stands alone: nothing else is looked at."""
LONG, LONG_WITH_NAMES = 13, 10
"""Words of a query beyond which its pronouns are taken to stand for something in it."""
LONGEST_CONTEXT = 15
"""Words of the question before that is appended where there is no topic."""


def _nature(word: str) -> Nature:
    return "person" if word.lower() in _PERSON else "group" if word.lower() in _GROUP else "thing"


def _goes_on_with(answered: AnsweredName, word: str) -> bool:
    """Whether a pronoun stands for the name just given, not for whom or what the question already spoke of."""
    name, question = answered.name.text, answered.question
    if any(_kind(match["word"]) == _kind(word) for match in _PRONOUN.finditer(question)):
        return False
    if _nature(word) == "person":
        others = [other.text for other in names_in(question) if not other.opening]
        return looks_like_person(name) and not any(looks_like_person(other) and " " in other for other in others)
    return _nature(word) == "thing" and not (looks_like_person(name) and question.lower().lstrip().startswith("who"))


def _kind(word: str) -> str:
    return "she" if word.lower() in {"she", "her", "hers"} else _nature(word)


def _looks_like_thing(name: str) -> bool:
    return not looks_like_person(name)


class _Rewriting:
    """One query being made to stand alone."""

    def __init__(self, query: str, history: Sequence[Message], antecedent: str | None) -> None:
        focus = focus_of(history)
        self.query, self.history, self.focus, self.forced = query, history, focus, antecedent
        self.edits: list[Edit] = []
        self.spans: list[tuple[Span, str]] = []
        self.used: list[Antecedent] = []
        self.options: tuple[str, ...] = ()
        self.named = [n for n in names_in(query) if not n.opening or self._known(n.text)]
        held, lowered = frozenset(tokens(query)), query.lower()
        self.names_topic = bool(focus.tokens & held)
        self.names_other = (
            bool(self.named)
            or bool(focus.section_tokens & held)
            or any(name.text.lower() in lowered for name in focus.names)
        )

    def _known(self, name: str) -> bool:
        return any(name in other.text for other in self.focus.names)

    def result(self) -> Standalone:
        if (slot := fill_slot(self.query, self.history)) and slot.question != self.query:
            return self._filled(slot)
        self._that_one()
        self._pronouns()
        self._there()
        if _BESIDES.search(self.query) and not self.edits:
            return Standalone()
        if not self.spans and not self.names_other and not self.names_topic:
            self._incomplete()
        elif not self.spans and not self.names_topic and not self._long():
            self._demonstratives()
        if not self.spans:
            return Standalone()
        self._add_topic()
        if not self.edits:
            return Standalone()
        return Standalone(
            query=apply_edits(self.query, self.edits),
            references=tuple(
                dependent(span, "continuation" if kind == "continuation" else "pronoun") for span, kind in self.spans
            ),
            antecedents=tuple(dict.fromkeys(a.text for a in self.used)),
            sources=tuple(sorted({a.source for a in self.used if a.source >= 0})),
            options=self.options,
            reason="the antecedent in the last turns",
        )

    def _that_one(self) -> None:
        """Read "that one": any name the last questions are about may be meant."""
        match = _THAT_ONE.search(self.query)
        if match is None or self.named:
            return
        named = self.focus.rivals or self.focus.asked_about
        self.spans.append((Span(match.start(), match.end(), match.group()), "pronoun"))
        if self.forced or named:
            found = Antecedent(self.forced, -1) if self.forced else named[0]
            self.options = () if self.forced or len(named) < 2 else tuple(name.text for name in named)
            self.edits.append(Edit(match.start(), match.end(), found.text))
            self.used.append(found)

    def _pronouns(self) -> None:
        done: set[str] = set()
        for match in _PRONOUN.finditer(self.query):
            word = match["word"].lower()
            nature = _nature(word)
            if (
                self._in_title(match.start())
                or nature in done
                or self._bound(match.start(), nature)
                or (nature == "thing" and self._empty(match.end()))
            ):
                continue
            done.add(nature)
            self.spans.append((Span(match.start(), match.end(), match["word"]), "pronoun"))
            if found := self._antecedent(nature, match["word"]):
                self._replace(match, found)

    def _long(self) -> bool:
        """Whether the query is long: what its pronouns stand for is in it, as a rule."""
        return len(self.query.split()) > (LONG_WITH_NAMES if self.named else LONG)

    def _in_title(self, start: int) -> bool:
        """Whether the pronoun is capitalised within a sentence, as in a title ("Her Own Free Will")."""
        before = self.query[:start].rstrip()
        return self.query[start].isupper() and bool(before) and before[-1] not in '.?!:;"“' and not self.query.isupper()

    def _bound(self, start: int, nature: str) -> bool:
        """Whether a name that stands before the pronoun in the query is its antecedent."""
        if self._long():
            return True
        if self.names_topic and nature in {"thing", self.focus.nature}:
            return True
        before = [name for name in self.named if name.start < start]
        if before and nature == "thing":
            owned = self.query[start:].lower().startswith("its")
            return owned or self.focus.nature == "thing" or not all(looks_like_person(name.text) for name in before)
        return bool(before)

    def _empty(self, end: int) -> bool:
        following = self.query[end:].split()
        return bool(following) and following[0].lower().strip("?,.") in load_table("english")["empty_it"]

    def _antecedent(self, nature: str, word: str) -> Antecedent | None:
        focus = self.focus
        if self.forced:
            return Antecedent(self.forced, -1)
        fits = {"person": looks_like_person, "group": looks_like_group}.get(nature, _looks_like_thing)
        rivals = [name for name in focus.rivals if fits(name.text) or nature == "thing"]
        if len(rivals) > 1 and nature != "group":
            self.options = tuple(name.text for name in rivals)
            return rivals[0]
        if focus.answered and _goes_on_with(focus.answered, word):
            return focus.answered.name
        if focus.topic and (focus.nature in {nature, "unknown"}):
            return focus.topic
        if nature == "person":
            person = focus.topic if focus.topic and looks_like_person(focus.topic.text) else None
            return person or next(iter(focus.persons), focus.topic if focus.given else None)
        near = next((name for name in focus.names if fits(name.text)), None)
        unsure = nature == "group" and not focus.person_seen
        return near or (focus.topic if unsure else None)

    def _replace(self, match: re.Match[str], found: Antecedent) -> None:
        word, end = match["word"].lower(), match.end()
        owned = word in _POSSESSIVES or (word == "her" and not _NOT_OWNED.match(self.query, end))
        clitic = _CLITICS[match["clitic"][1:].lower()] if match["clitic"] else ""
        self.edits.append(Edit(match.start(), end, found.text + ("'s" if owned else "") + clitic))
        self.used.append(found)

    def _there(self) -> None:
        match = _THERE.search(self.query)
        if not match or self.named:
            return
        place = _PLACE.search(self.focus.answer) or _PLACE.search(self.focus.question)
        self.spans.append((Span(match.start(), match.end(), match.group()), "pronoun"))
        if place:
            self.edits.append(Edit(match.start(), match.end(), "in " + place.group(1).rstrip(" .,")))

    def _demonstratives(self) -> bool:
        match = _DEMONSTRATIVE.search(self.query)
        if match:
            group = next(name for name in ("word", "that", "last") if match[name])
            self.spans.append((Span(*match.span(group), match[group]), "pronoun"))
        return match is not None

    def _incomplete(self) -> None:
        if self._long():
            return
        if _DEFINITION.match(self.query) and not _DEMONSTRATIVE.search(self.query) and not _MORE.search(self.query):
            return
        if self._demonstratives():
            return
        match = (
            _CONTINUES.search(self.query)
            or _HAPPENED.search(self.query)
            or _MORE.search(self.query)
            or self._definite()
        )
        if match is None and self._is_fragment():
            match = re.search(r"\S.*\S|\S", self.query)
        if match:
            self.spans.append((Span(match.start(), match.end(), match.group()), "continuation"))

    def _is_fragment(self) -> bool:
        """Whether the query is too short to say what it is about: "Who won?", "What year?", "How many?"."""
        words = self.query.lower().strip(" ?.!").split()
        table = load_table("english")
        nouns = {*table["details"], *table["kinds"]}
        asked = bool(words) and words[0] in _QUESTION_WORDS
        return asked and (len(words) <= 2 or (len(words) <= 4 and words[-1] in nouns))

    def _definite(self) -> re.Match[str] | None:
        """Find "the album": a noun for a kind of thing that has been named before."""
        if self.focus.topic is None:
            return None
        kinds = load_table("english")["kinds"]
        found = (m for m in _DEFINITE.finditer(self.query) if m.group(1).lower() in kinds)
        return next((m for m in found if not _QUALIFIED.match(self.query, m.end())), None)

    def _add_topic(self) -> None:
        """Append what the query is about, where no antecedent says it: the topic, else the question before."""
        topic = self.focus.topic
        enough = {topic.text if topic else None, self.focus.answered.name.text if self.focus.answered else None}
        if self.forced or self.names_topic or any(a.text in enough for a in self.used):
            return
        if topic is None and self.edits:
            return
        added = topic or self._question_before()
        if added is None:
            return
        end = len(self.query.rstrip(" ?.!"))
        self.edits.append(Edit(end, end, f" ({added.text})"))
        self.used.append(added)

    def _question_before(self) -> Antecedent | None:
        index = last_full_question(self.history)
        text = "" if index is None else text_of(self.history[index]).strip(" ?.!")
        return Antecedent(text, index) if index is not None and text and len(text.split()) <= LONGEST_CONTEXT else None

    def _filled(self, slot: Slot) -> Standalone:
        span = Span(0, len(self.query), self.query.strip())
        return Standalone(
            query=slot.question,
            references=(dependent(span, "continuation"),),
            antecedents=(text_of(self.history[slot.source]).strip(),),
            sources=(slot.source,),
            reason="the question before, with one thing changed",
        )


_FOLLOW_UP = re.compile(
    r"^\W*(?P<lead>and(?:\s+what\s+about)?|what\s+about|how\s+about|or|but\s+what\s+about|but)\s+(?:(?P<prep>in|on|for|at|of|with|to|from|by)\s+)?"
    r"(?P<value>[^?.!]{1,60}?)\s*[?.!]*\s*$",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})(?:s\b)?")
_DAY = re.compile(
    r"\b(?:(?:this|next|last)\s+)?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tomorrow|yesterday"
    r"|(?:this|next|last)\s+(?:week|month|year)|january|february|march|april|june|july|august|september|october|november"
    r"|december|spring|summer|autumn|fall|winter)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\b\d[\d.,]*\b")
_DEPENDENT = re.compile(
    r"\b(?:it|its|he|his|him|she|her|they|their|them|this|that|these|those|there|else|other|the)\b", re.IGNORECASE
)
_VERB = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|what|which|who|when|where|why|how|if)\b",
    re.IGNORECASE,
)
LOOK_BACK = 12


class Slot(NamedTuple):
    """The follow-up's value, the question it changes, and the new question."""

    value: str
    source: int
    question: str


def is_small_talk(text: str) -> bool:
    """Return whether a message is a greeting, thanks or a nod, which depends on nothing."""
    return bool(_small_talk().fullmatch(text.strip().strip(".!?,").lower()))


@lru_cache(maxsize=1)
def _small_talk() -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word in sorted(load_table("english")["small_talk"], key=len, reverse=True))
    return re.compile(rf"(?:{words})(?:[\s,!.]+(?:{words}))*")


def last_full_question(history: Sequence[Message]) -> int | None:
    """Return the index of the last user message that is neither small talk nor a follow-up itself."""
    for index in range(len(history) - 1, max(-1, len(history) - 1 - LOOK_BACK), -1):
        text = text_of(history[index]).strip()
        if history[index].role == "user" and text and not is_small_talk(text) and not _FOLLOW_UP.match(text):
            return index
    return None


def fill_slot(query: str, history: Sequence[Message]) -> Slot | None:
    """Return the question before with the follow-up's value in the place of its like; None where none fits."""
    match = _FOLLOW_UP.match(query)
    index = last_full_question(history)
    if match is None or index is None or _VERB.match(match["value"]) or _DEPENDENT.search(match["value"]):
        return None
    question, value = text_of(history[index]).strip(), match["value"].strip()
    place = _place_for(value, question)
    if place is None:
        return None
    return Slot(value, index, question[: place[0]] + value + question[place[1] :])


def _place_for(value: str, question: str) -> tuple[int, int] | None:
    for pattern in (_YEAR, _DAY, _NUMBER):
        if pattern.fullmatch(value):
            found = list(pattern.finditer(question))
            return found[-1].span() if found else None
    names = [name for name in names_in(question) if not name.opening]
    if not names or not (names_in(value) or len(value.split()) <= 2):
        return None
    last = names[-1]
    return last.start, last.start + len(last.text)
