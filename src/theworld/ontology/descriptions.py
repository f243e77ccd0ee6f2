"""What a question means without naming it: "the guarantor of Reedbank Packaging" is Palepine Pulp, by the facts.

A description is resolved from the inside out and replaced by the name it stands for, so that the rest of the question
is asked about the thing itself: "由谁控股" of "采购星槎传感产品的企业" becomes a question about one company. What the
question asks for itself ("who controls X?") is not replaced: the facts are its answer.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from theworld.ontology.clauses import (
    Clause,
    Span,
    beside,
    clauses,
    description_words,
    kind_words,
    nothing_else,
    opening,
)
from theworld.ontology.lookup import Fact, Facts, Lookup
from theworld.ontology.matching import ROLES, SCORES, SUBJECTS, Matcher, Name, descriptive_names
from theworld.questions import read_question
from theworld.text import Language, tokens
from theworld.text.phrases import Found, PhraseTable, longest

MOST_DESCRIBED = 5
"""Samples that a description may stand for; more are not meant one by one."""
MOST_STEPS = 3
"""Descriptions inside each other."""
Place = tuple[int, int]


class Described(NamedTuple):
    """A description and what it stands for."""

    text: str
    """Its words in the question, inner descriptions already named."""
    samples: tuple[str, ...]
    """Ids of the samples it fits, at most `MOST_DESCRIBED`."""
    facts: tuple[Fact, ...]
    """One for each sample."""
    asked: bool
    """Whether it is what the question asks for."""
    attribute: str = ""
    """The attribute whose value is asked for, as `class.attribute`; then the sample is what has it."""


class Reading(NamedTuple):
    """A question read by the facts."""

    question: str
    """With names in the place of descriptions."""
    described: tuple[Described, ...] = ()
    """From the inside out."""
    answered: bool = False
    """Whether the last description is all that is asked, so that its samples are the answer."""


UNREAD = Reading("")
"""Nothing described."""


class _Placed(NamedTuple):
    """One description found, and where."""

    start: int
    end: int
    described: Described
    parts: tuple[Place, ...]
    """Places of the words it was read from."""


class DescriptionReader:
    """Reads questions by the facts of one ontology; made once per ontology, thread-safe."""

    def __init__(self, lookup: Lookup, matcher: Matcher) -> None:
        self._lookup, self._matcher, self.facts = lookup, matcher, Facts(lookup)
        self._more: PhraseTable[Name] = PhraseTable(descriptive_names(lookup))

    def read(self, question: str, language: Language) -> Reading:
        """Return the question, in simplified Chinese, with its descriptions named as far as the facts know them."""
        text, described = read_question(question, language).simplified, list[Described]()
        found = self._found(text, language)
        for _ in range(MOST_STEPS):
            inner = next((one for one in found if not one.described.asked and len(one.described.samples) == 1), None)
            if inner is None:
                break
            text = self._named(text, inner, language)
            described.append(inner.described)
            found = self._found(text, language)
        value = self._value_asked(text, language)
        if value is not None:
            return Reading(text, (*described, value), answered=True)
        if not found:
            return Reading(text, tuple(described))
        last = found[0]
        answered = last.described.asked and nothing_else(text, last.parts, language)
        if last.described.asked and not answered and len(last.described.samples) == 1:
            text = self._named(text, last, language)
        return Reading(text, (*described, last.described), answered)

    def _named(self, text: str, one: _Placed, language: Language) -> str:
        """Return a text with the name of the sample in place of its description."""
        name = self._lookup.samples[one.described.samples[0]].labels.preferred(language)
        return text[: one.start] + name + text[one.end :]

    def _value_asked(self, text: str, language: Language) -> Described | None:
        """Return the value that a question asks for and nothing else: X 的注册资本是多少."""
        if re.search(description_words()[language]["person"], text, re.IGNORECASE):
            return None
        samples, named = self._names(text)
        attributes = spans_of(named, "Attribute")
        if len(samples) != 1 or len(samples[0].ids) != 1 or len(attributes) != 1:
            return None
        sample = self._lookup.samples[samples[0].ids[0]]
        line = self._lookup.ancestors(sample.of)
        known = [key for key in attributes[0].ids if key.partition(".")[0] in line]
        known = [key for key in dict.fromkeys(known) if key.partition(".")[2] in sample.values]
        parts = [(one.start, one.end) for one in (samples[0], attributes[0])]
        if len(known) != 1 or not nothing_else(text, parts, language, "amount"):
            return None
        return Described(text, (sample.id,), (), asked=True, attribute=known[0])

    def _names(self, text: str) -> tuple[list[Span], list[Found[Name]]]:
        """Return the samples named in a text, and all names that stand apart from them."""
        units = read_question(text).units
        found = self._matcher.table.find(units)
        samples = [  # without the genitive after them
            one._replace(end=one.end - 2) if text[: one.end].endswith(("'s", "’s")) else one
            for one in spans_of(found, "EntitySample")
        ]
        named = [*found, *self._more.find(units)]
        return samples, [one for one in named if not any(s.start < one.end and one.start < s.end for s in samples)]

    def _found(self, text: str, language: Language) -> list[_Placed]:
        """Return the descriptions in a text, the shortest first: it is the innermost."""
        samples, named = self._names(text)
        classes = spans_of(named, "OntologyClass")
        relations = [*spans_of(named, "Relation", ROLES), *spans_of(named, "Relation", SUBJECTS)]
        said = [(one, self._resolved(text, one)) for one in clauses(text, language, relations, samples, classes)]
        read = [placed for _, placed in said]
        used = {clause.head for clause, placed in said if _known(placed)}
        read += [self._of_class(text, head, samples, language) for head in classes if head not in used]
        asked = [head for head in classes if _asked_before(text[: head.start], language)]
        for head, other in product(asked, samples):  # what of a class a name is tied to: 位于哪座城市, in which city
            fitting = self._tied(head, other)
            ties = {fact.relation for fact in fitting.values()}
            tying = [one for one in relations if ties & {named.partition(":")[2] for named in one.ids}]
            places = tuple((one.start, one.end) for one in (head, other, *tying))
            place = min(head.start, other.start), max(head.end, other.end)
            read.append(_placed(text, place, fitting, True, places))
        return sorted(
            filter(_known, read),
            key=lambda one: (one.described.asked, len(one.described.samples), one.end - one.start, one.start),
        )

    def _resolved(self, text: str, clause: Clause) -> _Placed:
        fitting: dict[str, Fact] = {}
        for named, other in product(clause.relation.ids, clause.other.ids):
            kind, _, relation = named.partition(":")
            end = (ROLES if clause.side == "owner" else SUBJECTS).get(kind)
            if end is not None and clause.side == "subject":  # described is the other end
                end = "target" if end == "source" else "source"
            fitting.update(self.facts.at(end, relation, other) if end is not None else {})
        if clause.head is not None:
            heads = {id_ for one in clause.head.ids for id_ in self._lookup.descendants(one)}
            fitting = {id_: fact for id_, fact in fitting.items() if self._lookup.samples[id_].of in heads}
        if len(fitting) > 1 and clause.modifier.strip():  # words in between choose among several
            said = set(tokens(clause.modifier))
            kept = {id_: fact for id_, fact in fitting.items() if said & self._words(id_, clause.other)}
            fitting = kept or fitting
        parts = tuple((one.start, one.end) for one in (clause.relation, clause.other, clause.head) if one is not None)
        return _placed(text, (clause.start, clause.end), fitting, clause.asked, parts)

    def _kinds(self, sample: str) -> Iterator[tuple[Fact, set[str]]]:
        """Yield what a sample is tied to by a relation that only such classes have, its industry, with its words."""
        of = self._lookup.samples[sample].of
        for relation, targets in self._lookup.samples[sample].facts.items():
            for other in targets:
                if self.facts.only_relation(of, self._lookup.samples[other].of) == relation:
                    labels = self._lookup.samples[other].labels.all()
                    yield Fact(sample, relation, other), {token for label in labels for token in tokens(label)}

    def _words(self, sample: str, other: Span) -> set[str]:
        """Return the words of a sample, of its kind, and of what ties two samples together beside the fact."""
        both = (id_ for one in other.ids for id_ in self.facts.near(sample) & self.facts.near(one))
        names = (label for id_ in (sample, *both) for label in self._lookup.samples[id_].labels.all())
        own = {token for label in names for token in tokens(label)}
        return own.union(*(words for _, words in self._kinds(sample)))

    def _tied(self, head: Span, other: Span) -> dict[str, Fact]:
        return {
            id_: fact
            for one, named in product(head.ids, other.ids)
            for id_, fact in self.facts.by_class(one, named).items()
        }

    def _of_class(self, text: str, head: Span, samples: Sequence[Span], language: Language) -> _Placed:
        """Return what a class is narrowed to by names and kinds beside it: 东屿市的机械企业, paper company."""
        before, after = beside(text, head, samples, language)
        fitting: dict[str, Fact] = {}
        parts = [(head.start, head.end)]
        start, end = head.start, head.end
        for span in (*before, *after):
            tied = self._tied(head, span)
            if tied:
                fitting = {id_: fact for id_, fact in tied.items() if not fitting or id_ in fitting}
                start, end = min(start, span.start), max(end, span.end)
                parts.append((span.start, span.end))
        kind = kind_words(text, head, language)
        if kind:
            said, everyone = set(tokens(kind)), (one.id for one in self._lookup.ontology.samples if one.of in head.ids)
            tied = {id_: fact for id_ in fitting or everyone for fact, words in self._kinds(id_) if said <= words}
            if tied:
                fitting = {id_: fitting.get(id_, fact) for id_, fact in tied.items()}
                parts.append((head.start - len(kind), head.start))
                start = min(start, head.start - len(kind))
        asked = _asked_before(text[:start], language, r"(?:\w+ )?")
        if language == "zh":
            asked = asked or bool(re.search(description_words()["zh"]["which"], text[start : end + 2]))
        else:
            start = min(start, opening(text, head.start))
        return _placed(text, (start, end), fitting, asked, tuple(parts))


def _asked_before(text: str, language: Language, between: str = "") -> bool:
    """Return whether a text ends with "which", in English with at most what is `between` after it."""
    which = description_words()[language]["which"]
    return bool(re.search(rf"{which}\s*$" if language == "zh" else rf"\b{which} {between}$", text, re.IGNORECASE))


def _placed(text: str, place: Place, fitting: Mapping[str, Fact], asked: bool, parts: tuple[Place, ...]) -> _Placed:
    return _Placed(*place, Described(text[slice(*place)], tuple(fitting), tuple(fitting.values()), asked), parts)


def _known(one: _Placed) -> bool:
    return 0 < len(one.described.samples) <= MOST_DESCRIBED


def spans_of(found: Sequence[Found[Name]], kind: str, how: Container[str] = SCORES) -> list[Span]:
    """Return the longest names of one kind, relations as `kind of name:id`."""
    named = [
        one._replace(payloads=tuple(n for n in one.payloads if n.ref.kind == kind and n.kind in how)) for one in found
    ]
    relation = kind == "Relation"
    return [
        Span(start, end, tuple(f"{name.kind}:{name.ref.key}" if relation else name.ref.key for name in names))
        for start, end, names in longest([one for one in named if one.payloads])
    ]
