"""The names of an ontology's elements: every phrase with what it stands for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from theworld.ontology.lookup import Lookup
from theworld.ontology.model import Attribute, Ref
from theworld.ontology.questions.matches import SCORES, MatchKind
from theworld.text.phrases import units


class Name(NamedTuple):
    """What a phrase stands for."""

    ref: Ref
    kind: MatchKind
    value: str = ""
    """Id of the enum value, for kind `value`; `ref` is its attribute then."""


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
                for label in dict.fromkeys((*value.labels.all(), value.id)):
                    if not _is_code(label, value.labels.all()):
                        yield label, Name(ref, "value", value.id)
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


def _is_code(label: str, names: Sequence[str]) -> bool:
    """Return whether a value's id is only a code: it has other names, or is written with underscores."""
    return label not in names and (bool(names) or "_" in label)
