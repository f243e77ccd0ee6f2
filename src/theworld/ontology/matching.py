"""What of an ontology a question speaks of: classes, attributes, relations, samples, values, ranges and times.

The names of its elements, and what is recognised of them and where, with how sure that makes us. Pure: the same
question and ontology give the same matches.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import combinations, zip_longest
from typing import Literal, NamedTuple

from theworld.ontology.clauses import description_words
from theworld.ontology.lookup import End, Lookup
from theworld.ontology.model import Attribute, Ref
from theworld.packages import load_table
from theworld.questions import Question, read_question
from theworld.text.phrases import Found, PhraseTable, longest, units
from theworld.text.quantities import Quantity
from theworld.text.time_ranges import TimeRange
from theworld.text.tokens import has_ideographs

Comparison = Literal["at_least", "more_than", "at_most", "less_than", "equal", "between"]
"""How a value must stand to the limit; `between` includes both limits."""

_RANGE = re.compile(r"\s*(到|至|~|～|-|—|–|和|与|and|to)\s*$", re.IGNORECASE)
_BETWEEN = re.compile(r"(?:between|from|介于|在|从)\s*$", re.IGNORECASE)


class NumberConstraint(NamedTuple):
    """A comparison with one number, or with two for `between`."""

    start: int
    end: int
    comparison: Comparison
    low: Quantity
    high: Quantity | None = None
    attribute: Ref | None = None
    """The one it most likely speaks of, where a matcher was asked."""


@cache
def load_comparisons() -> tuple[tuple[re.Pattern[str], Mapping[str, Comparison]], ...]:
    """Return the pattern of the words before a number with what each says, and that of the words behind it."""
    table = load_table("theworld.ontology", "data/comparisons.yaml")
    sides: dict[str, dict[str, Comparison]] = {"before": {}, "after": {}}
    for comparison, words in table.items():
        for side, known in sides.items():
            known.update((word, comparison) for language in ("zh", "en") for word in words[side][language])
    before, after = (sorted(known, key=len, reverse=True) for known in sides.values())
    lead = "|".join(rf"(?<![a-z]){word}" if word.isascii() else word for word in before)
    rest = "|".join(rf"{word}(?![a-z])" if word.isascii() else word for word in after)
    patterns = re.compile(rf"(?P<word>{lead})\s*$"), re.compile(rf"\s*(?P<word>{rest})")
    return tuple(zip(patterns, sides.values(), strict=True))


def number_constraints(question: Question) -> Iterator[NumberConstraint]:
    """Yield the comparisons with numbers in a question, in order."""
    text, numbers, taken = question.simplified, question.amounts, None
    for low, high in zip_longest(numbers, numbers[1:]):
        if low is taken:
            continue
        begin = _BETWEEN.search(text, 0, low.start)
        joint = _RANGE.match(text[low.end : high.start]) if high is not None else None
        if high is not None and joint and (begin or joint[1].lower() not in {"and", "和", "与"}):
            # "10 to 20 million": the scale said once holds for both.
            bare = low.scale == 1 and not low.unit
            least = low._replace(scale=high.scale, unit=high.unit) if bare else low
            yield NumberConstraint(begin.start() if begin else low.start, high.end, "between", least, high)
            taken = high
            continue
        (before, leading), (after, following) = load_comparisons()
        if behind := after.match(text.lower(), low.end):
            yield NumberConstraint(low.start, behind.end(), following[behind["word"]], low)
        elif lead := before.search(text.lower(), 0, low.start):
            yield NumberConstraint(lead.start(), low.end, leading[lead["word"]], low)


MatchKind = Literal["label", "synonym", "inverse", "value", "source_role", "target_role"]
"""How an element was recognised; by a role only within a description."""

SCORES: Mapping[MatchKind, float] = {"label": 1.0, "inverse": 1.0, "synonym": 0.9, "value": 0.9}
"""How sure a name found makes us."""


@dataclass(frozen=True, slots=True)
class Match:
    """One element that the question speaks of."""

    ref: Ref
    kind: MatchKind
    score: float
    """In (0, 1]."""
    start: int = 0
    """Where it stands in the question."""
    end: int = 0
    text: str = ""
    """The words of the question."""
    value: str = ""
    """Id of the enum value, for kind `value`."""


@dataclass(frozen=True, slots=True)
class QueryMatches:
    """Everything recognised in one question."""

    matches: tuple[Match, ...] = ()
    """By place; of overlapping names the longest."""
    nested: tuple[Match, ...] = ()
    """Names inside longer ones: 交易 in 交易波动."""
    ranges: tuple[NumberConstraint, ...] = ()
    times: tuple[TimeRange, ...] = ()


class Name(NamedTuple):
    """What a phrase stands for."""

    ref: Ref
    kind: MatchKind
    value: str = ""
    """Id of the enum value, for kind `value`; `ref` is its attribute then."""


ROLES: Mapping[str, End] = {"source_role": "source", "target_role": "target"}
SUBJECTS: Mapping[str, End] = {"label": "source", "synonym": "source", "inverse": "target"}
"""Which end of a relation a role is, and which is the subject of a verb."""


def owner_of(ref: Ref) -> str:
    """Return the class that a class or attribute belongs to; nothing for the other kinds."""
    return ref.key.partition(".")[0] if ref.kind in {"OntologyClass", "Attribute"} else ""


def distinct_names(names: Sequence[Name]) -> list[Name]:
    """Return the names, each element once, by the name that makes surest."""
    best: dict[tuple[Ref, str], Name] = {}
    for name in names:
        known = best.setdefault((name.ref, name.value), name)
        best[name.ref, name.value] = max(known, name, key=lambda one: SCORES[one.kind])
    return list(best.values())


def named_elements(lookup: Lookup) -> Iterable[tuple[str, Name]]:
    """Yield every phrase with what it stands for: labels, synonyms, inverse names, enum values."""
    for ref, element in lookup.ontology.elements():
        for labels in (element.labels.zh, element.labels.en):
            for i, label in enumerate(labels):
                yield label, Name(ref, "label" if i == 0 else "synonym")
        if isinstance(element, Attribute):
            for value in element.values:
                bare = () if "_" in value.id else (value.id,)  # an id with underscores is only a code
                yield from ((label, Name(ref, "value", value.id)) for label in value.labels.all() or bare)
    for relation in lookup.ontology.relations:
        for label in relation.inverse.all():
            yield label, Name(Ref("Relation", relation.id), "inverse")


def descriptive_names(lookup: Lookup) -> Iterator[tuple[str, Name]]:
    """Yield the roles of relations, and the parts by which names are recognised: 担保 of 提供担保, 成立 of 成立日期."""
    for relation in lookup.ontology.relations:
        ref = Ref("Relation", relation.id)
        yield from ((role, Name(ref, "source_role")) for role in relation.roles.source.all())
        yield from ((role, Name(ref, "target_role")) for role in relation.roles.target.all())
        yield from ((part, Name(ref, "label")) for part in _parts(relation.labels.all()))
        yield from ((part, Name(ref, "inverse")) for part in _parts(relation.inverse.all()))
    for ref, element in lookup.ontology.elements():
        if ref.kind == "Attribute":
            yield from ((part, Name(ref, "label")) for part in _parts(element.labels.zh))


def _parts(labels: Iterable[str]) -> Iterator[str]:
    function = description_words()["en"]["function"]
    for label in labels:
        pieces, words = units(label), label.split()
        if pieces and has_ideographs(pieces[0].value):
            yield from (label[:2], label[2:]) if len(pieces) == 4 else ()  # two words of two characters
        elif words and words[0].casefold() not in function:
            ends = (n for n in range(1, len(words)) if words[n - 1].casefold() not in function)
            yield from (" ".join(words[:n]) for n in ends)


class Matcher:
    """Recognises the elements of one ontology in questions; made once per ontology, thread-safe."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        load_comparisons()  # read now, not within the first question's deadline
        self.table: PhraseTable[Name] = PhraseTable(named_elements(lookup))
        """Finds all names in a text, without choosing among them."""
        self._relations_with: dict[tuple[str, ...], set[str]] = defaultdict(set)
        """By every run of units in a relation's names the relations that have it."""
        for relation in lookup.ontology.relations:
            for label in (*relation.labels.all(), *relation.inverse.all()):
                values = tuple(unit.value for unit in units(label))
                for i, j in combinations(range(len(values) + 1), 2):
                    self._relations_with[values[i:j]].add(relation.id)

    def match(self, question: str, *, now: datetime | None = None) -> QueryMatches:
        """Return what a question speaks of; times only where `now`, the moment they refer to, is given."""
        asked = read_question(question)
        times = asked.times(now) if now else ()

        def apart(one: NumberConstraint | Found[Name]) -> bool:
            """Return whether it stands outside of the times."""
            return not any(start < one.end and one.start < end for start, end in (time.place for time in times))

        numbers = list(filter(apart, number_constraints(asked)))
        found = list(filter(apart, self.table.find(asked.units)))
        chosen = longest(found)
        matches = self._resolved(chosen, question)
        inner = [one for one in found if one not in chosen]
        nested = [_match(name, one, question) for one in inner for name in distinct_names(one.payloads)]
        return QueryMatches(tuple(matches), tuple(nested), tuple(self._ranges(numbers, matches)), times)

    def named_relations(self, matches: QueryMatches) -> frozenset[str]:
        """Return the relations that the question names, also by a part of their names: 担保 names 提供担保."""
        said = (tuple(unit.value for unit in units(one.text)) for one in (*matches.matches, *matches.nested))
        return frozenset[str]().union(*(self._relations_with.get(run, ()) for run in said))

    def _resolved(self, chosen: Sequence[Found[Name]], question: str) -> list[Match]:
        """Of elements that share a name, keep those that fit the classes the rest of the question is about."""
        about = self._classes_of(*(one.payloads[0].ref for one in chosen if len(one.payloads) == 1))
        matches: list[Match] = []
        for i, one in enumerate(chosen):
            names = distinct_names(one.payloads)
            fitting = [name for name in names if owner_of(name.ref) in {*about, ""}]
            # A single letter is a value only where something else speaks of its class.
            if one.end - one.start == 1 and question[one.start].isascii() and not fitting:
                continue
            kept = fitting or names
            if len(kept) > 1 and all(name.ref.kind == "Attribute" for name in kept):
                # Of attributes or values of several classes those of the class that was named last before them.
                before = (self._classes_of(*(name.ref for name in one.payloads)) for one in reversed(chosen[:i]))
                nearest = ([name for name in kept if owner_of(name.ref) in classes] for classes in before)
                kept = next(filter(None, nearest), kept)
            matches += [_match(name, one, question) for name in kept]
        return matches

    def _classes_of(self, *refs: Ref) -> set[str]:
        """Return the classes that elements belong to or are between, with what these inherit."""
        lookup, classes = self.lookup, set[str]()
        for kind, key in refs:
            if kind == "Relation":
                classes |= {lookup.relations[key].source, lookup.relations[key].target}
            elif kind == "Capability":
                classes |= {end.partition(".")[0] for end in lookup.capabilities[key].inputs}
            else:
                classes.add(lookup.samples[key].of if kind == "EntitySample" else key.partition(".")[0])
        return {owner for id_ in classes & set(lookup.classes) for owner in lookup.ancestors(id_)}

    def _ranges(self, numbers: Sequence[NumberConstraint], matches: Sequence[Match]) -> Iterator[NumberConstraint]:
        """Give each number the nearest numeric attribute named in the question, one before it preferred."""
        attributes = ((match, self.lookup.elements[match.ref]) for match in matches)
        numeric = [m for m, one in attributes if isinstance(one, Attribute) and one.type in {"number", "integer"}]
        for number in numbers:
            near = min(
                numeric,
                key=lambda m: (number.start - m.end if m.end <= number.start else 3 + m.start - number.end, m.start),
                default=None,
            )
            yield number._replace(attribute=near.ref if near else None)


def _match(name: Name, one: Found[Name], question: str) -> Match:
    return Match(name.ref, name.kind, SCORES[name.kind], one.start, one.end, question[one.start : one.end], name.value)
