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
from dataclasses import replace

from theworld.references.context import Antecedent, FollowUp, Standalone, dependent, with_context
from theworld.references.focus import MOST_OPTIONS, focus_of, looks_like_person, names_in
from theworld.references.frames import refilled
from theworld.references.history import text_of, topic_tokens
from theworld.references.phrases import Kind, Span
from theworld.text import tokens

_PRONOUN = re.compile(
    r"(?<![\w'’-])(?:(?P<he>he|him|his)|(?P<she>she|hers?)|(?P<they>they|them|theirs?)|(?P<it>its?)"
    r"|(?P<one>(?:that|this|the other) one))"
    r"(?P<clitic>['’](?:re|ve|ll|d|s))?(?![\w-])",
    re.IGNORECASE,
)
_CLITICS = {"re": " are", "ve": " have", "ll": " will", "d": " would", "s": "'s"}
_POSSESSIVE = re.compile(
    r"(?:his|hers|theirs?|its)\b|her\s+(?!(?:to|for|in|on|at|with|by|from|of|as|and|or|but|when|after|before|the|an?)\b)\w",
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
LONGEST_DEPENDENT, LONGEST_WITH_NAMES = 13, 10
"""Words of a query beyond which its pronouns are taken to stand for something in it."""
MOST_OWN_WORDS = 2
"""Content words up to which a question is about its one name, and "else" or "another" means the question before."""


class EnglishFollowUp(FollowUp):
    """An English query being made to stand alone."""

    def rewritten(self) -> Standalone:
        """Return the query with its antecedents inserted, or its context added; untouched where it needs neither."""
        self.focus = focus_of(self.history, self.before)
        known = " ".join(name.text for name in self.focus.names)
        self.named = [name for name in names_in(self.query) if not name.opening or name.text in known]
        self.names_topic = bool(self.focus.tokens & frozenset(tokens(self.query)))
        self.long = len(self.query.split()) > (LONGEST_WITH_NAMES if self.named else LONGEST_DEPENDENT)
        item = None if self.named else self.item()
        return self._filled() or item or self._pronouns() or self._dependent()

    def _filled(self) -> Standalone | None:
        """ "And Berlin?": the last question with the value in the place of its like."""
        match = _ELLIPSIS.match(self.query)
        if match is None or self.before is None or _CLAUSE.search(match["value"]):
            return None
        question = refilled(match["value"], self.before.text)
        reason = "the question before, with one thing changed"
        return self.changed(question, self.whole, "continuation", reason, self.before) if question else None

    def _pronouns(self) -> Standalone | None:
        """Replace the pronouns that stand for something before the query, the first of each kind; None without any."""
        found: dict[str, tuple[Span, str, Antecedent | None]] = {}
        options: tuple[str, ...] = ()
        for match in _PRONOUN.finditer(self.query):
            kind = next(name for name in ("one", "he", "she", "they", "it") if match[name])
            nature = "person" if kind in {"he", "she"} else kind
            if nature not in found and not self._bound(match, kind):
                rivals = self._rivals(kind)
                options = options or tuple(name.text for name in rivals)
                found[nature] = self.span(match), self._ending(match, kind), (*rivals, self._antecedent(kind))[0]
        if len(texts := [meant.text for _, _, meant in found.values() if meant]) > len(set(texts)):
            found = {nature: one for nature, one in found.items() if nature == "person"} or found
        if not any(meant for _, _, meant in found.values()):
            return next((self._in_context(span, "pronoun") for span, _, _ in found.values()), None)
        query = self.query
        used: list[Antecedent] = []
        for span, ending, meant in sorted(found.values(), reverse=True):
            if meant:
                query, used = query[: span.start] + meant.text + ending + query[span.end :], [meant, *used]
        spans = [span for span, _, _ in found.values()]
        alone = self.changed(query, spans[0], "pronoun", "the antecedent in the last turns", *used)
        references = tuple(dependent(span, "pronoun") for span in spans)
        names = tuple(dict.fromkeys(name.text for name in used))
        return replace(alone, references=references, antecedents=names, options=options)

    def _ending(self, pronoun: re.Match[str], kind: str) -> str:
        """Return what follows the antecedent: "'s" of a possessive, and the short verb of "they're"."""
        owned = "'s" if _POSSESSIVE.match(self.query, pronoun.start(kind)) else ""
        return owned + (_CLITICS[pronoun["clitic"][1:].lower()] if pronoun["clitic"] else "")

    def _bound(self, pronoun: re.Match[str], kind: str) -> bool:
        """Whether a name before the pronoun in the query is its antecedent, or a clause that follows "it"."""
        if self.long or (kind == "it" and (self.names_topic or _EXPLETIVE.search(self.query))):
            return True
        return any(kind == "one" or name.start < pronoun.start() for name in self.named)

    def _rivals(self, kind: str) -> Sequence[Antecedent]:
        """Return the equally good antecedents, the best first: names side by side, for "that one" any asked about."""
        if self.forced:
            return ()
        person = kind in {"he", "she"}
        rivals = [name for name in self.focus.rivals if not person or looks_like_person(name.text)]
        if kind == "one" and not rivals:
            rivals = [name for name in self.focus.names if self.history[name.source].role == "user"][:MOST_OPTIONS]
        return rivals if len(rivals) > 1 and kind != "they" else ()

    def _antecedent(self, kind: str) -> Antecedent | None:
        focus, person = self.focus, kind in {"he", "she"}
        if self.forced:
            return Antecedent(self.forced, -1)
        if focus.answered and kind != "one" and self._goes_on_with(focus.answered.text, kind):
            return focus.answered
        named = next((name for name in focus.names if looks_like_person(name.text) is person), None)
        if focus.heading or kind in {"they", "one"}:
            if kind == "it" and (asked := self._asked_about(kind)):
                return asked
            other = person and focus.heading is not None and not looks_like_person(focus.heading.text)
            return named if other and named else focus.heading
        candidates = (named,) if person else (named, *focus.names[:1])
        return next((name for name in candidates if name and (person or self._is_subject(name))), None)

    def _asked_about(self, kind: str) -> Antecedent | None:
        """Return what the last question names beside the heading and the pronoun agrees with."""
        question = self.before
        if question is None or self.focus.heading is None:
            return None
        heading = self.focus.heading.text
        if heading in question.text and not looks_like_person(heading):
            return None
        for name in names_in(question.text):
            if not name.opening and not self.focus.tokens & frozenset(tokens(name.text)):
                if " " not in name.text or not looks_like_person(name.text):
                    return Antecedent(name.text, question.source)
        return None

    def _is_subject(self, name: Antecedent) -> bool:
        """Whether the last question is about one name and little else, so that "it" can mean nothing but that."""
        question = self.before.text if self.before else ""
        return name.text in question and len(topic_tokens(question) - topic_tokens(name.text)) < MOST_OWN_WORDS

    def _goes_on_with(self, name: str, kind: str) -> bool:
        """Whether a pronoun stands for the name just given, not for whom or what the question already spoke of."""
        asked = text_of(self.history[self.before.source]) if self.before else ""
        if any(match[kind] for match in _PRONOUN.finditer(asked)):
            return False
        if kind == "it":
            return not (looks_like_person(name) and asked.lower().lstrip().startswith("who"))
        others = [other.text for other in names_in(asked) if not other.opening]
        return looks_like_person(name) and not any(looks_like_person(o) and " " in o for o in others)

    def _dependent(self) -> Standalone:
        """Find what makes a query without pronouns depend on the turns before: "that", "and", "else", nothing named."""
        if self.names_topic or self.long:
            return Standalone()
        if match := _DEMONSTRATIVE.search(self.query):
            return self._in_context(self.span(match), "pronoun")
        own = topic_tokens(self.query)
        bare = not self.named and len(own) <= (MOST_OWN_WORDS if _ADDS.search(self.query) else 0)
        again = any(name.text.lower() in self.query.lower() for name in self.focus.names)
        match = _CONTINUES.match(self.query)
        if again or not (match or bare):
            return Standalone()
        return self._in_context(self.span(match) if match else self.whole, "continuation")

    def _in_context(self, span: Span, kind: Kind) -> Standalone:
        """Return the query with the heading of the conversation, or else with the question before it, in brackets."""
        heading = self.focus.heading
        if self.names_topic:
            return Standalone()
        if heading is None:
            return self.in_context(span, kind, answered=kind == "pronoun")
        return self.changed(with_context(self.query, heading.text), span, kind, "the heading", heading, sure=False)
