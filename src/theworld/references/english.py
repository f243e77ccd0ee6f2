"""English follow-ups: an ellipsis gets the last question's frame, an ordinal its item, a pronoun its antecedent.

That is the heading of the conversation, or without one the name that the last answer gives, or one that agrees and is
all that the last questions are about. What has none keeps its words and gets the question before in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise, takewhile

from theworld.references.context import PREPOSITION, Antecedent, FollowUp, Span, Standalone, dependent
from theworld.references.frames import CLOSING, FINITE, ORDINAL
from theworld.references.history import text_of, told
from theworld.references.topics import answering, is_heading, looks_like_person, names_in, sure_names, topic_tokens
from theworld.text import without_qualifier
from theworld.text.sentences import in_frame
from theworld.text.tokens import fold_in_place, token_set

_PRONOUN = re.compile(
    r"(?i)(?<![\w'’-])(?:(?P<he>he|him|his)|(?P<she>she|hers?)|(?P<they>they|them|theirs?)|(?P<it>its?))"
    r"(?P<clitic>['’](?:re|ve|ll|d|s))?(?![\w-])"
)
_CAPITALISED = re.compile(r"\b[A-Z]\w*")
_POSSESSIVE = re.compile(
    r"(?i)(?:his|hers|theirs?|its)\b|her\s+(?!(?:to|for|in|on|at|with|by|from|of|as|and|or|but|when|after|before|the|an?)\b)\w"
)
_DETERMINERS = frozenset({"a", "an", "the", "this", "any", "every", "each", "no", "my", "your", "our"})
_EXPLETIVE = re.compile(
    r"(?i)\b(?:(?:is|was|be)\s+it|it\s+(?:is|was|takes?|means?|costs?))\s+(?:\w+\s+)?(?:that|to)\b"
    r"|\b(?:an?|if the) [\w-]+.*\bits?\b"
)  # It stands for the clause that follows ("Is it safe to ..."), or for what came before ("May a pot boil if it ...")
_DEMONSTRATIVE = re.compile(
    r"(?i)(?:\b(?:this|these|those(?!\s+who\b)|such\s+an?|the\s+(?:(?!only)[\w-]+\s+)?ones?(?!\s+(?:who|that|which|of|with|in)\b)"
    rf"|which\s+ones?(?!\s+of\b)|(?:the\s+(?:two|three)|both|either)(?=\W*$)|{PREPOSITION}\s+there)\b|\b(?:afterwards?|beforehand|otherwise|instead)\W*$"
    r"|(?:^|[,;:]|\b(?:is|was|are|were|did|does|do|has|have|had|will|would|can|could|of|in|on|at|to|by|for|from|with|about"
    r"|after|before|like|during|than|since|until|over|and|or|but|so|why|how|what|when|where|who|because))\s*\bthat\b(?!\s+of\b)"
    r"|\bthat\W*$)"
)
_CONTINUES = re.compile(
    r"(?i)^\W*(?:(?:and|but|so|or|also|no|not|sorry|wait|actually|go on|continue|done|then)\b|(?:what|how) about\b)"
)
_ADDS = re.compile(
    r"(?i)\b(?:else|others?|another|more|next)\b|\b(?:there|ones?)\W*$|^\W*any|^\W*(?:what|how|which)\S*\s(?:\S+\s+)?the(?:\s+\S+){1,2}\s*$"
)  # More of what was asked about, or what it has: "What's the size limit?"; where and who ask about a thing itself
_CLAUSE = re.compile(
    rf"\b(?:{FINITE}|wh(?:at|ich|om?|ose|en|ere|y)|how|if|it|its|he|his|him|she|her|they|their|them|this|that|these|those|there|else|other)\b",
    re.IGNORECASE,
)
_MARK = r"(?:(?:and|or|but)\b(?:\s+(?:what|how)\s+about)?|(?:what|how)\s+about)\s+"
_VALUE = r"(?P<value>(?:[^?.!]|\.(?=\w)){1,60}?)\s*[?.!]*\s*$"
_FRAGMENT = re.compile(rf"^\W*(?:{_MARK})?{_VALUE}", re.IGNORECASE)
_BEGINS_WITHIN = re.compile(rf"(?i)\W*{PREPOSITION}\s")  # in what was said before
_ASKS_NAME = re.compile(r"^\W*(?:(?:and|so|but|then)\s+)?(?:\w+\s+)?(?:(?P<who>whom?)|which|what)\b", re.IGNORECASE)
_BESIDE = re.compile(r"[\"”’]?\s*(?:,|and|or|vs\.?|versus|,\s*(?:and|or))\s*(?:the\s+)?[\"“‘]?", re.IGNORECASE)
LONGEST_DEPENDENT, LONGEST_WITH_NAMES = 13, 10
"""Words of a query beyond which its pronouns are taken to stand for something in it."""
MOST_OWN_WORDS = 2
"""Content words up to which a question is about its one name, and "else" or "another" means the question before."""
LONGEST_FRAGMENT, MOST_OPTIONS = 4, 5


class EnglishFollowUp(FollowUp):
    """An English query being made to stand alone."""

    filler = re.compile(rf"(?i)^\W*{_MARK}(?!.*{_CLAUSE.pattern}){_VALUE}")

    def rewritten(self) -> Standalone:
        """Return the query with its antecedents inserted, or its context added; untouched where it needs neither."""
        if labels := [Antecedent(message.topic, i) for i, message in enumerate(self.history) if message.topic]:
            self.heading = labels[-1]
        else:  # the topic may be stated as such: a title and a section as first messages
            first = [" ".join(text_of(message).split()) for message in self.history[:2]]
            if len(first) > 1 and all(map(is_heading, first)):
                self.heading = Antecedent(without_qualifier(first[0]).strip(' ."“”'), 0)
        self.named = sure_names(self.query)
        self.long = len(self.query.split()) > (LONGEST_WITH_NAMES if self.named else LONGEST_DEPENDENT)
        asks = self.query.rstrip().endswith("?") or _BEGINS_WITHIN.match(self.query) is not None
        asks = asks and not _CLAUSE.search(self.query)
        self.fragment = asks and len(self.query.split()) <= LONGEST_FRAGMENT  # "E501?", "without a licence"
        filler = (_FRAGMENT if self.fragment else self.filler).match(self.query)
        filled = self.item() or (self.refill(filler["value"]) if filler else None)
        return filled or self._pronouns() or self._dependent(fills=filler is not None)

    @cached_property
    def names(self) -> list[Antecedent]:
        """The names of the last turns, each once: the last question's, those asked about, those in answers."""
        turns = sorted(self.recent, key=lambda index: self.history[index].role != "user")
        texts = [Antecedent(self.said(index), index) for index in turns]
        found: dict[str, Antecedent] = {}
        for text, index in [Antecedent(" ".join(self.frame), self.before.source), *texts]:
            for name in sure_names(text):
                found.setdefault(name.text, Antecedent(name.text, index))
        return list(found.values())

    def _pronouns(self) -> Standalone | None:
        """Replace the pronouns that stand for something before the query, the first of each kind; None without any."""
        found: dict[str, tuple[Span, str, Antecedent | None]] = {}  # of each kind: its ending, what it stands for
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
        # Two kinds do not stand for the same: of these the less telling one stays.
        telling = {found[nature][2]: found[nature] for nature in ("it", "they", "person") if nature in found}
        replaced = sorted((span, ending, name) for span, ending, name in telling.values() if name)
        if not replaced:
            return next((self.in_context(span, "pronoun") for span, _, _ in found.values()), None)
        query, used = self.query, [name for _, _, name in replaced]
        for span, ending, name in reversed(replaced):
            query = query[: span.start] + name.text + ending + query[span.end :]
        references = tuple(dependent(span, "pronoun") for span, _, _ in found.values())
        alone = self.changed(query, references[0].span, "pronoun", "the antecedent in the last turns", *used)
        antecedents = tuple(dict.fromkeys(name.text for name in used))
        return replace(alone, references=references, antecedents=antecedents, options=options)

    def _bound(self, pronoun: re.Match[str], kind: str) -> bool:
        """Whether a pronoun stands for a name before it in the query, for a clause, or for what a long query has."""
        named = any(name.start + len(name.text) <= pronoun.start(kind) for name in self.named)
        empty = _EXPLETIVE.finditer(self.query) if kind == "it" else ()
        clause = any(match.start() <= pronoun.start(kind) < match.end() for match in empty)
        other = kind != "it" or not _DETERMINERS.isdisjoint(self.query[: pronoun.start(kind)].lower().split())
        return (self.long and other) or pronoun[kind] == "IT" or named or clause

    def _rivals(self, kind: str) -> Sequence[Antecedent]:
        """Return the equally good antecedents, the best first: names that the question before puts side by side."""
        if self.forced or kind == "they":
            return ()
        text, names = self.before.text, sure_names(self.before.text)
        gaps = [text[one.start + len(one.text) : other.start] for one, other in pairwise(names)]
        beside = len(list(takewhile(_BESIDE.fullmatch, gaps)))
        named = (name.text for name in names[: min(beside + 1, MOST_OPTIONS)])
        rivals = [Antecedent(name, self.before.source) for name in named if kind == "it" or looks_like_person(name)]
        return rivals if len(rivals) > 1 else ()

    def _antecedent(self, kind: str) -> Antecedent | None:
        person = kind in {"he", "she"}
        if self.forced:
            return Antecedent(self.forced, -1)
        named = next((name for name in self.names if self._is_person(name) is person), None)
        if self.heading:
            return named if person and named and not looks_like_person(self.heading.text) else self.heading
        if kind == "they":
            return None
        if answered := self._name_given(kind):
            return answered
        if person:
            return named
        # "It" can mean nothing but the one name that the last question is about, with little else, and no filler.
        own = topic_tokens(self.before.text)
        about = (name for name in self.names if name.text in self.before.text and not in_frame(self.before.text)[1])
        return next((name for name in about if len(own - topic_tokens(name.text)) < MOST_OWN_WORDS), None)

    def _is_person(self, name: Antecedent) -> bool:
        """Whether a name may be a person's: "Albums" is nobody where "album" is a word, nor a capital in passages."""
        usual = token_set(_CAPITALISED.sub(" ", " ".join(map(self.said, self.recent))))
        said = self.history[name.source]
        return told(said) == (said.content or "") and looks_like_person(name.text) and not token_set(name.text) <= usual

    def _name_given(self, kind: str) -> Antecedent | None:
        """Return the new name in the answer to a question that asks who, or for "it" what, if it is all that this says.

        A person may be named in the sentence that answers. None where the question already spoke of someone.
        """
        asks, (said, index) = _ASKS_NAME.match(self.before.text), self.answer
        if asks is None or bool(asks["who"]) is (kind == "it"):
            return None
        others = (name.text for name in sure_names(self.asked) if asks["who"] and " " in name.text)
        if any(match[kind] for match in _PRONOUN.finditer(self.asked)) or any(map(looks_like_person, others)):
            return None
        answer, known = answering(self.before.text, said), token_set(self.before.text)
        name = next((name for name in names_in(answer) if not token_set(name.text) <= known), None)
        if name is None or not (kind == "it" or looks_like_person(name.text)):
            return None
        fits = answer.strip(CLOSING) == name.text or (asks["who"] and not name.opening)
        return Antecedent(name.text, index) if fits else None

    def _dependent(self, *, fills: bool) -> Standalone:
        """Find what makes a query without pronouns depend on the turns before: "that", "and", "else", nothing named."""
        if self.long:
            return Standalone()
        ordinal = ORDINAL.search(fold_in_place(self.query))
        if match := _DEMONSTRATIVE.search(self.query) or (None if ordinal and ordinal["noun"] else ordinal):
            return self.in_context(self.span(match), "pronoun")
        few = not self.heading and self.query.rstrip().endswith("?") and len(self.query.split()) < LONGEST_FRAGMENT
        most = MOST_OWN_WORDS if _ADDS.search(self.query) else int(few)
        bare = (not self.named and len(topic_tokens(self.query)) <= most) or self.fragment
        match = _CONTINUES.match(self.query)
        known = {name.text for name in self.named} & {name.text for name in self.names}
        if not (match or bare) or (known and not fills):  # "and in Docker?" asks nothing by itself
            return Standalone()
        filler = match is not None or self.fragment
        return self.in_context(self.span(match) if match else self.whole, "continuation", whole=filler)
