"""What of an ontology a question speaks of: classes, attributes, relations, samples, values, ranges and times.

Pure: the same question and ontology give the same matches. Both the graph retrieval and the SQL path start here. What
is named by its labels is found with its place; a label whose words stand apart is found by overlap.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime

from theworld.ontology.lookup import Lookup
from theworld.ontology.model import Attribute, Ref
from theworld.ontology.questions.names import (
    OWNERLESS,
    SCORES,
    Match,
    Name,
    NumberConstraint,
    QueryMatches,
    Range,
    distinct_names,
    load_comparisons,
    named_elements,
    number_constraints,
    owner_of,
    parts_of_relations,
)
from theworld.questions import Question, read_question
from theworld.text import tokens
from theworld.text.phrases import Found, PhraseTable, longest, units

OVERLAP_SCORE = 0.6
LEAST_OVERLAP = 0.5
"""Share of a label's (idf-weighted) words that must be in the question."""
MOST_OVERLAPS = 3
NUMERIC = frozenset({"number", "integer"})


class Matcher:
    """Recognises the elements of one ontology in questions; made once per ontology, thread-safe."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        load_comparisons()  # read now, not within the first question's deadline
        named = list(named_elements(lookup))
        self._table: PhraseTable[Name] = PhraseTable(named)
        self._labels: dict[str, list[Ref]] = defaultdict(list)
        for label, name in named:
            if name.kind in {"label", "synonym"} and name.ref not in self._labels[label]:
                self._labels[label].append(name.ref)
        self._words = {label: tuple(dict.fromkeys(tokens(label))) for label in self._labels}
        frequency = Counter(word for words in self._words.values() for word in words)
        self._idf = {word: math.log(1 + len(self._words) / n) for word, n in frequency.items()}
        self._relations_with = parts_of_relations(lookup)
        self._with: dict[str, list[str]] = defaultdict(list)
        for label, words in self._words.items():
            for word in words:
                self._with[word].append(label)

    def match(self, question: str, *, now: datetime | None = None) -> QueryMatches:
        """Return what a question speaks of; times only where `now`, the moment they refer to, is given."""
        asked = read_question(question)
        times = asked.times(now) if now else ()
        spans = [time.place for time in times]
        numbers = [
            number
            for number in number_constraints(asked)
            if not any(start < number.end and number.start < end for start, end in spans)
        ]
        inside = self._table.find(asked.units)
        found = [one for one in inside if not any(start < one.end and one.start < end for start, end in spans)]
        chosen = longest(found)
        matches = self._resolved(chosen, question)
        places = {(one.start, one.end) for one in chosen}
        inner = [one for one in found if (one.start, one.end) not in places]
        nested = [_match(name, one, question) for one in inner for name in distinct_names(one.payloads)]
        known = {match.ref for match in matches}
        matches += [match for match in self._overlapping(asked) if match.ref not in known]
        return QueryMatches(tuple(matches), tuple(nested), self._ranges(numbers, matches), times)

    def named_relations(self, matches: QueryMatches) -> frozenset[str]:
        """Return the relations that the question names, also by a part of their names: 担保 names 提供担保."""
        found = {match.ref.key for match in (*matches.matches, *matches.nested) if match.ref.kind == "Relation"}
        for match in (*matches.matches, *matches.nested):
            found |= self._relations_with.get(tuple(unit.value for unit in units(match.text)), frozenset())
        return frozenset(found)

    def phrases(self, text: str) -> list[Found[Name]]:
        """Return all names in a text, without choosing among them."""
        return self._table.find(read_question(text).units)

    def _resolved(self, chosen: Sequence[Found[Name]], question: str) -> list[Match]:
        """Of elements that share a name, keep those that fit the classes the rest of the question is about."""
        about = self._classes_of(*(one.payloads[0].ref for one in chosen if len(one.payloads) == 1))
        matches: list[Match] = []
        for i, one in enumerate(chosen):
            names = distinct_names(one.payloads)
            fitting = [name for name in names if owner_of(name.ref) in about or name.ref.kind in OWNERLESS]
            # A single letter is a value only where something else speaks of its class.
            if one.end - one.start == 1 and question[one.start].isascii() and not fitting:
                continue
            matches += [_match(name, one, question) for name in self._nearest(fitting or names, chosen[:i])]
        return matches

    def _nearest(self, names: Sequence[Name], before: Sequence[Found[Name]]) -> Sequence[Name]:
        """Of attributes or values of several classes, keep those of the class that was named last before them."""
        if len(names) < 2 or any(name.ref.kind != "Attribute" for name in names):
            return names
        for one in reversed(before):
            classes = self._classes_of(*(name.ref for name in one.payloads))
            kept = [name for name in names if owner_of(name.ref) in classes]
            if kept:
                return kept
        return names

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

    def _overlapping(self, question: Question) -> list[Match]:
        """Return elements with a label of several words, most of which stand somewhere in the question."""
        asked = set(question.tokens)
        best: dict[Ref, float] = {}
        for label in dict.fromkeys(label for word in sorted(asked) for label in self._with.get(word, ())):
            words = self._words[label]
            if len(words) < 2:
                continue
            total = sum(self._idf[word] for word in words)
            share = sum(self._idf[word] for word in words if word in asked) / total
            if share >= LEAST_OVERLAP:
                for ref in self._labels[label]:
                    best[ref] = max(best.get(ref, 0.0), share)
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:MOST_OVERLAPS]
        return [Match(ref, "overlap", OVERLAP_SCORE * share) for ref, share in ranked]

    def _ranges(self, numbers: Sequence[NumberConstraint], matches: Sequence[Match]) -> tuple[Range, ...]:
        """Give each number the nearest numeric attribute named in the question, one before it preferred."""
        attributes = ((match, self.lookup.elements.get(match.ref)) for match in matches if match.end > match.start)
        numeric = [match for match, one in attributes if isinstance(one, Attribute) and one.type in NUMERIC]
        found = []
        for number in numbers:
            near = min(
                numeric,
                key=lambda m: (number.start - m.end if m.end <= number.start else 3 + m.start - number.end, m.start),
                default=None,
            )
            found.append(Range(number, near.ref if near else None))
        return tuple(found)


def _match(name: Name, one: Found[Name], question: str) -> Match:
    return Match(name.ref, name.kind, SCORES[name.kind], one.start, one.end, question[one.start : one.end], name.value)
