"""English follow-ups: a pronoun gets its antecedent, an ordinal its item, an ellipsis the frame of the last question.

1. "And Berlin?", "In 2019?": the value takes the place of its like in the question before.
2. "the second one": the item is looked up in the list that the last answers offered.
3. Pronouns are replaced where person, group or thing agree with the heading, the answer's name or the last question's.
4. What is dependent and has no sure antecedent (this, that, else, a fragment, a correction) keeps its words and gets
   the heading, or the question before, in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from theworld.references.context import (
    Antecedent,
    Earlier,
    Edit,
    Item,
    Standalone,
    apply_edits,
    chosen_item,
    dependent,
    is_small_talk,
    last_answer,
    put_item,
    question_before,
    said_in,
    with_context,
)
from theworld.references.detection import Kind
from theworld.references.focus import MOST_OPTIONS, Nature, focus_of
from theworld.references.history import text_of, topic_tokens
from theworld.references.names import looks_like_group, looks_like_person, names_in
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
_OWNED = re.compile(
    r"\s+(?!(?:to|for|in|on|at|with|by|from|of|as|and|or|but|when|after|before|the|a|an|do|does|did)\b)\w"
)
_EXPLETIVE = re.compile(r"\b(?:(?:is|was|be)\s+it|it\s+(?:is|was))\s+\w+\s+(?:that|to)\b", re.IGNORECASE)
_THAT_ONE = re.compile(r"\b(?:that|this|the other) one\b", re.IGNORECASE)
_DEMONSTRATIVE = re.compile(
    r"(?:\b(?P<word>this|these|those(?!\s+who\b))\b"
    r"|(?:^|[,;:]|\b(?:is|was|are|were|did|does|do|has|have|had|will|would|can|could|of|in|on|at|to|by|for|from|with|about|after"
    r"|before|like|during|than|since|until|over|and|or|but|so|why|how|what|when|where|who|because|mean|means|not|call|called))"
    r"\s*\b(?P<that>that)\b|\b(?P<last>that)\W*$)(?!\s+(?:he|she|they|it|the|you|i|we|of|is\s+the|was\s+the)\b)",
    re.IGNORECASE,
)
_CONTINUES = re.compile(
    r"^\W*(?:(?:and|but|so|or|also|no|not|sorry|wait|actually|go on|continue|done|then)\b"
    r"(?!\s+(?:what|who|how)\s+(?:is|are)\s+(?:an?|the)\b)"
    r"|(?:what|how) about\b|any(?:thing)?\b|tell me more|more\b|what more"
    r"|(?:why(?: not)?|how(?: so| come)?|when|where|who|which)\W*$)"
    r"|^(?:for|in|on|at|with|from|by|of)\b"
    r"(?!.*\b(?:what|who|how|when|where|which|why|is|are|was|were|do|does|did|can|i|you)\b)"
    r"|\b(?:else|(?:an)?others?|next|then|instead|also)\b"
    r"|\bwhat happen(?:ed|s)?\b(?!\s+(?:with|to|(?:in|at|after|during)\s+the)\b)",
    re.IGNORECASE,
)
_APART = re.compile(
    r"\b(?:besides|(?:aside|apart) from|other than|in addition to)\s+(?!that\b|this\b|it\b|those\b|these\b)\w",
    re.IGNORECASE,
)
_DEFINITE = re.compile(
    r"\bthe\s+([a-z]+)\b(?!\s+(?:\w+\s+)?(?:of|that|which|who|where|whose|named|called)\b)", re.IGNORECASE
)
_ELLIPSIS = re.compile(
    r"^\W*(?:(?:and|or|but)\b(?:\s+(?:what|how)\s+about)?|(?:what|how)\s+about)\s+(?:(?:in|on|for|at|of|with|to|from|by)\s+)?"
    r"(?P<value>[^?.!]{1,60}?)\s*[?.!]*\s*$",
    re.IGNORECASE,
)
_LIKES = (
    re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})(?:s\b)?"),
    re.compile(
        r"\b(?:(?:this|next|last)\s+)?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tomorrow|yesterday|week|month"
        r"|year|january|february|march|april|may|june|july|august|september|october|november|december|spring|summer"
        r"|autumn|fall|winter)\b",
        re.IGNORECASE,
    ),
    re.compile(r"\b\d[\d.,]*\b"),
)
"""Years, days and seasons, numbers: a value takes the place of its like."""
_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|what|which|who|when|where|why|how|if|it|its|he|his"
    r"|him|she|her|they|their|them|this|that|these|those|there|else|other|the)\b",
    re.IGNORECASE,
)
LONGEST_ANSWER = 80
"""Characters of the last answer that are context."""
LONGEST_DEPENDENT, LONGEST_WITH_NAMES = 13, 10
"""Words of a query beyond which its pronouns are taken to stand for something in it."""
LONGEST_OWN_WORDS = 2
"""Content words of a question besides its one name, up to which "it" stands for that name."""


def rewrite(query: str, history: Sequence[Message], antecedent: str | None, earlier: Earlier) -> Standalone:
    """Return the query with its antecedents inserted, or its context added; untouched where it needs neither."""
    if is_small_talk(query) or not history:
        return Standalone()
    return _Rewriting(query, history, antecedent, earlier).result()


class _Rewriting:
    """One query being made to stand alone."""

    def __init__(self, query: str, history: Sequence[Message], antecedent: str | None, earlier: Earlier) -> None:
        self.query, self.history, self.forced = query, history, antecedent
        self.focus = focus_of(history, question_before(history, earlier))
        known = " ".join(name.text for name in self.focus.names)
        self.named = [name for name in names_in(query) if not name.opening or name.text in known]
        self.names_topic = bool(self.focus.tokens & frozenset(tokens(query)))
        self.long = len(query.split()) > (LONGEST_WITH_NAMES if self.named else LONGEST_DEPENDENT)
        self.edits: list[Edit] = []
        self.used: list[Antecedent] = []
        self.options: tuple[str, ...] = ()

    def result(self) -> Standalone:
        if filled := self._filled():
            return filled
        item = None if self.named or self.long else chosen_item(self.query, self.history)
        if item:
            return self._item(item)
        spans: list[tuple[Span, Kind]] = [(span, "pronoun") for span in self._pronouns()]
        spans = spans or self._dependent()
        if not spans or (not self.edits and _APART.search(self.query)):
            return Standalone()
        query = apply_edits(self.query, self.edits)
        points, settled = spans[0][1] == "pronoun", self._settled()
        query = (None if settled else with_context(query, self._context(points=points))) or query
        if query == self.query:
            return Standalone()
        return Standalone(
            query=query,
            references=tuple(
                dependent(s, "continuation" if kind == "continuation" else "pronoun") for s, kind in spans
            ),
            antecedents=tuple(dict.fromkeys(used.text for used in self.used)),
            sources=tuple(sorted({used.source for used in self.used if used.source >= 0})),
            options=self.options,
            reason="the antecedent in the last turns",
            sure=settled,
        )

    def _filled(self) -> Standalone | None:
        """ "And Berlin?": the last question with the value in the place of its like."""
        match, base = _ELLIPSIS.match(self.query), self.focus.question
        if match is None or base is None or _CLAUSE.search(match["value"]):
            return None
        place = place_for(match["value"], base.text)
        if place is None:
            return None
        question = base.text[: place[0]] + match["value"] + base.text[place[1] :]
        span = Span(0, len(self.query), self.query.strip())
        sources, said = (base.source,), (text_of(self.history[base.source]).strip(),)
        reason = "the question before, with one thing changed"
        return Standalone(question, (dependent(span, "continuation"),), said, sources, (), reason)

    def _item(self, item: Item) -> Standalone:
        query = put_item(self.query, item, self.focus.question.text if self.focus.question else "")
        references = (dependent(item.span, "pronoun"),)
        return Standalone(query, references, (item.text,), (item.source,), (), "an item of the last list")

    def _pronouns(self) -> list[Span]:
        """Find the pronouns that stand for something before the query, and replace those with a sure antecedent."""
        found: dict[Nature, Span] = {}
        for match in _PRONOUN.finditer(self.query):
            nature = _nature(match["word"])
            if (
                nature in found
                or self._bound(match.start(), nature)
                or (nature == "thing" and _EXPLETIVE.search(self.query))
            ):
                continue
            found[nature] = Span(match.start(), match.end(), match["word"])
            if antecedent := self._antecedent(nature, match["word"]):
                self._replace(match, antecedent)
        if not found and not self.named and (that_one := _THAT_ONE.search(self.query)):
            self._that_one(that_one)
            return [Span(*that_one.span(), that_one.group())]
        return list(found.values())

    def _that_one(self, match: re.Match[str]) -> None:
        """Read "that one": any name the last questions are about may be meant; one alone is not sure to be."""
        asked = [name for name in self.focus.names if self.history[name.source].role == "user"]
        named = [Antecedent(self.forced, -1)] if self.forced else list(self.focus.rivals or asked[:MOST_OPTIONS])
        if self.forced or len(named) > 1:
            self.options = () if self.forced else tuple(name.text for name in named)
            self.edits.append(Edit(match.start(), match.end(), named[0].text))
            self.used.append(named[0])

    def _bound(self, start: int, nature: Nature) -> bool:
        """Whether a name that stands before the pronoun in the query is its antecedent."""
        if self.long or (self.names_topic and nature in {"thing", self.focus.nature}):
            return True
        before = [name for name in self.named if name.start < start]
        if before and nature == "thing":
            owned = self.query[start:].lower().startswith("its")
            return owned or self.focus.nature == "thing" or not all(looks_like_person(name.text) for name in before)
        return bool(before)

    def _antecedent(self, nature: Nature, word: str) -> Antecedent | None:
        focus, fits = self.focus, _FITS[nature]
        if self.forced:
            return Antecedent(self.forced, -1)
        rivals = [name for name in focus.rivals if fits(name.text) or nature == "thing"]
        if len(rivals) > 1 and nature != "group":
            self.options = tuple(name.text for name in rivals)
            return rivals[0]
        if focus.answered and self._goes_on_with(focus.answered.text, word):
            return focus.answered
        if focus.heading and focus.nature in {nature, "unknown"}:
            return focus.heading
        named = next((name for name in focus.names if fits(name.text)), None)
        if nature == "person" or focus.heading:
            return named or (focus.heading if nature == "person" else None)
        return next((name for name in (named, *focus.names[:1]) if name and self._is_subject(name)), None)

    def _is_subject(self, name: Antecedent) -> bool:
        """Whether the last question is about one name and little else, so that "it" can mean nothing but that."""
        question = self.focus.question
        if question is None or name.text not in question.text:
            return False
        return len(topic_tokens(question.text) - topic_tokens(name.text)) < LONGEST_OWN_WORDS

    def _goes_on_with(self, name: str, word: str) -> bool:
        """Whether a pronoun stands for the name just given, not for whom or what the question already spoke of."""
        asked = text_of(self.history[self.focus.question.source]) if self.focus.question else ""
        if any(_kind(match["word"]) == _kind(word) for match in _PRONOUN.finditer(asked)):
            return False
        if _nature(word) == "person":
            others = [other.text for other in names_in(asked) if not other.opening]
            return looks_like_person(name) and not any(looks_like_person(o) and " " in o for o in others)
        return _nature(word) == "thing" and not (looks_like_person(name) and asked.lower().lstrip().startswith("who"))

    def _replace(self, match: re.Match[str], found: Antecedent) -> None:
        word, end = match["word"].lower(), match.end()
        owned = word in _POSSESSIVES or (word == "her" and _OWNED.match(self.query, end))
        clitic = _CLITICS[match["clitic"][1:].lower()] if match["clitic"] else ""
        self.edits.append(Edit(match.start(), end, found.text + ("'s" if owned else "") + clitic))
        self.used.append(found)

    def _dependent(self) -> list[tuple[Span, Kind]]:
        """Find what makes a query without pronouns depend on the turns before: "that", "else", "the album"."""
        match = None if self.names_topic or self.long else _DEMONSTRATIVE.search(self.query)
        if match:
            return [(Span(match.start(), match.end(), match.group().strip()), "pronoun")]
        lowered = self.query.lower()
        if self.names_topic or self.long or any(name.text.lower() in lowered for name in self.focus.names):
            return []
        named = bool(self.named)
        match = _CONTINUES.search(self.query) or (None if named else self._definite())
        opens = match is not None and match.start() == 0 and not match.group().lower().startswith("what happen")
        if match and (opens or not named):
            return [(Span(match.start(), match.end(), match.group()), "continuation")]
        return []

    def _definite(self) -> re.Match[str] | None:
        """Find "the album" under a heading: a noun for a kind of thing that has been named before."""
        kinds = load_table("english")["kinds"] if self.focus.heading else ()
        return next((m for m in _DEFINITE.finditer(self.query) if m.group(1).lower() in kinds), None)

    def _settled(self) -> bool:
        """Whether the antecedents say what the query is about, so that it needs no context."""
        if self.forced or self.names_topic:
            return True
        if self.focus.heading is None:
            return bool(self.edits)
        return any(used in (self.focus.heading, self.focus.answered) for used in self.used)

    def _context(self, *, points: bool) -> str:
        """Return the heading, or the last question, with the beginning of its answer for what may point at that."""
        found = self.focus.heading or self.focus.question
        if found is None:
            return ""
        self.used.append(found)
        index = last_answer(self.history) if points and found is self.focus.question else None
        said = "" if index is None else said_in(text_of(self.history[index]), LONGEST_ANSWER)
        return f"{said}; {found.text}" if said else found.text


def _nature(word: str) -> Nature:
    return "person" if _kind(word) in {"he", "she"} else "group" if _kind(word) == "they" else "thing"


def _kind(word: str) -> str:
    """Return the pronoun in the form of its subject."""
    word = word.lower()
    if word in {"she", "her", "hers"}:
        return "she"
    return "he" if word in {"he", "him", "his"} else "they" if word.startswith("the") else "it"


_FITS: dict[Nature, Callable[[str], bool]] = {
    "person": looks_like_person,
    "group": looks_like_group,
    "thing": lambda name: not looks_like_person(name),
}


def place_for(value: str, question: str) -> tuple[int, int] | None:
    """Return the place in a question of what is like the value: a year, a day, a number, a name."""
    for pattern in _LIKES:
        if pattern.fullmatch(value):
            found = list(pattern.finditer(question))
            return found[-1].span() if found else None
    names = [name for name in names_in(question) if not name.opening]
    if not names or not names_in(value):
        return None
    return names[-1].start, names[-1].start + len(names[-1].text)
