"""The words of a question that mean something to a mapped database, found in one pass and read without gaps."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import ahocorasick

from theworld.ontology import Attribute
from theworld.packages import load_table
from theworld.sql.mapping import DatabaseMapping
from theworld.sql.plan import UnclearError
from theworld.text.tokens import CJK_RANGES, fold_in_place, stem

TermKind = Literal[
    "class", "attribute", "value", "relation", "inverse", "entity", "aggregate", "superlative", "compared",
    "each", "which", "unit_of_time", "joined", "passive", "unreadable", "empty",
    "period", "number", "top", "latest", "share", "who", "or", "not", "not_after", "traded", "versus",
    "role", "unmapped", "adjective", "pronoun", "one", "dated", "gone", "object",
    "several", "distinct", "first_name", "elapsed", "moment", "sequence", "had", "does",
]  # fmt: skip
"""What a stretch of a question is."""


class Meaning(NamedTuple):
    """One thing a stretch of text can mean."""

    kind: TermKind
    name: str
    """Id: of a class, `class.attribute`, `class.attribute=value`, relation, `class=key`; else the cue."""
    value: Any = None
    """What goes with it: a key, a stored value, a TimeRange, a number."""

    @property
    def owner(self) -> str:
        """The class that a class, attribute, value or entity is of."""
        return self.name.partition("=")[0].partition(".")[0]


class Term(NamedTuple):
    """A stretch of the question and all it can mean."""

    start: int
    end: int
    text: str
    meanings: tuple[Meaning, ...]
    written: str = ""
    """The stretch as the question has it; `text` is folded."""

    def of(self, *kinds: TermKind) -> tuple[Meaning, ...]:
        """Return the meanings of the given kinds."""
        return tuple(meaning for meaning in self.meanings if meaning.kind in kinds)

    def owners(self, *kinds: TermKind) -> set[str]:
        """Return the classes that the meanings of the given kinds are of."""
        return {meaning.owner for meaning in self.of(*kinds)}


def terms_of(terms: Iterable[Term], *kinds: TermKind) -> list[Term]:
    """Return the terms that can mean something of the given kinds."""
    return [term for term in terms if term.of(*kinds)]


def classes_named(terms: Iterable[Term]) -> set[str]:
    """Return the classes that terms name."""
    return {class_id for term in terms for class_id in term.owners("class")}


def classes_dated(terms: Iterable[Term]) -> set[str]:
    """Return the classes whose dates are named by verbs that are nothing else."""
    verbs = (term for term in terms if not term.of("class", "attribute", "value", "entity"))
    return {class_id for term in verbs for class_id in term.owners("dated")}


def class_of(term: Term) -> str | None:
    """Return the class that a term names, None where it names none; UnclearError for several."""
    meanings = term.of("class")
    if len(meanings) > 1:
        raise UnclearError(f"{term.text!r} means more than one thing")
    return meanings[0].name if meanings else None


Named = Iterator[tuple[str, Meaning]]
"""Folded words, each with a meaning."""


CUES: Mapping[str, Any] = load_table("theworld.sql", "data/cues.yaml")


def cue_meanings() -> Named:
    """Yield the cues: the sections that are called as a kind of term, by name where they have names."""
    for kind in (kind for kind in get_args(TermKind) if kind in CUES):
        section = CUES[kind]
        for name, words in section.items() if not {"zh", "en"} & section.keys() else [("", section)]:
            for word in (*words.get("zh", ()), *words.get("en", ())):
                yield fold_in_place(word), Meaning(kind, name or word)
    yield from ((word, Meaning("traded", word)) for forms in CUES["verbs"] for word in forms)
    for word in CUES["classifiers"]:
        yield f"一{word}", Meaning("one", word)
        yield from ((f"{last}一{word}", Meaning("latest", "")) for last in ("最近", "最后"))
        yield from ((f"{asked}{word}", Meaning("aggregate", "count")) for asked in ("多少", "几"))


def label_meanings(mapping: DatabaseMapping) -> Named:
    """Yield what the ontology's labels mean, English plurals included, and adjectives of measures (cheapest)."""
    attributes: defaultdict[str, list[str]] = defaultdict(list)
    for labels, meaning in (*_labels(mapping), *_verbs(mapping)):
        for form in dict.fromkeys(form for label in labels for form in forms_of(fold_in_place(label).strip())):
            yield form, meaning
            if meaning.kind == "attribute":
                attributes[form].append(meaning.name)
    for name, measures in CUES["adjectives"].items():
        for label, said in measures.items():
            for word in said if label in attributes else ():
                yield word, Meaning("adjective", name)
                yield from ((word, Meaning("attribute", attribute, name)) for attribute in attributes[label])


