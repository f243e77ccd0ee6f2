"""What a question describes without naming it, and the names by which descriptions are recognised."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from theworld.ontology.lookup import End, Fact, Lookup
from theworld.ontology.model import Ref
from theworld.ontology.questions.clauses import Span, description_words
from theworld.ontology.questions.names import Name
from theworld.text.phrases import Found, is_cjk, longest, units

MOST_DESCRIBED = 5
"""Samples that a description may stand for; more are not meant one by one."""


class Described(NamedTuple):
    """A description and what it stands for."""

    text: str
    """Its words in the question, inner descriptions already named."""
    samples: tuple[str, ...]
    """Ids of the samples it fits, at most `MOST_DESCRIBED`."""
    facts: tuple[Fact, ...]
    """One for each sample."""
    asked: bool
    """Whether it is what the question asks for."""
    attribute: str = ""
    """The attribute whose value is asked for, as `class.attribute`; then the sample is what has it."""


class Reading(NamedTuple):
    """A question read by the facts."""

    question: str
    """With names in the place of descriptions."""
    described: tuple[Described, ...] = ()
    """From the inside out."""
    answered: bool = False
    """Whether the last description is all that is asked, so that its samples are the answer."""


UNREAD = Reading("")
"""Nothing described."""


_TWO_WORDS = 4
"""Characters of a Chinese name made of two words."""
_SUBJECT: dict[str, End] = {"label": "source", "synonym": "source", "inverse": "target"}
_ROLES: dict[str, End] = {"source_role": "source", "target_role": "target"}


def bare_name(one: Span, text: str) -> Span:
    """Return a name without the genitive after it."""
    return one._replace(end=one.end - 2) if text[: one.end].endswith(("'s", "’s")) else one


def named_relations(found: Sequence[Found[Name]]) -> list[Span]:
    """Return the relations named: roles, then verbs."""
    kept = (
        [one._replace(payloads=tuple(n for n in one.payloads if n.kind in kinds)) for one in found]
        for kinds in (_ROLES, _SUBJECT)
    )
    return [span for named in kept for span in spans_of(named, "Relation")]


def descriptive_names(lookup: Lookup) -> Iterator[tuple[str, Name]]:
    """Yield the roles of relations, and the parts by which names are recognised: 担保 of 提供担保, 成立 of 成立日期."""
    function = set(description_words()["en"]["function"])
    for relation in lookup.ontology.relations:
        ref = Ref("Relation", relation.id)
        yield from ((role, Name(ref, "source_role")) for role in relation.roles.source.all())
        yield from ((role, Name(ref, "target_role")) for role in relation.roles.target.all())
        for label in relation.labels.all():
            yield from ((part, Name(ref, "label")) for part in _parts(label, function))
        for label in relation.inverse.all():
            yield from ((part, Name(ref, "inverse")) for part in _parts(label, function))
    for ref, element in lookup.ontology.elements():
        for label in element.labels.zh if ref.kind == "Attribute" else ():
            yield from ((part, Name(ref, "label")) for part in _parts(label, function))


def _parts(label: str, function: Container[str]) -> Iterator[str]:
    pieces = units(label)
    if pieces and is_cjk(pieces[0].value):
        if len(pieces) == _TWO_WORDS:
            yield label[:2]
            yield label[2:]
        return
    words = label.split()
    for n in range(1, len(words)):
        if words[n - 1].casefold() not in function and words[0].casefold() not in function:
            yield " ".join(words[:n])


def spans_of(found: Sequence[Found[Name]], kind: str) -> list[Span]:
    """Return the longest names of one kind, relations as `kind of name:id`."""
    spans = []
    for one in longest([one for one in found if any(name.ref.kind == kind for name in one.payloads)]):
        names = [name for name in one.payloads if name.ref.kind == kind]
        ids = (f"{name.kind}:{name.ref.key}" if kind == "Relation" else name.ref.key for name in names)
        spans.append(Span(one.start, one.end, tuple(ids)))
    return spans


def wanted_end(kind: str, side: str) -> End | None:
    """Return which end of a relation is meant; None where the name and its place do not go together."""
    if side == "owner":
        return _ROLES.get(kind)
    subject = _SUBJECT.get(kind)
    if subject is None:
        return None
    if side == "object":
        return subject
    return "target" if subject == "source" else "source"
