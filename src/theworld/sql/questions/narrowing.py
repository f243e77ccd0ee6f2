"""Terms into restrictions: names, values, negations, alternatives, numbers, and relations between instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from theworld.ontology import Attribute
from theworld.sql.engines.protocol import Cell
from theworld.sql.mapping import DatabaseMapping, is_measure
from theworld.sql.plan import Operator, UnclearError
from theworld.sql.questions.lexicon import Term
from theworld.sql.questions.relations import find_relations
from theworld.sql.questions.restrictions import Compared, Restrictions
from theworld.text.quantities import Quantity


def find_restrictions(terms: Sequence[Term], mapping: DatabaseMapping) -> Restrictions:
    """Return what narrows the rows down, with the terms that say so."""
    found = Restrictions(mapping)
    _negations(terms, found)
    anchors = find_relations(terms, found)
    terms = [_of_what_is_named(term, terms) for term in terms]
    for i, term in enumerate(terms):
        beside = [m.name for t in (*terms[max(0, i - 1) : i], *terms[i + 1 : i + 2]) for m in t.of("class")]
        if term.of("entity") and term not in anchors:
            class_id, keys = _named(term, beside, terms)
            found.named.setdefault(class_id, []).append(term)
            known = found.keys.setdefault(class_id, [])
            known += [key for key in keys if key not in known]
            found.used.add(term)
        elif term.of("value") and not term.of("attribute", "class", "aggregate") and term not in anchors:
            term = _of_column(term, (*terms[max(0, i - 1) : i], *terms[i + 1 : i + 2]), found)  # noqa: PLW2901
            found.values.append(term)
            found.near[term] = _beside(terms, i)
            found.used.add(term)
        elif term.of("dated") and not term.of("class", "attribute") and term not in found.negated:
            if _dates_a_period(terms, i):
                continue
            found.used.add(term)
            if not _names_column(term, terms[i + 1 : i + 2], mapping):
                found.dated.append(term)
    _alternatives(terms, found)
    _numbers(terms, found)
    return found


def _dates_a_period(terms: Sequence[Term], at: int) -> bool:
    """Return whether a verb says which date a period is of: the last verb before it, else the first after it."""
    periods = [i for i, t in enumerate(terms) if t.of("period")]
    verbs = [i for i, t in enumerate(terms) if t.of("dated", "traded") and not t.of("class", "entity", "value")]
    said = ([v for v in verbs if v < periods[0]][-1:] or verbs[:1]) if periods else []
    return at in said


def _of_column(term: Term, beside: Sequence[Term], found: Restrictions) -> Term:
    """Return a value as that of the column named right beside it, where one is: status received."""
    for other in beside:
        named = {m.name for m in other.of("attribute")}
        own = tuple(m for m in term.of("value") if m.name.partition("=")[0] in named)
        if own and not other.of("aggregate", "class"):
            found.used |= {other, term}
            return term._replace(meanings=own)
    return term


def _beside(terms: Sequence[Term], at: int) -> tuple[str, ...]:
    """Return the classes named right beside a value, first the one it belongs to by word order: customers in London."""
    before, after = (
        [m.name for t in part for m in t.of("class")] for part in (terms[max(0, at - 1) : at], terms[at + 1 : at + 2])
    )
    chinese = any(not t.text.isascii() for t in terms[at + 1 : at + 2])
    return tuple(dict.fromkeys([*after, *before] if chinese else [*before, *after]))


def _of_what_is_named(term: Term, terms: Sequence[Term]) -> Term:
    """Return a name of a row that is a value too (Seattle) as the value, where only the value's class is named."""
    named = {m.name for t in terms for m in t.of("class")}
    values = tuple(m for m in term.of("value") if m.name.partition(".")[0] in named)
    rows = any(m.name.partition("=")[0] in named for m in term.of("entity"))
    return term._replace(meanings=values) if term.of("entity") and values and not rows else term


def _negations(terms: Sequence[Term], found: Restrictions) -> None:
    """Take in what is turned into its contrary: what follows "not" or "without", what stands before "excluded"."""
    for i, term in enumerate(terms):
        if not term.of("not", "not_after") or term.of("value", "entity"):
            continue
        following = [t for t in terms[i + 1 :] if not t.of("traded", "joined", "one") or _can_be_missing(t)][:1]
        if term.of("not") and following and following[0].of("period", "number", "compared"):
            raise UnclearError(f"it is not clear what {term.text!r} excludes")
        after = [t for t in terms[i + 1 :] if _can_be_missing(t)][:1] if term.of("not") else []
        chosen = after or [t for t in terms[:i] if _can_be_missing(t)][-1:]
        if not chosen or (not after and term.of("not") and term.text.isascii()):
            raise UnclearError(f"it is not clear what {term.text!r} excludes")
        behind = terms[terms.index(chosen[0]) + 1 :][:1]
        if chosen[0].of("dated") and any(t.of("entity", "value") for t in behind):
            raise UnclearError(f"it is not clear whether {chosen[0].text!r} or {behind[0].text!r} is excluded")
        found.used.add(term)
        found.negated |= _listed_with(terms, terms.index(chosen[0]))
        if not chosen[0].of("value", "entity"):
            found.without.append(chosen[0])
            found.used.add(chosen[0])


