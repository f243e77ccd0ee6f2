"""Relations between instances of one class that a question speaks of: subsidiaries of X, who reports to Y."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.ontology import Relation
from theworld.sql.mapping import DatabaseMapping
from theworld.sql.paths import steps
from theworld.sql.plan import UnclearError
from theworld.sql.questions.lexicon import Meaning, Term, forms_of
from theworld.sql.questions.restrictions import Restrictions
from theworld.text.folding import fold_in_place


def find_relations(terms: Sequence[Term], found: Restrictions) -> set[Term]:
    """Take in the relations between instances of one class; return the instances they are related to."""
    anchors: set[Term] = set()
    for i, term in enumerate(terms):
        relations = term.of("relation", "inverse")
        if _by_key(term, terms, i, found, anchors):
            continue
        own = [m for m in relations if _of_one_class(m.name, found.mapping)]
        if not relations or term.of("class", "attribute"):
            continue
        found.mentioned |= {m.name for m in relations}
        found.used.add(term)
        if not own:
            continue
        meaning = own[0]
        relation = found.mapping.lookup.relations[meaning.name]
        if len({m.name for m in own}) > 1:
            raise UnclearError(f"{term.text!r} means more than one relation")
        near = [j for j in (i - 1, i + 1) if 0 <= j < len(terms) and _is_instance(terms[j], relation.source)]
        anchor = near[0] if near else None
        if len(near) > 1 and not relation.symmetric:
            raise UnclearError(f"it is not clear whom {term.text!r} is about")
        forward = _direction(terms, i, anchor, meaning, relation)
        join = next(
            j for j in steps(found.mapping, relation.source) if j.relation == relation.id and j.forward == forward
        )
        if anchor is None:
            if not relation.symmetric:
                raise UnclearError(f"{term.text!r} needs to say whose")
            found.related.append((join, None, term.text))
            continue
        anchors.add(terms[anchor])
        found.used.add(terms[anchor])
        key = _one(terms[anchor], terms[anchor].of("entity")).value
        found.related.append((join, (key,), f"{terms[anchor].text} {term.text}"))
    return anchors


def _by_key(term: Term, terms: Sequence[Term], at: int, found: Restrictions, anchors: set[Term]) -> bool:
    """Take in what a key to the own table says of rows: who reports to somebody, the direct reports of somebody."""
    of_source = [m for m in term.of("role") if m.value == "source"]
    verbs = [m for m in term.of("relation", "inverse") if _is_own_key(m.name, found.mapping)]
    names = {m.name for m in (*of_source, *verbs)}
    if len(names) != 1 or term.of("class", "attribute"):
        return False
    (name,) = names
    relation = found.mapping.lookup.relations[name]
    join = next(j for j in steps(found.mapping, relation.source) if j.relation == name and j.forward)
    others = [t for t in (*terms[at + 1 : at + 2], *terms[max(0, at - 1) : at]) if _is_instance(t, join.target)]
    others += [t for t in terms[at + 1 : at + 2] if _of_class(t, join.target)]
    found.used.add(term)
    found.mentioned.add(name)
    if not others:
        if not any(known == join for known, _, _ in found.related):
            found.related.append((join, None, term.text))
        return True
    anchors.add(others[0])
    found.used.add(others[0])
    if _is_instance(others[0], join.target):
        keys = tuple(m.value for m in others[0].of("entity") if m.name.startswith(f"{join.target}="))
        found.related.append((join, keys, f"{term.text} {others[0].text}"))
    else:
        found.through.append((join, others[0], f"{term.text} {others[0].text}"))
    return True


def _of_class(term: Term, class_id: str) -> bool:
    return any(m.name.startswith(f"{class_id}.") for m in term.of("value"))


def _is_own_key(relation_id: str, mapping: DatabaseMapping) -> bool:
    relation = mapping.lookup.relations[relation_id]
    return relation.source == relation.target and relation.join is not None and relation.join.column is not None


def _of_one_class(relation_id: str, mapping: DatabaseMapping) -> bool:
    relation = mapping.lookup.relations[relation_id]
    return relation.source == relation.target and relation.join is not None and relation.join.table is not None


def _is_instance(term: Term, class_id: str) -> bool:
    return any(m.name.startswith(f"{class_id}=") for m in term.of("entity"))


def _direction(terms: Sequence[Term], at: int, anchor: int | None, meaning: Meaning, relation: Relation) -> bool:
    """Return True when what is asked for is the relation's source, False when it is its target."""
    if relation.symmetric or anchor is None:
        return True
    term = terms[at]
    for side, forward in (("source", True), ("target", False)):
        labels = relation.roles.source if side == "source" else relation.roles.target
        nouns = {form for label in labels.all() for form in forms_of(fold_in_place(label))}
        if term.text in nouns:
            return forward
    before = terms[anchor - 1] if anchor else None
    chinese = any("\u4e00" <= c <= "\u9fff" for c in term.text)
    if meaning.kind == "inverse":
        if anchor > at and not chinese:
            return False
        raise UnclearError(f"it is not clear which side {term.text!r} is")
    if before is not None and before.of("beneficiary") and chinese:
        return True
    if anchor > at:
        return True
    if anchor < at:
        return False
    raise UnclearError(f"it is not clear which side {term.text!r} is")


def _one(term: Term, meanings: tuple[Meaning, ...]) -> Meaning:
    if len({m.name for m in meanings}) != 1:
        raise UnclearError(f"{term.text!r} is the name of more than one thing")
    return meanings[0]
