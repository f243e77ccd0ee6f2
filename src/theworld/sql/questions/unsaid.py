"""Classes that a question leaves unsaid: the people asked for with "who", the things that a value is a kind of."""

from __future__ import annotations

from itertools import pairwise

from theworld.sql.mapping import DatabaseMapping
from theworld.sql.paths import find_path
from theworld.sql.plan import UnclearError
from theworld.sql.questions.lexicon import Meaning, Term


def with_unsaid(terms: tuple[Term, ...], mapping: DatabaseMapping) -> tuple[Term, ...]:
    """Return the terms with the classes that "who" and "which sales agent" stand for; UnclearError for several."""
    return _with_kinds(_with_people(_with_measures(terms), mapping))


def _with_measures(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Return the terms with what an adjective says taken apart: cheapest is lowest, and of the price."""
    made: list[Term] = []
    for term in terms:
        names = term.of("adjective")
        if names:
            made.append(term._replace(end=term.start, meanings=term.of("attribute")))
        made.append(term._replace(meanings=(Meaning("superlative", names[0].name),)) if names else term)
    return tuple(made)


def _with_people(terms: tuple[Term, ...], mapping: DatabaseMapping) -> tuple[Term, ...]:
    """Return the terms with "who" as "which" and the class of people that what is named belongs to."""
    if not any(t.of("who") for t in terms):
        return terms
    named = {m.name for t in terms for m in t.of("class")}
    own = {
        mapping.lookup.relations[m.name].source
        for t in terms
        for m in t.of("relation", "role")
        if m.name in mapping.lookup.relations
    }
    own = {c for c in own if _is_person(c, mapping)}
    found = own or {c for c in named if _is_person(c, mapping)}
    if not found and named:  # those that what is named belongs to most directly
        ways = {c: [find_path(mapping, one, c, single=True) for one in named] for c in mapping.classes}
        lengths = {
            c: sum(map(len, filter(None, found))) for c, found in ways.items() if _is_person(c, mapping) and all(found)
        }
        found = {c for c, length in lengths.items() if length == min(lengths.values())}
    beside = [b if a.of("top", "who") else a for a, b in pairwise(terms) if a.of("top", "who") or b.of("who")]
    found = {m.name for t in beside for m in t.of("class")} or found  # who the top five customers are, 老师是谁
    if len(found) != 1:
        raise UnclearError("it is not clear who is asked for")
    meaning = Meaning("class", next(iter(found)))
    made: list[Term] = []
    for term in terms:
        if not term.of("who"):
            made.append(term)
            continue
        made.append(term._replace(meanings=(Meaning("which", term.text),)))
        if not named & found or own:
            made.append(term._replace(start=term.end, meanings=(meaning,)))
    return tuple(made)


def _with_kinds(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Return the terms with the class of a value that stands for its things: which sales agent, how many students."""
    made: list[Term] = []
    for before, term, after in zip((None, *terms), terms, (*terms[1:], None), strict=False):
        made.append(term)
        classes = {m.name.partition(".")[0] for m in term.of("value")}
        named = {m.name for t in terms for m in t.of("class")}
        if before is None or len(classes) != 1 or term.of("class", "attribute", "entity"):
            continue
        counted = any(m.name == "count" for m in before.of("aggregate"))
        alone = counted and (after is None or not after.of("class", "value", "entity", "attribute"))
        if (before.of("which") and not classes & named) or alone:
            made[-1:] = [term._replace(end=term.start, meanings=(Meaning("class", *classes),)), term]
    return tuple(made)


def _is_person(class_id: str, mapping: DatabaseMapping) -> bool:
    """Return whether rows of a class are people: they have a first name, or a person's name (姓名)."""
    table = mapping.classes[class_id]
    return table.given is not None or any(
        label and label.endswith("姓名") for label in (table.label.zh, table.label.en)
    )
