"""By what the rows are put together: instances of a class, values of an attribute, units of time."""

from __future__ import annotations

from typing import get_args

from theworld.ontology import Attribute
from theworld.sql.mapping import DatabaseMapping
from theworld.sql.paths import find_path, senses
from theworld.sql.plan import Group, UnclearError
from theworld.sql.questions.lexicon import Term
from theworld.sql.questions.measures import is_measure
from theworld.text.calendar_units import CalendarUnit
from theworld.text.language import Language

_UNITS: dict[str, CalendarUnit] = {unit: unit for unit in get_args(CalendarUnit)}


def find_grouping(
    terms: tuple[Term, ...], mapping: DatabaseMapping
) -> tuple[Term | None, CalendarUnit | None, set[Term]]:
    """Return the class or attribute and the unit of time that rows are put together by, and the terms used."""
    used: set[Term] = set()
    grouping: Term | None = None
    unit: CalendarUnit | None = None
    for i, term in enumerate(terms):
        units = term.of("unit_of_time")
        before = terms[i - 1] if i else None
        says_each = before is not None and bool(before.of("each"))
        asks_which = before is not None and bool(before.of("which"))
        if units and not term.of("class", "attribute", "value", "entity"):
            if unit is not None:
                raise UnclearError("more than one unit of time is named")
            unit = _UNITS[units[0].name]
            used |= {term} | ({before} if before is not None and (says_each or asks_which) else set())
        elif says_each and before is not None and _is_measured(term, mapping):
            used.add(before)
        elif says_each and term.of("class", "attribute"):
            if grouping is not None:
                raise UnclearError("rows are put together by more than one thing")
            grouping = term
            used |= {term, before} if before is not None else {term}
    if unit == "week":
        raise UnclearError("weeks are not put together")
    return grouping, unit, used


def _is_measured(term: Term, mapping: DatabaseMapping) -> bool:
    names = [m.name.partition(".") for m in term.of("attribute")]
    return any(is_measure(mapping.attributes(class_id)[name]) for class_id, _, name in names)


def class_of(term: Term) -> str | None:
    """Return the class that a term names, None where it names none; UnclearError for several."""
    meanings = term.of("class")
    if len(meanings) > 1:
        raise UnclearError(f"{term.text!r} means more than one thing")
    return meanings[0].name if meanings else None


def by_attribute(term: Term, base: str, via: frozenset[str], mapping: DatabaseMapping) -> Group:
    """Return the group by the attribute that a term names; UnclearError where rows cannot be put together by it."""
    found: list[tuple[str, Attribute]] = []
    for meaning in term.of("attribute"):
        class_id, _, attribute_id = meaning.name.partition(".")
        found.append((class_id, mapping.attributes(class_id)[attribute_id]))
    own = [item for item in found if item[0] == base] or found
    if len(own) != 1 or own[0][1].type not in {"enum", "string", "boolean"}:
        raise UnclearError(f"rows cannot be put together by {term.text!r}")
    path = find_path(mapping, base, own[0][0], via=via, single=True)
    if path is None:
        raise UnclearError(f"{term.text!r} does not belong to these rows")
    return Group(path, own[0][0], own[0][1])


def by_class(
    class_id: str, base: str, via: frozenset[str], mapping: DatabaseMapping, language: Language
) -> tuple[Group, list[str]]:
    """Return the group by the instances of a class, and how relations were taken; UnclearError without one way."""
    path = find_path(mapping, base, class_id, via=via, single=True)
    if path is None:
        raise UnclearError(f"{class_id} and {base} are not joined one to one")
    return Group(path, class_id), senses(mapping, path, via, language)
