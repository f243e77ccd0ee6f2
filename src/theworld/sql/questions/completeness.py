"""Whether every class, relation and word of a question has a part in what was understood."""

from __future__ import annotations

from theworld.sql.mapping import DatabaseMapping
from theworld.sql.paths import find_path
from theworld.sql.plan import Plan, UnclearError
from theworld.sql.questions.lexicon import Term
from theworld.sql.questions.restrictions import Restrictions


def check_all_used(
    plans: tuple[Plan, ...], terms: tuple[Term, ...], restrictions: Restrictions, mapping: DatabaseMapping
) -> None:
    """Raise UnclearError when a class, relation or word of the question has no part in the plans."""
    paths = [p.group.path for p in plans if p.group] + [f.path for p in plans for f in p.filters]
    walked = {step.relation for path in paths for step in path}
    met = {step.target for path in paths for step in path} | {p.base for p in plans}
    met |= {f.class_id for p in plans for f in p.filters} | {p.group.class_id for p in plans if p.group}
    grouped = {p.group.attribute.id for p in plans if p.group and p.group.attribute}
    columns = {p.time_column for p in plans}
    listed = {a.id for p in plans for a in p.shown} | {p.measure.id for p in plans if p.measure} | grouped
    listed |= {p.divisor.id for p in plans if p.divisor}
    for term in terms:
        if term.of("relation", "inverse") and not term.of("class", "attribute", "value"):
            if not walked & {m.name for m in term.of("relation", "inverse")}:
                raise UnclearError(f"{term.text!r} has no part in what was understood")
        elif term.of("class") and not term.of("attribute", "entity", "value"):
            names = {m.name for m in term.of("class")}
            below = {id_ for name in names for id_ in mapping.lookup.descendants(name)}
            plain = any(find_path(mapping, p.base, name, single=True) is not None for p in plans for name in names)
            if not below & met and not plain:
                raise UnclearError(f"{term.text!r} has no part in what was understood")
        elif term.of("attribute") and term not in restrictions.used:
            known = [m.name.partition(".") for m in term.of("attribute")]
            if not any(a in listed or mapping.attributes(c)[a].column in columns for c, _, a in known):
                raise UnclearError(f"{term.text!r} has no part in what was understood")
        elif term.of("compared", "compared_after") and not term.of("empty") and term not in restrictions.used:
            raise UnclearError(f"{term.text!r} compares nothing")
        elif term.of("each") and not term.of("passive", "empty") and not any(p.group or p.time_unit for p in plans):
            raise UnclearError(f"{term.text!r} splits nothing")
