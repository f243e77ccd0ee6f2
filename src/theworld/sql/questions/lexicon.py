"""The words of a question that mean something to a mapped database, found in one pass and read without gaps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import ahocorasick
import yaml

from theworld.ontology import Attribute
from theworld.sql.drafting.wording import labels_for
from theworld.sql.mapping import DatabaseMapping
from theworld.text.folding import fold_in_place
from theworld.text.language import CJK_RANGES

TermKind = Literal[
    "class", "attribute", "value", "relation", "inverse", "entity", "aggregate", "superlative", "compared",
    "compared_after", "each", "which", "unit_of_time", "joined", "passive", "beneficiary", "unreadable", "empty",
    "period", "number", "top", "latest", "share", "who", "or", "not", "not_after", "traded",
    "role", "unmapped", "adjective", "extreme", "pronoun", "one", "dated",
]  # fmt: skip
"""What a stretch of a question is."""


class Meaning(NamedTuple):
    """One thing a stretch of text can mean."""

    kind: TermKind
    name: str
    """Id: of a class, `class.attribute`, `class.attribute=value`, relation, `class=key`; else the cue."""
    value: Any = None
    """What goes with it: a key, a stored value, a TimeRange, a number."""


class Term(NamedTuple):
    """A stretch of the question and all it can mean."""

    start: int
    end: int
    text: str
    meanings: tuple[Meaning, ...]

    def of(self, *kinds: TermKind) -> tuple[Meaning, ...]:
        """Return the meanings of the given kinds."""
        return tuple(meaning for meaning in self.meanings if meaning.kind in kinds)


@cache
def cues() -> Mapping[str, Any]:
    """Return data/cues.yaml."""
    text = (files("theworld.sql") / "data" / "cues.yaml").read_text("utf-8")
    table: Mapping[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - it makes nothing but text
    return table


def _words(table: Mapping[str, list[str]]) -> list[str]:
    return [*table.get("zh", ()), *table.get("en", ())]


def cue_meanings() -> dict[str, tuple[Meaning, ...]]:
    """Return the cues' meanings by folded word."""
    found: dict[str, list[Meaning]] = {}
    grouped: tuple[tuple[str, TermKind], ...] = (
        ("aggregates", "aggregate"), ("superlatives", "superlative"), ("compared", "compared"),
        ("compared_after", "compared_after"), ("units_of_time", "unit_of_time"), ("shares", "share"),
    )  # fmt: skip
    plain: tuple[TermKind, ...] = (
        "each", "which", "joined", "passive", "beneficiary", "latest", "unreadable", "empty", "who", "or", "not",
        "not_after", "traded", "pronoun", "one",
    )  # fmt: skip
    for section, kind in grouped:
        for name, words in cues()[section].items():
            for word in _words(words):
                found.setdefault(fold_in_place(word), []).append(Meaning(kind, name))
    for word in cues()["classifiers"]:
        found.setdefault(f"一{word}", []).append(Meaning("one", word))
        for asked in ("多少", "几"):
            found.setdefault(f"{asked}{word}", []).append(Meaning("aggregate", "count", word))
    for name, said in cues()["extremes"].items():
        for word in said:
            found.setdefault(word, []).append(Meaning("extreme", name))
    for kind in plain:
        for word in _words(cues()[kind]):
            found.setdefault(fold_in_place(word), []).append(Meaning(kind, word))
    return {word: tuple(meanings) for word, meanings in found.items()}


def label_meanings(mapping: DatabaseMapping) -> dict[str, tuple[Meaning, ...]]:
    """Return what the ontology's labels mean, by folded label, English plurals included."""
    found: dict[str, dict[Meaning, None]] = {}

    def add(labels: Iterable[str], meaning: Meaning) -> None:
        for label in labels:
            for form in forms_of(fold_in_place(label).strip()):
                found.setdefault(form, {})[meaning] = None

    for class_id in mapping.unmapped:
        add(mapping.lookup.classes[class_id].labels.all(), Meaning("unmapped", class_id))
    for class_id in mapping.classes:
        add(mapping.lookup.classes[class_id].labels.all(), Meaning("class", class_id))
        for attribute in mapping.attributes(class_id).values():
            _add_attribute(attribute, f"{class_id}.{attribute.id}", add)
    _add_adjectives(found)
    mapped = {join.relation for join in mapping.joins}
    for relation in mapping.lookup.relations.values():
        if relation.id in mapped:
            add(relation.labels.all(), Meaning("relation", relation.id))
            add(relation.inverse.all(), Meaning("inverse", relation.id))
            if relation.join and relation.join.column:
                add(relation.roles.source.all(), Meaning("role", relation.id, "source"))
                add(relation.roles.target.all(), Meaning("role", relation.id, "target"))
    for sample in mapping.lookup.samples.values():
        if sample.of in mapping.classes and sample.key is not None:
            add(sample.labels.all(), Meaning("entity", f"{sample.of}={sample.key}", sample.key))
    return {word: tuple(meanings) for word, meanings in found.items()}


def _add_adjectives(found: dict[str, dict[Meaning, None]]) -> None:
    """Add the adjectives of measures that have a label of theirs: cheapest, where something is called price."""
    for name, measures in cues()["adjectives"].items():
        for label, said in measures.items():
            for word in said if label in found else ():
                named = (Meaning("attribute", m.name, name) for m in found[label] if m.kind == "attribute")
                found.setdefault(word, {}).update(dict.fromkeys((Meaning("adjective", name), *named)))


