"""English follow-ups: an ellipsis gets the last question's frame, an ordinal its item, a pronoun its antecedent.

1. "And Berlin?", "In 2019?": the value takes the place of its like in the question before.
2. "the second one": the item is looked up in the list that the last answers offered.
3. A pronoun stands for the heading of the conversation, "it" for another thing that the last question named; without a
   heading for the name that the last answer gives, or for a name of the last questions that agrees with it and is all
   that they are about. The last question is read in its stand-alone form, so that a chain of pronouns keeps its
   antecedent.
4. What is dependent and has no sure antecedent ("that", "and ...", a question without content words) keeps its words
   and gets the heading, or the question before, in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from theworld.references.context import Antecedent, FollowUp, Standalone, dependent, with_context
from theworld.references.detection import Kind, Span
from theworld.references.frames import refilled
from theworld.references.history import answering, last_answer, text_of, topic_tokens
from theworld.references.names import is_heading, looks_like_person, names_in, sure_names
from theworld.text import tokens, without_qualifier

_PRONOUN = re.compile(
    r"(?<![\w'’-])(?:(?P<he>he|him|his)|(?P<she>she|hers?)|(?P<they>they|them|theirs?)|(?P<it>its?))"
    r"(?P<clitic>['’](?:re|ve|ll|d|s))?(?![\w-])",
    re.IGNORECASE,
)
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
_ASKS_NAME = re.compile(r"^\W*(?:(?:and|so|but|then)\s+)?(?:\w+\s+)?(?:who|whom|which|what)\b", re.IGNORECASE)
_BESIDE = re.compile(r"[\"”’]?\s*(?:,|and|or|vs\.?|versus|,\s*(?:and|or))\s*(?:the\s+)?[\"“‘]?", re.IGNORECASE)
LONGEST_DEPENDENT, LONGEST_WITH_NAMES = 13, 10
"""Words of a query beyond which its pronouns are taken to stand for something in it."""
MOST_OWN_WORDS = 2
"""Content words up to which a question is about its one name, and "else" or "another" means the question before."""
MOST_OPTIONS = 5


class EnglishFollowUp(FollowUp):
    """An English query being made to stand alone."""

    def rewritten(self) -> Standalone:
        """Return the query with its antecedents inserted, or its context added; untouched where it needs neither."""
        self.heading = self._find_heading()
        heading = self.heading.text if self.heading else ""
        self.topic = topic_tokens(heading) or frozenset(tokens(heading))
        self.names = self._salient_names()
        mentioned = " ".join(name.text for name in self.names)
        self.named = [name for name in names_in(self.query) if not name.opening or name.text in mentioned]
        self.names_topic = bool(self.topic & frozenset(tokens(self.query)))
        self.long = len(self.query.split()) > (LONGEST_WITH_NAMES if self.named else LONGEST_DEPENDENT)
        item = None if self.named else self.item()
        return self._filled() or item or self._pronouns() or self._dependent()

    def _find_heading(self) -> Antecedent | None:
        """Return the topic where it was stated as such: by a label, or by a first message that is a title."""
        for index in range(len(self.history) - 1, -1, -1):
            if label := self.history[index].topic:
                return Antecedent(label, index)
        text = " ".join(text_of(self.history[0]).split())
        return Antecedent(without_qualifier(text).strip(' ."“”'), 0) if is_heading(text) else None

    def _salient_names(self) -> list[Antecedent]:
        """Return the names of the last turns, each once: the last question's, those asked about, those in answers."""
        turns = sorted(self.recent, key=lambda index: self.history[index].role != "user")
        texts = [Antecedent(text_of(self.history[index]), index) for index in turns]
        found: dict[str, Antecedent] = {}
        for text, index in [*([self.before] if self.before else []), *texts]:
            for name in sure_names(text):
                found.setdefault(name.text, Antecedent(name.text, index))
        return list(found.values())

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
            kind = next(name for name in ("he", "she", "they", "it") if match[name])
            nature = "person" if kind in {"he", "she"} else kind
            if nature not in found and not self._bound(match, kind):
                rivals = self._rivals(kind)
                options = options or tuple(name.text for name in rivals)
                ending = "'s" if _POSSESSIVE.match(self.query, match.start(kind)) else ""
                ending += match["clitic"] or ""
                found[nature] = self.span(match), ending, (*rivals, self._antecedent(kind))[0]
        meant = [name.text for _, _, name in found.values() if name]
        if not meant:
            return next((self._in_context(span, "pronoun") for span, _, _ in found.values()), None)
        if "person" in found and len(meant) > len(set(meant)):
            found = {"person": found["person"]}  # the other pronoun stands for something else
        query = self.query
        used: list[Antecedent] = []
        for span, ending, name in sorted(found.values(), reverse=True):
            if name:
                query, used = query[: span.start] + name.text + ending + query[span.end :], [name, *used]
        spans = [span for span, _, _ in found.values()]
        alone = self.changed(query, spans[0], "pronoun", "the antecedent in the last turns", *used)
        references = tuple(dependent(span, "pronoun") for span in spans)
        antecedents = tuple(dict.fromkeys(name.text for name in used))
        return replace(alone, references=references, antecedents=antecedents, options=options)

    def _bound(self, pronoun: re.Match[str], kind: str) -> bool:
        """Whether a name before the pronoun in the query is its antecedent, or a clause that follows "it"."""
        if self.long or (kind == "it" and (self.names_topic or _EXPLETIVE.search(self.query))):
            return True
        return any(name.start < pronoun.start() for name in self.named)

    def _rivals(self, kind: str) -> Sequence[Antecedent]:
        """Return the equally good antecedents, the best first: names side by side."""
        if self.forced or kind == "they":
            return ()
        beside = _side_by_side(self.before) or (() if self.heading else _side_by_side(self._name_giving()))
        rivals = [name for name in beside if kind not in {"he", "she"} or looks_like_person(name.text)]
        return rivals if len(rivals) > 1 else ()

    def _antecedent(self, kind: str) -> Antecedent | None:
        person = kind in {"he", "she"}
        if self.forced:
            return Antecedent(self.forced, -1)
        named = next((name for name in self.names if looks_like_person(name.text) is person), None)
        if self.heading:
            return named if person and named and not looks_like_person(self.heading.text) else self.heading
        answered = self._name_given()
        if answered and self._goes_on_with(answered.text, kind):
            return answered
        candidates = [named] if person else [named, *self.names[:1]] if kind == "it" else []
        return next((name for name in candidates if name and (person or self._is_subject(name))), None)

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
        return looks_like_person(name) and not any(
            " " in other.text and looks_like_person(other.text) for other in sure_names(asked)
        )

    def _name_giving(self) -> Antecedent | None:
        """Return the sentence that answers a question for a name."""
        answer, index = last_answer(self.history)
        if self.before is None or index < self.before.source or not _ASKS_NAME.match(self.before.text):
            return None
        return Antecedent(answering(self.before.text, answer), index)

    def _name_given(self) -> Antecedent | None:
        """Return the first new name of the answer, if it is all that this says or the question asks who."""
        answer, question = self._name_giving(), self.before.text if self.before else ""
        known = frozenset(tokens(question))
        new = (name for name in names_in(answer.text if answer else "") if not frozenset(tokens(name.text)) <= known)
        name = next(new, None)
        if answer is None or name is None:
            return None
        alone = len(answer.text.split()) <= len(name.text.split()) + 2
        who = re.search(r"\bwho", question[:12], re.IGNORECASE) and not name.opening
        return Antecedent(name.text, answer.source) if alone or who else None

    def _dependent(self) -> Standalone:
        """Find what makes a query without pronouns depend on the turns before: "that", "and", "else", nothing named."""
        if self.names_topic or self.long:
            return Standalone()
        if match := _DEMONSTRATIVE.search(self.query):
            return self._in_context(self.span(match), "pronoun")
        own = topic_tokens(self.query)
        bare = not self.named and len(own) <= (MOST_OWN_WORDS if _ADDS.search(self.query) else 0)
        match = _CONTINUES.match(self.query)
        again = {name.text for name in self.named} & {name.text for name in self.names}
        if again or not (match or bare):
            return Standalone()
        return self._in_context(self.span(match) if match else self.whole, "continuation")

    def _in_context(self, span: Span, kind: Kind) -> Standalone:
        """Return the query with the heading of the conversation, or else with the question before it, in brackets."""
        if self.names_topic:
            return Standalone()
        if self.heading is None:
            return self.in_context(span, kind, answered=kind == "pronoun")
        alone = with_context(self.query, self.heading.text)
        return self.changed(alone, span, kind, "the heading", self.heading, sure=False)


def _side_by_side(said: Antecedent | None) -> tuple[Antecedent, ...]:
    """Return the names that a text puts side by side before anything else ("A and B", "A or B")."""
    names = sure_names(said.text) if said else []
    if said is None or len(names) < 2:
        return ()
    gaps = [said.text[one.start + len(one.text) : other.start] for one, other in pairwise(names)]
    apart = next((place for place, gap in enumerate(gaps) if not _BESIDE.fullmatch(gap)), len(gaps))
    if apart == 0 or (apart < len(gaps) and said.text.rstrip().endswith("?")):
        return ()
    return tuple(Antecedent(name.text, said.source) for name in names[: min(apart + 1, MOST_OPTIONS)])
