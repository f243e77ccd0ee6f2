"""Classes that a question leaves unsaid: the people asked for with "who", the things that a value is a kind of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from theworld.sql.mapping import DatabaseMapping
from theworld.sql.plan import UnclearError
from theworld.sql.questions.lexicon import Meaning, Term, classes_named


def with_unsaid(terms: Sequence[Term], mapping: DatabaseMapping) -> tuple[Term, ...]:
    """Return the terms with the classes that "who" and "which sales agent" stand for; UnclearError for several.

    What an adjective says is taken apart: cheapest is lowest, and of the price.
    """
    made: list[Term] = []
    for term in terms:
        names = term.of("adjective")
        if names:
            made.append(term._replace(end=term.start, meanings=term.of("attribute")))
        made.append(term._replace(meanings=(Meaning("superlative", names[0].name),)) if names else term)
    return _with_kinds(_with_people(made, mapping) if any(t.of("who") for t in made) else made)


def _with_people(terms: Sequence[Term], mapping: DatabaseMapping) -> list[Term]:
    """Return the terms with "who" as "which" and the class of people that what is named belongs to."""
    named, relations = classes_named(terms), mapping.lookup.relations
    people = {  # what has a first name, or a person's name (姓名)
        class_id
        for class_id, table in mapping.classes.items()
        if table.given is not None or any((said or "").endswith("姓名") for said in (table.label.zh, table.label.en))
    }
    own = {relations[m.name].source for t in terms for m in t.of("relation", "role") if m.name in relations} & people
    found = own or named & people
    if not found and named:  # those that what is named belongs to most directly
        ways = {c: [mapping.path(one, c, single=True) for one in named] for c in people}
        lengths = {c: sum(map(len, filter(None, paths))) for c, paths in ways.items() if all(paths)}
        found = {c for c, length in lengths.items() if length == min(lengths.values())}
    beside = [b if a.of("top", "who") else a for a, b in pairwise(terms) if a.of("top", "who") or b.of("who")]
    found = classes_named(beside) or found  # who the top five customers are, 老师是谁
    if len(found) != 1:
        raise UnclearError("it is not clear who is asked for")
    made: list[Term] = []
    for term in terms:
        made.append(term._replace(meanings=(Meaning("which", term.text),)) if term.of("who") else term)
        if term.of("who") and (own or not named & found):
            made.append(term._replace(start=term.end, meanings=(Meaning("class", *found),)))
    return made


def _with_kinds(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Return the terms with the class of a value that stands for its things: which sales agent, how many students."""
    made: list[Term] = []
    named = classes_named(terms)
    for i, term in enumerate(terms):
        classes = term.owners("value")
        if i and len(classes) == 1 and not term.of("class", "attribute", "entity"):
            before, after = terms[i - 1], terms[i + 1 : i + 2]
            counted = any(m.name == "count" for m in before.of("aggregate"))
            alone = counted and not any(t.of("class", "value", "entity", "attribute") for t in after)
            if (before.of("which") and not classes & named) or alone:
                made.append(term._replace(end=term.start, meanings=(Meaning("class", *classes),)))
        made.append(term)
    return tuple(made)