def _add_attribute(attribute: Attribute, name: str, add: Callable[[Iterable[str], Meaning], None]) -> None:
    said = {label for value in attribute.values for label in value.labels.all()}
    add((label for label in attribute.labels.all() if label not in said), Meaning("attribute", name))
    if attribute.type == "date":
        add(_dated(attribute.labels.all()), Meaning("dated", name))
    for value in attribute.values:
        add((*value.labels.all(), value.id), Meaning("value", f"{name}={value.id}", value.in_column))


def entity_meanings(rows: Iterable[tuple[str, Any, Iterable[str]]]) -> dict[str, tuple[Meaning, ...]]:
    """Return what names of rows mean; `rows` are (class, key, names)."""
    found: dict[str, dict[Meaning, None]] = {}
    for class_id, key, names in rows:
        for name in names:
            folded = fold_in_place(name).strip()
            if len(folded) > 1:
                found.setdefault(folded, {})[Meaning("entity", f"{class_id}={key}", key)] = None
    return {word: tuple(meanings) for word, meanings in found.items()}


def value_meanings(rows: Iterable[tuple[str, str, str]]) -> dict[str, tuple[Meaning, ...]]:
    """Return what values found in the rows mean; `rows` are (class, attribute, value)."""
    found: dict[str, dict[Meaning, None]] = {}
    for class_id, attribute_id, value in rows:
        for said in labels_for(fold_in_place(value).strip()):
            if len(said) < 2:
                continue
            found.setdefault(said, {})[Meaning("value", f"{class_id}.{attribute_id}={value}", value)] = None
    return {word: tuple(meanings) for word, meanings in found.items()}


def forms_of(label: str) -> list[str]:
    """Return a folded label and, of an English one, its plural."""
    if not label or not label[-1].isascii() or not label[-1].isalpha():
        return [label] if label else []
    if label.endswith("y") and label[-2:-1] not in {*"aeiou"}:
        return [label, f"{label[:-1]}ies"]
    return (
        [label] if label.endswith("s") else [label, f"{label}es" if label.endswith(("x", "ch", "sh")) else f"{label}s"]
    )


_DATE_WORDS = re.compile(r"(?: (?:date|time|at|on)|日期|时间|日)$")


def _dated(labels: Iterable[str]) -> Iterable[str]:
    """Return the verbs of a date's labels: `shipped date` is when something was shipped, 开方日期 when it was 开方."""
    for label in labels:
        verb = _DATE_WORDS.sub("", label)
        if verb == label or len(verb) < 2 or " " in verb:
            continue
        yield verb if not verb.isascii() or verb.endswith("ed") else f"{verb}d" if verb.endswith("e") else f"{verb}ed"


_LATIN = re.compile(rf"[^\W_{CJK_RANGES}]")


class Lexicon:
    """Words with their meanings; finding is linear in the text."""

    def __init__(self, *tables: Mapping[str, tuple[Meaning, ...]]) -> None:
        merged: dict[str, dict[Meaning, None]] = {}
        for table in tables:
            for word, meanings in table.items():
                merged.setdefault(word, {}).update(dict.fromkeys(meanings))
        self._automaton = ahocorasick.Automaton()
        for word, known in merged.items():
            self._automaton.add_word(word, (word, tuple(known)))
        if merged:
            self._automaton.make_automaton()
        self._empty = not merged

    def find(self, folded: str) -> list[Term]:
        """Return every occurrence of a word, overlapping ones too; Latin words only as whole words."""
        if self._empty:
            return []
        found = []
        for last, (word, meanings) in self._automaton.iter(folded):
            start, end = last - len(word) + 1, last + 1
            if _LATIN.match(word[0]) and start and _LATIN.match(folded[start - 1]):
                continue
            if _LATIN.match(word[-1]) and end < len(folded) and _LATIN.match(folded[end]):
                continue
            found.append(Term(start, end, word, meanings))
        return found


class Segmentation(NamedTuple):
    """A question cut into terms, and the stretches that none covers."""

    terms: tuple[Term, ...]
    unknown: tuple[str, ...]


def segment(folded: str, terms: Iterable[Term]) -> Segmentation:
    """Return the cut that leaves the fewest characters uncovered, then has the fewest terms, then long terms first."""
    by_start: dict[int, list[Term]] = {}
    for term in terms:
        by_start.setdefault(term.start, []).append(term)
    size = len(folded)
    best: list[tuple[tuple[int, int, int], Term | None]] = [((0, 0, 0), None)] * (size + 1)
    for i in range(size - 1, -1, -1):
        uncovered, count, squares = best[i + 1][0]
        gap = 0 if folded[i].isspace() else 1
        choice: tuple[tuple[int, int, int], Term | None] = ((uncovered + gap, count, squares), None)
        for term in by_start.get(i, ()):
            rest = best[term.end][0]
            cost = (rest[0], rest[1] + 1, rest[2] - (term.end - term.start) ** 2)
            if cost < choice[0]:
                choice = (cost, term)
        best[i] = choice
    chosen: list[Term] = []
    unknown: list[str] = []
    i = gap_start = 0
    while i < size:
        found = best[i][1]
        if found is None:
            i += 1
            continue
        unknown.append(folded[gap_start:i])
        chosen.append(found)
        i = gap_start = found.end
    unknown.append(folded[gap_start:])
    return Segmentation(tuple(chosen), tuple(piece.strip() for piece in unknown if piece.strip()))