def _labels(mapping: DatabaseMapping) -> Iterator[tuple[Iterable[str], Meaning]]:
    lookup = mapping.lookup
    yield from ((lookup.classes[id_].labels.all(), Meaning("unmapped", id_)) for id_ in mapping.unmapped)
    for class_id in mapping.classes:
        yield lookup.classes[class_id].labels.all(), Meaning("class", class_id)
        for attribute in mapping.attributes[class_id].values():
            name, labels = f"{class_id}.{attribute.id}", attribute.labels.all()
            short, english = _short(labels)
            said = {label for value in attribute.values for label in value.labels.all()}
            if attribute.type == "date":  # accepted_on: the accepted date, it was accepted, the time from accepting
                labels = (*labels, *(f"{label} date" for label in english))
                yield _dated(short), Meaning("dated", name)
                going = (f"{label.removesuffix('ed')}ing" if label.endswith("ed") else label for label in english)
                yield going, Meaning("moment", name)
            yield [label for label in labels if label not in said], Meaning("attribute", name)
            for value in attribute.values:
                yield (*value.labels.all(), value.id), Meaning("value", f"{name}={value.id}", value.in_column)
    for relation, join in mapping.relations:
        yield relation.labels.all(), Meaning("relation", relation.id)
        yield relation.inverse.all(), Meaning("inverse", relation.id)
        if join.column:
            yield relation.roles.source.all(), Meaning("role", relation.id, "source")
            yield relation.roles.target.all(), Meaning("role", relation.id, "target")
    for sample in lookup.samples.values():
        if sample.of in mapping.classes and sample.key is not None:
            yield sample.labels.all(), Meaning("entity", f"{sample.of}={sample.key}", sample.key)


def forms_of(label: str) -> list[str]:
    """Return a folded label and, of an English one, its plural."""
    last = label[-1:]
    if not last.isascii() or not last.isalpha() or last == "s":
        return [label] if label else []
    if last == "y" and label[-2:-1] not in {*"aeiou"}:
        return [label, f"{label[:-1]}ies"]
    return [label, f"{label}es" if label.endswith(("x", "ch", "sh")) else f"{label}s"]


_DATE_WORDS = re.compile(r"(?: (?:date|time|at|on)|日期|时间|日)$")