def _names_column(verb: Term, following: Sequence[Term], mapping: DatabaseMapping) -> bool:
    """Return whether a verb only says which column a value is of: shipped to Germany, a ship country."""
    for meaning in (m for t in following for m in t.of("value")):
        class_id, _, rest = meaning.name.partition(".")
        label = mapping.attributes(class_id)[rest.partition("=")[0]].labels.preferred("en")
        if label and verb.text.startswith(label.split()[0]):
            return True
    return False


def _listed_with(terms: Sequence[Term], at: int) -> set[Term]:
    """Return a term and those of its kind that stand in one list with it: not from Germany, France or Spain."""
    kinds = {m.name.partition("=")[0] for m in terms[at].of("value", "entity")}
    found = {terms[at]}
    for step in (1, -1):
        i = at + step
        while 0 <= i < len(terms) and (
            terms[i].of("or", "joined") or kinds & {m.name.partition("=")[0] for m in terms[i].of("value", "entity")}
        ):
            found |= {terms[i]} if terms[i].of("value", "entity") else set()
            i += step
    return found


def _can_be_missing(term: Term) -> bool:
    return bool(term.of("value", "entity", "class", "attribute", "dated"))


def _alternatives(terms: Sequence[Term], found: Restrictions) -> None:
    """Take in "or": between two names or values only, and excluded together where the first is."""
    for i, term in enumerate(terms):
        if not term.of("or") or term.of("value", "entity"):
            continue
        pair = terms[i - 1], terms[min(i + 1, len(terms) - 1)]
        of_values, of_names = all(t in found.values for t in pair), all(t.of("entity") for t in pair)
        one_class = of_names and any(set(pair) <= set(named) for named in found.named.values())
        if not i or not (of_values or one_class):
            raise UnclearError(f"what stands beside {term.text!r} is not of one kind")
        found.alternatives.append(pair)
        found.used.add(term)


def _named(term: Term, beside: Sequence[str], terms: Sequence[Term]) -> tuple[str, list[Cell]]:
    """Return the class of a name and the keys that have it, of several classes the one that the question speaks of."""
    meanings = term.of("entity")
    classes = {m.name.partition("=")[0] for m in meanings}
    if len(classes) > 1:
        named = {m.name for t in terms for m in t.of("class")}
        classes = classes & set(beside) or classes & named or classes
    if len(classes) > 1:
        raise UnclearError(f"{term.text!r} is the name of more than one thing")
    (class_id,) = classes
    return class_id, [m.value for m in meanings if m.name.startswith(f"{class_id}=")]


def _numbers(terms: Sequence[Term], found: Restrictions) -> None:
    """Take in the comparisons: attribute, comparing word, number; or attribute, number, "以上"."""
    for i, term in enumerate(terms):
        if not term.of("number"):
            continue
        if term.of("top"):
            continue
        before, after = terms[i - 1] if i else None, terms[i + 1] if i + 1 < len(terms) else None
        word = before if before is not None and before.of("compared") else None
        kind = word.of("compared") if word is not None else after.of("compared_after") if after is not None else ()
        if not kind:
            raise UnclearError(f"it is not clear what {term.text!r} is")
        place = i - 2 if word is not None else i - 1
        attribute_term = terms[place] if place >= 0 else None
        class_id, attribute = _numeric(attribute_term, terms, found.mapping)
        quantity: Quantity = term.of("number")[0].value
        value = quantity.in_unit(attribute.unit.en if attribute.unit else "")
        value = quantity.in_unit(attribute.unit.zh) if value is None and attribute.unit else value
        if value is None or attribute_term is None:
            raise UnclearError(f"{term.text!r} is not in the unit of {attribute.id}")
        words = f"{attribute_term.text} {kind[0].name} {value:g}"
        found.compared.append(Compared(class_id, attribute, cast("Operator", kind[0].name), value, words))
        found.used |= {term, attribute_term, *([word] if word else [after] if after else [])}
    if len(found.compared) > 1:
        raise UnclearError("more than one number is compared")


def _numeric(term: Term | None, terms: Sequence[Term], mapping: DatabaseMapping) -> tuple[str, Attribute]:
    named = {m.name for t in terms for m in t.of("class")}
    choices = [m.name.partition(".") for m in term.of("attribute")] if term is not None else []
    found = [(c, mapping.attributes(c)[a]) for c, _, a in choices]
    found = [(c, a) for c, a in found if is_measure(a)]
    if len(found) > 1:
        found = [(c, a) for c, a in found if c in named] or found
    if len(found) != 1:
        raise UnclearError("it is not clear what is compared with a number")
    return found[0]
