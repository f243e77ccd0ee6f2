"""English follow-ups: an ellipsis gets the last question's frame, an ordinal its item, a pronoun its antecedent.

1. "And Berlin?", "In 2019?": the value takes the place of its like in the question before.
2. "the second one": the item is looked up in the list that the last answers offered.
3. A pronoun stands for the heading of the conversation; without one for the name that the last answer gives, or for a
   name of the last questions that agrees with it and is all that they are about.
4. What is dependent and has no sure antecedent ("that", "and ...", a question without content words) keeps its words
   and gets the heading, or the question before, in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from theworld.references.context import (
    Antecedent,
    Earlier,
    Edit,
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
from theworld.references.focus import focus_of, looks_like_person, names_in
from theworld.references.frames import refilled
from theworld.references.history import text_of, topic_tokens
from theworld.references.phrases import Span
from theworld.state import Message
from theworld.text import tokens

_PRONOUN = re.compile(
    r"(?<![\w'’-])(?:(?P<he>he|him|his)|(?P<she>she|hers?)|(?P<they>they|them|theirs?)|(?P<it>its?))"
    r"(?P<clitic>['’](?:re|ve|ll|d|s))?(?![\w-])",
    re.IGNORECASE,
)
_CLITICS = {"re": " are", "ve": " have", "ll": " will", "d": " would", "s": "'s"}
_POSSESSIVE = re.compile(
    r"(?:his|hers|theirs?|its)$|her\s+(?!(?:to|for|in|on|at|with|by|from|of|as|and|or|but|when|after|before|the|an?)\b)\w",
    re.IGNORECASE,
)
_EXPLETIVE = re.compile(
    r"\b(?:(?:is|was|be)\s+it|it\s+(?:is|was|takes?|means?|costs?))\s+(?:\w+\s+)?(?:that|to)\b", re.IGNORECASE
)
"""It stands for the clause that follows: "Is it safe to ...", "What does it mean that ..."."""
_DEMONSTRATIVE = re.compile(
    r"(?:\b(?:this|these|those(?!\s+who\b))\b"
    r"|(?:^|[,;:]|\b(?:is|was|are|were|did|does|do|has|have|had|will|would|can|could|of|in|on|at|to|by|for|from|with|about"
    r"|after|before|like|during|than|since|until|over|and|or|but|so|why|how|what|when|where|who|because))\s*\bthat\b"
    r"|\bthat\W*$)(?!\s+(?:he|she|they|it|the|you|i|we|of)\b)",
    re.IGNORECASE,
)
_CONTINUES = re.compile(
    r"^\W*(?:(?:and|but|so|or|also|no|not|sorry|wait|actually|go on|continue|done|then)\b|(?:what|how) about\b)"
    r"|^(?:for|in|on|at|with|from|by|of)\b"
    r"(?!.*\b(?:what|who|how|when|where|which|why|is|are|was|were|do|does|did|can|i|you)\b)",
    re.IGNORECASE,
)
_ADDS = re.compile(r"\b(?:else|others?|another|more|next)\b|^\W*any", re.IGNORECASE)
_ELLIPSIS = re.compile(
    r"^\W*(?:(?:and|or|but)\b(?:\s+(?:what|how)\s+about)?|(?:what|how)\s+about)\s+(?:(?:in|on|for|at|of|with|to|from|by)\s+)?"
    r"(?P<value>[^?.!]{1,60}?)\s*[?.!]*\s*$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|what|which|who|when|where|why|how|if|it|its|he|his"
    r"|him|she|her|they|their|them|this|that|these|those|there|else|other|the)\b",
    re.IGNORECASE,
)
LONGEST_ANSWER = 80
"""Characters of the last answer that are context."""
LONGEST_DEPENDENT, LONGEST_WITH_NAMES = 13, 10
"""Words of a query beyond which its pronouns are taken to stand for something in it."""
MOST_OWN_WORDS = 2
"""Content words up to which a question is about its one name, and "else" or "another" means the question before."""


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
        question = self.focus.question
        item = None if self.named or self.long else chosen_item(self.query, self.history)
        if item:
            put = put_item(self.query, item, question.text if question else "")
            reason = "an item of the last list"
            return Standalone(put, (dependent(item.span, "pronoun"),), (item.text,), (item.source,), (), reason)
        pronouns = self._pronouns()
        rest, kind = (None, "pronoun") if pronouns else self._dependent()
        spans = [*pronouns, *([rest] if rest else [])]
        settled = bool(self.edits) or self.names_topic
        query = apply_edits(self.query, self.edits)
        if spans and not settled:
            query = with_context(query, self._context(points=kind == "pronoun")) or query
        if query == self.query:
            return Standalone()
        return Standalone(
            query=query,
            references=tuple(dependent(span, "pronoun" if kind == "pronoun" else "continuation") for span in spans),
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
        question = refilled(match["value"], base.text)
        if question is None:
            return None
        reference = dependent(Span(0, len(self.query), self.query.strip()), "continuation")
        said = text_of(self.history[base.source]).strip()
        return Standalone(
            question, (reference,), (said,), (base.source,), (), "the question before, with one thing changed"
        )

    def _pronouns(self) -> list[Span]:
        """Find the pronouns that stand for something before the query, and replace those with a sure antecedent."""
        found: dict[str, Span] = {}
        for match in _PRONOUN.finditer(self.query):
            kind = next(name for name in ("he", "she", "they", "it") if match[name])
            person = kind in {"he", "she"}
            nature = "person" if person else kind
            if nature in found or self._bound(match, kind) or (kind == "it" and _EXPLETIVE.search(self.query)):
                continue
            found[nature] = Span(match.start(), match.end(), match[kind])
            if antecedent := Antecedent(self.forced, -1) if self.forced else self._antecedent(kind):
                owned = "'s" if _POSSESSIVE.match(self.query, match.start(kind)) else ""
                clitic = _CLITICS[match["clitic"][1:].lower()] if match["clitic"] else ""
                self.edits.append(Edit(match.start(), match.end(), antecedent.text + owned + clitic))
                self.used.append(antecedent)
        return list(found.values())

    def _bound(self, pronoun: re.Match[str], kind: str) -> bool:
        """Whether a name that stands before the pronoun in the query is its antecedent."""
        if self.long or (self.names_topic and kind == "it"):
            return True
        before = [name.text for name in self.named if name.start < pronoun.start()]
        return bool(before) and (
            kind != "it" or pronoun["it"].lower() == "its" or not all(map(looks_like_person, before))
        )

    def _antecedent(self, kind: str) -> Antecedent | None:
        focus, person = self.focus, kind in {"he", "she"}
        rivals = [name for name in focus.rivals if not person or looks_like_person(name.text)]
        if len(rivals) > 1 and kind != "they":
            self.options = tuple(name.text for name in rivals)
            return rivals[0]
        if focus.answered and self._goes_on_with(focus.answered.text, kind):
            return focus.answered
        if focus.heading and (person or not focus.on_person):
            return focus.heading
        if focus.heading or kind == "they":
            return None
        named = next((name for name in focus.names if looks_like_person(name.text) is person), None)
        if person:
            return named
        return next((name for name in (named, *focus.names[:1]) if name and self._is_subject(name)), None)

    def _is_subject(self, name: Antecedent) -> bool:
        """Whether the last question is about one name and little else, so that "it" can mean nothing but that."""
        question = self.focus.question.text if self.focus.question else ""
        return name.text in question and len(topic_tokens(question) - topic_tokens(name.text)) < MOST_OWN_WORDS

    def _goes_on_with(self, name: str, kind: str) -> bool:
        """Whether a pronoun stands for the name just given, not for whom or what the question already spoke of."""
        asked = text_of(self.history[self.focus.question.source]) if self.focus.question else ""
        if any(match[kind] for match in _PRONOUN.finditer(asked)):
            return False
        if kind == "it":
            return not (looks_like_person(name) and asked.lower().lstrip().startswith("who"))
        others = [other.text for other in names_in(asked) if not other.opening]
        return looks_like_person(name) and not any(looks_like_person(o) and " " in o for o in others)

    def _dependent(self) -> tuple[Span | None, str]:
        """Find what makes a query without pronouns depend on the turns before: "that", "and", "else", nothing named."""
        if self.names_topic or self.long:
            return None, ""
        match, kind = _DEMONSTRATIVE.search(self.query), "pronoun"
        named = any(name.text.lower() in self.query.lower() for name in self.focus.names)
        if match is None and not named:
            match, kind = _CONTINUES.match(self.query), "continuation"
            own = topic_tokens(self.query)
            if match is None and not self.named and len(own) <= (MOST_OWN_WORDS if _ADDS.search(self.query) else 0):
                match = re.match(".*", self.query.strip())
        return (Span(match.start(), match.end(), match.group().strip()) if match else None), kind

    def _context(self, *, points: bool) -> str:
        """Return the heading, or the last question, with the beginning of its answer for what may point at that."""
        found = self.focus.heading or self.focus.question
        if found is None:
            return ""
        self.used.append(found)
        index = last_answer(self.history) if points and found is self.focus.question else None
        said = "" if index is None else said_in(text_of(self.history[index]), LONGEST_ANSWER)
        return f"{said}; {found.text}" if said else found.text
