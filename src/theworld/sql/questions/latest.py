"""Questions for the latest row of each: "the latest rating of each company", 各企业最新的评级."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.ontology import Attribute
from theworld.sql.mapping import DatabaseMapping
from theworld.sql.paths import find_path, senses
from theworld.sql.plan import Group, Plan, UnclearError
from theworld.sql.questions.lexicon import Term
from theworld.sql.questions.restrictions import Restrictions
from theworld.text.language import Language
from theworld.text.time_ranges import TimeRange

MOST_SHOWN = 4
"""Attributes shown where none is named."""


def asks_for_latest(terms: Sequence[Term]) -> bool:
    """Return whether a question asks for the latest of something."""
    return any(term.of("latest") for term in terms)


def plan_latest(
    terms: Sequence[Term],
    restrictions: Restrictions,
    via: frozenset[str],
    *,
    mapping: DatabaseMapping,
    language: Language,
) -> Plan:
    """Return the plan of a question for the latest rows of each instance; UnclearError where it asks for more."""
    if any(t.of("aggregate", "superlative", "top", "unit_of_time") for t in terms):
        raise UnclearError("figures of the latest rows are not read")
    base = _rows(terms, restrictions, mapping)
    table = mapping.classes[base]
    owner = _owner(terms, restrictions, base)
    path = find_path(mapping, base, owner, via=via, single=True)
    if path is None or len(path) != 1 or table.time is None:
        raise UnclearError(f"{base} does not belong to one {owner}")
    filters, reading = restrictions.filters(base, via, language)
    periods: list[TimeRange] = [t.of("period")[0].value for t in terms if t.of("period")]
    if len(periods) > 1:
        raise UnclearError("more than one period is named")
    return Plan(
        base,
        "latest",
        "count",
        None,
        tuple(filters),
        Group(path, owner),
        time_column=table.time,
        period=periods[0] if periods else None,
        shown=_shown(terms, base, mapping),
        reading=(*reading, *senses(mapping, path, via, language)),
    )


def _rows(terms: Sequence[Term], restrictions: Restrictions, mapping: DatabaseMapping) -> str:
    """Return the class of the rows: that of a named attribute, else the one named that happens at a time."""
    owners = {m.name.partition(".")[0] for t in terms for m in t.of("attribute")}
    named = {m.name for t in terms for m in t.of("class")}
    named |= {mapping.lookup.relations[one].source for one in restrictions.mentioned if one in mapping.lookup.relations}
    found = sorted(one for one in (owners & named or owners or named) if mapping.classes[one].time is not None)
    if len(found) != 1:
        raise UnclearError("it is not clear the latest of what is asked for")
    return found[0]


def _owner(terms: Sequence[Term], restrictions: Restrictions, base: str) -> str:
    named = list(dict.fromkeys(m.name for t in terms for m in t.of("class")[:1] if m.name != base))
    found = named or list(restrictions.keys)
    if len(found) != 1:
        raise UnclearError("it is not clear whose latest is asked for")
    return found[0]


def _shown(terms: Sequence[Term], base: str, mapping: DatabaseMapping) -> tuple[Attribute, ...]:
    own = mapping.attributes(base)
    named = [m.name.partition(".") for t in terms for m in t.of("attribute")]
    asked = [own[name] for class_id, _, name in named if class_id == base]
    rest = [one for one in own.values() if one.column and one.column != mapping.classes[base].time]
    return tuple(dict.fromkeys(a for a in (asked or rest) if a.column != mapping.classes[base].time))[:MOST_SHOWN]