def _short(labels: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the labels of a date without the word for it, all and the English ones: shipped of `shipped date`."""
    short = [_DATE_WORDS.sub("", label) for label in labels if _DATE_WORDS.search(label)]
    return short, [label for label in short if label.isascii()]


def _dated(labels: Iterable[str]) -> Iterable[str]:
    """Return the verbs of a date's short labels: `shipped` is when it was shipped, payment when it was paid, 开方."""
    for verb in (label for label in labels if len(label) > 1 and " " not in label):
        past = not verb.isascii() or verb.endswith("ed") or verb in CUES["outcomes"]
        yield verb if past else f"{verb}d" if verb.endswith("e") else f"{verb}ed"
        for forms in CUES["verbs"]:  # what we ship or send has a shipped date, what is paid a payment date
            yield from forms if verb.startswith(tuple(map(stem, forms))) else ()


def _verbs(mapping: DatabaseMapping) -> Iterator[tuple[Iterable[str], Meaning]]:
    """Yield the verbs that names say: orders are ordered, a teacher teaches, a manager manages; none of the cues."""
    cues = {word for word, _ in cue_meanings()}
    for class_id, table in mapping.classes.items():
        verbs = {*_dated(mapping.lookup.classes[class_id].labels.en)} - cues
        own = (one for one in mapping.attributes[class_id].values() if one.type == "date")
        yield from ((verbs, Meaning("dated", f"{class_id}.{one.id}")) for one in own if one.column == table.time)
    for relation, join in mapping.relations:
        nouns = relation.roles.target.en or mapping.lookup.classes[relation.target].labels.en
        stems = [noun.casefold()[:-2] for noun in nouns if join.column and noun.endswith(("er", "or"))]
        forms = {f"{stem}{end}" for stem in stems if len(stem) > 2 for end in ("", "s", "es", "e")}
        yield forms - cues, Meaning("does", relation.id)


def dates_of(term: Term, mapping: DatabaseMapping) -> dict[str, Attribute]:
    """Return the date that a term names of each class."""
    named = ((m.owner, mapping.attribute(m.name)) for m in term.of("attribute", "dated", "moment"))
    return {owner: one for owner, one in named if one.type == "date"}


def period_verbs(terms: Sequence[Term]) -> list[Term]:
    """Return the verbs that may say which date a period, or a figure by month, is of: the last before it, or all."""
    verbs = [t for t in terms_of(terms, "dated", "traded") if not t.of("class", "entity")]
    times = (terms_of(terms, "period") or terms_of(terms, "unit_of_time"))[:1]
    before = [verb for verb in verbs if verb < times[0]] if times else []
    joined = before and terms_of(terms[terms.index(before[0]) : terms.index(before[-1])], "joined")
    return (before if joined else before[-1:]) or (verbs if times else [])


_LATIN = re.compile(rf"[^\W_{CJK_RANGES}]")


class Lexicon:
    """Words with their meanings; finding is linear in the text."""

    def __init__(self, words: Iterable[tuple[str, Meaning]]) -> None:
        known: defaultdict[str, dict[Meaning, None]] = defaultdict(dict)
        for word, meaning in words:
            known[word][meaning] = None
        self._automaton = ahocorasick.Automaton()
        for word, meanings in known.items():
            self._automaton.add_word(word, (word, tuple(meanings)))
        self._automaton.make_automaton()

    def find(self, folded: str) -> list[Term]:
        """Return every occurrence of a word, overlapping ones too; Latin words only as whole words."""
        found = []
        for last, (word, meanings) in self._automaton.iter(folded):
            start, end = last - len(word) + 1, last + 1
            if _LATIN.match(word[0]) and start and _LATIN.match(folded[start - 1]):
                continue
            if _LATIN.match(word[-1]) and end < len(folded) and _LATIN.match(folded[end]):
                continue
            found.append(Term(start, end, word, meanings))
        return found


def segment(folded: str, terms: Iterable[Term]) -> tuple[list[Term], list[str]]:
    """Return the terms of the best cut of a text, and the stretches that none of them covers.

    The best leaves the fewest characters uncovered, then has the fewest terms, then the longest.
    """
    by_start: defaultdict[int, list[Term]] = defaultdict(list)
    for term in terms:
        by_start[term.start].append(term)
    size = len(folded)
    best: list[tuple[tuple[int, int, int], Term | None]] = [((0, 0, 0), None)] * (size + 1)
    for i in range(size - 1, -1, -1):
        uncovered, count, squares = best[i + 1][0]
        best[i] = (uncovered + (not folded[i].isspace()), count, squares), None
        for term in by_start[i]:
            uncovered, count, squares = best[term.end][0]
            cost = (uncovered, count + 1, squares - (term.end - term.start) ** 2)
            if cost < best[i][0]:
                best[i] = cost, term
    chosen: list[Term] = []
    i = 0
    while i < size:
        found = best[i][1]
        chosen += [found] if found else []
        i = found.end if found else i + 1
    ends, starts = (0, *(term.end for term in chosen)), (*(term.start for term in chosen), size)
    gaps = (folded[end:start].strip() for end, start in zip(ends, starts, strict=True))
    return chosen, [gap for gap in gaps if gap]
