"""The names of an ontology's elements, and what is recognised of them in a question, with how sure that makes us."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from theworld.data_files import load_table
from theworld.ontology.lookup import End, Lookup
from theworld.ontology.model import Attribute, Ref
from theworld.ontology.questions.clauses import description_words
from theworld.questions import Question
from theworld.text.language import has_ideographs
from theworld.text.phrases import units
from theworld.text.quantities import Quantity
from theworld.text.time_ranges import TimeRange

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


@cache
def load_comparisons() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], Mapping[str, Comparison]]:
    """Return the patterns of the words before and behind a number, and what each word says."""
    table = load_table("theworld.ontology", "data/comparisons.yaml")
    sides: dict[str, dict[str, Comparison]] = {"before": {}, "after": {}}
    for comparison, words in table.items():
        for side, known in sides.items():
            known.update((word, comparison) for language in ("zh", "en") for word in words[side][language])
    before, after = (sorted(known, key=len, reverse=True) for known in sides.values())
    lead = "|".join(rf"(?<![a-z]){word}" if word.isascii() else word for word in before)
    rest = "|".join(rf"{word}(?![a-z])" if word.isascii() else word for word in after)
    patterns = re.compile(rf"(?P<word>{lead})\s*$"), re.compile(rf"\s*(?P<word>{rest})")
    return patterns, {f"{side}: {word}": one for side, known in sides.items() for word, one in known.items()}


def number_constraints(question: Question) -> list[NumberConstraint]:
    """Return the comparisons with numbers in a question, in order."""
    text, numbers = question.simplified, question.amounts
    found: list[NumberConstraint] = []
    skip = -1
    for i, low in enumerate(numbers):
        if i == skip:
            continue
        high = numbers[i + 1] if i + 1 < len(numbers) else None
        begin = _BETWEEN.search(text, 0, low.start)
        joint = _RANGE.match(text[low.end : high.start]) if high is not None else None
        if high is not None and joint and (begin or joint[1].lower() not in {"and", "和", "与"}):
            # "10 to 20 million": the scale said once holds for both.
            bare = low.scale == 1 and not low.unit
            least = low._replace(scale=high.scale, unit=high.unit) if bare else low
            found.append(NumberConstraint(begin.start() if begin else low.start, high.end, "between", least, high))
            skip = i + 1
            continue
        (before, after), said = load_comparisons()
        behind = after.match(text.lower(), low.end)
        if behind:
            found.append(NumberConstraint(low.start, behind.end(), said[f"after: {behind['word']}"], low))
        elif lead := before.search(text.lower(), 0, low.start):
            found.append(NumberConstraint(lead.start(), low.end, said[f"before: {lead['word']}"], low))
    return found


MatchKind = Literal["label", "synonym", "inverse", "value", "overlap", "source_role", "target_role"]
"""How an element was recognised; by a role only within a description."""

SCORES: Mapping[MatchKind, float] = {"label": 1.0, "inverse": 1.0, "synonym": 0.9, "value": 0.9}
"""How sure a name found makes us; overlap brings its own, lower score."""


@dataclass(frozen=True, slots=True)
class Match:
    """One element that the question speaks of."""

    ref: Ref
    kind: MatchKind
    score: float
    """In (0, 1]."""
    start: int = 0
    """Where it stands in the question; start == end for what was found without a place."""
    end: int = 0
    text: str = ""
    """The words of the question."""
    value: str = ""
    """Id of the enum value, for kind `value`."""


@dataclass(frozen=True, slots=True)
class Range:
    """A comparison with a number, and the attribute it most likely speaks of."""

    constraint: NumberConstraint
    attribute: Ref | None


@dataclass(frozen=True, slots=True)
class QueryMatches:
    """Everything recognised in one question."""

    matches: tuple[Match, ...] = ()
    """By place; of overlapping names the longest."""
    nested: tuple[Match, ...] = ()
    """Names inside longer ones: 交易 in 交易波动."""
    ranges: tuple[Range, ...] = ()
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

OWNERLESS = frozenset({"Relation", "Capability", "EntitySample"})
"""Kinds of nodes that belong to no class."""


def owner_of(ref: Ref) -> str:
    """Return the class that a class or attribute belongs to; nothing for the other kinds."""
    return ref.key.partition(".")[0] if ref.kind in {"OntologyClass", "Attribute"} else ""


def distinct_names(names: Sequence[Name]) -> list[Name]:
    """Return the names, each element once, by the name that makes surest."""
    best: dict[tuple[Ref, str], Name] = {}
    for name in names:
        known = best.get((name.ref, name.value))
        if known is None or SCORES[name.kind] > SCORES[known.kind]:
            best[name.ref, name.value] = name
    return list(best.values())


def named_elements(lookup: Lookup) -> Iterable[tuple[str, Name]]:
    """Yield every phrase with what it stands for: labels, synonyms, inverse names, enum values."""
    for ref, element in lookup.ontology.elements():
        for language in ("zh", "en"):
            for i, label in enumerate(element.labels.zh if language == "zh" else element.labels.en):
                yield label, Name(ref, "label" if i == 0 else "synonym")
        if isinstance(element, Attribute):
            for value in element.values:
                labels = value.labels.all()  # an id is only a code where it has other names, or underscores
                bare = () if labels or "_" in value.id else (value.id,)
                yield from ((label, Name(ref, "value", value.id)) for label in (*labels, *bare))
    for relation in lookup.ontology.relations:
        for label in relation.inverse.all():
            yield label, Name(Ref("Relation", relation.id), "inverse")


def parts_of_relations(lookup: Lookup) -> dict[tuple[str, ...], frozenset[str]]:
    """Return by every run of units in a relation's names the relations that have it."""
    found: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for relation in lookup.ontology.relations:
        for label in (*relation.labels.all(), *relation.inverse.all()):
            values = tuple(unit.value for unit in units(label))
            for i in range(len(values)):
                for j in range(i + 1, len(values) + 1):
                    found[values[i:j]].add(relation.id)
    return {run: frozenset(ids) for run, ids in found.items()}


def descriptive_names(lookup: Lookup) -> Iterator[tuple[str, Name]]:
    """Yield the roles of relations, and the parts by which names are recognised: 担保 of 提供担保, 成立 of 成立日期."""
    function = set(description_words()["en"]["function"])
    for relation in lookup.ontology.relations:
        ref = Ref("Relation", relation.id)
        yield from ((role, Name(ref, "source_role")) for role in relation.roles.source.all())
        yield from ((role, Name(ref, "target_role")) for role in relation.roles.target.all())
        for label in relation.labels.all():
            yield from ((part, Name(ref, "label")) for part in _parts(label, function))
        for label in relation.inverse.all():
            yield from ((part, Name(ref, "inverse")) for part in _parts(label, function))
    for ref, element in lookup.ontology.elements():
        for label in element.labels.zh if ref.kind == "Attribute" else ():
            yield from ((part, Name(ref, "label")) for part in _parts(label, function))


def _parts(label: str, function: Container[str]) -> Iterator[str]:
    pieces = units(label)
    if pieces and has_ideographs(pieces[0].value):
        if len(pieces) == 4:  # two words of two characters
            yield from (label[:2], label[2:])
        return
    words = label.split()
    for n in range(1, len(words)):
        if words[n - 1].casefold() not in function and words[0].casefold() not in function:
            yield " ".join(words[:n])
