"""A question cut into the terms that mean something to the database: words, periods, numbers and rankings.

And the classes that it leaves unsaid: the people asked for with "who", the things that a value is a kind of.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import reduce
from itertools import pairwise
from string import ascii_lowercase
from typing import NamedTuple

from theworld.questions import Question, read_question
from theworld.sql.mapping import PEOPLE, DatabaseMapping
from theworld.sql.plan import UnclearError
from theworld.sql.questions.lexicon import (
    CUES,
    Lexicon,
    Meaning,
    Term,
    TermKind,
    classes_dated,
    classes_named,
    period_verbs,
    segment,
    terms_of,
)
from theworld.sql.questions.narrowing import LONGEST_BETWEEN
from theworld.text.calendar import unit_of as calendar_unit_of
from theworld.text.numerals import CHINESE_DIGITS, ENGLISH_NUMBERS, read_numeral
from theworld.text.quantities import Quantity, unit_of
from theworld.text.sentences import in_frame
from theworld.text.time_ranges import TimeRange
from theworld.text.tokens import fold_in_place, has_ideographs


class Ranking(NamedTuple):
    """How many of the first or the last."""

    size: int
    highest: bool
    of_number: bool = False
    """Whether how many there are is ranked, unless a measure is named: the most, the fewest."""
    what: Term | None = None
    """What is ranked: the class or attribute that "which" or the ranking stands before."""


_N = r"(?P<n>[1-9]\d{0,2}|[一二两三四五六七八九十]{1,3})"
_NUMBERS = "|".join(word for word, n in ENGLISH_NUMBERS.items() if n > 1)
_N_EN = rf"(?P<n>[1-9]\d{{0,2}}|{_NUMBERS})"
_COUNTED = "|".join(CUES["classifiers"])
_ADJECTIVES = "|".join(word for both in CUES["adjectives"].values() for words in both.values() for word in words)
_ZH, _EN = ("|".join(w for both in CUES["superlative"].values() for w in both[language]) for language in ("zh", "en"))
_RANKINGS = (
    re.compile(rf"(?P<said>(?:排名)?前\s*{_N}\s*(?:{_COUNTED}|大)?的?)"),
    re.compile(rf"(?P<said>哪\s*{_N}\s*(?:{_COUNTED}))"),
    re.compile(rf"(?<=which )(?P<said>{_N_EN})(?![a-z0-9])"),
    re.compile(rf"(?P<said>(?<![a-z])(?:the\s+)?top[\s-]+{_N_EN}(?![a-z0-9]))"),
    re.compile(rf"(?:{_ZH}|{_ADJECTIVES})的?\s*(?P<said>{_N}\s*(?:{_COUNTED}|大))"),
    re.compile(rf"(?P<said>(?<![a-z])(?:the\s+)?{_N_EN}(?=\s+(?:{_EN}|{_ADJECTIVES})(?![a-z])))"),
)
"""Forms of how many are ranked: the highest where no superlative beside it says otherwise."""


def find_rankings(folded: str) -> list[Term]:
    """Return "top 5", the "3家" of "最高的3家", ... ; the meaning's value is how many."""
    found = (match for pattern in _RANKINGS for match in pattern.finditer(folded))
    return [Term(*m.span("said"), m["said"], (Meaning("top", "", read_numeral(m["n"]) or 0),)) for m in found]


_FAR = 100  # steps of a way that there is not
_EQUALS_ZH = re.compile(rf"(?<=[为是])[{CHINESE_DIGITS}两十百]+")  # 库存为零
_DONE_BY = frozenset(verb for verbs in CUES["done_by"].values() for verb in verbs)
_LETTERS = frozenset(ascii_lowercase)
_ASKED_ONCE: tuple[TermKind, ...] = (
    "class", "period", "unit_of_time", "superlative", "adjective", "top", "number", "compared",
)  # fmt: skip
_PERIOD = re.compile(r"[上下前去本这那当今明昨]一?个?$")


def cut_question(question: str, now: datetime, lexicon: Lexicon) -> tuple[tuple[Term, ...], tuple[str, ...]]:
    """Return the terms of a question, without those that change nothing, and the stretches that mean nothing here.

    The router and the database ask for the same: a question is cut once for each lexicon and moment.
    """
    asked = read_question(question)
    return asked.once((lexicon, now.isoformat(), str(now.tzinfo)), lambda: _cut(asked, now, lexicon))


def _cut(question: Question, now: datetime, lexicon: Lexicon) -> tuple[tuple[Term, ...], tuple[str, ...]]:
    folded = fold_in_place(question.text)
    periods = [
        Term(*found.place, folded[slice(*found.place)], (Meaning("period", "", found),))
        for found in question.times(now)
    ]
    equal = [Quantity(*m.span(), read_numeral(m[0]) or 0, 1, "") for m in _EQUALS_ZH.finditer(folded)]
    numbers = []
    for quantity in (*question.amounts, *equal):  # without the word of what is counted
        end = quantity.end - (len(quantity.unit) if unit_of(quantity.unit).base == "1" else 0)
        written = folded[quantity.start : end].rstrip()
        place, meanings = (quantity.start, quantity.start + len(written)), [Meaning("number", "", quantity)]
        if re.fullmatch(r"(?:19|20)\d\d", written):  # a year is a period too: 2025 revenue
            first = now.replace(year=int(written), month=1, day=1)
            year = TimeRange(*calendar_unit_of(first, "year"), "year", 1, place)
            meanings.append(Meaning("period", "", year))
        numbers.append(Term(*place, written, tuple(meanings)))
    terms, unknown = segment(folded, [*periods, *lexicon.find(folded), *find_rankings(folded), *numbers])
    units = [(t, _PERIOD.search(folded[: t.start])) for t in terms if t.of("unit_of_time")]
    unknown += [folded[before.start() : t.end] for t, before in units if before]  # 下个月 that no period was read of
    terms = [term._replace(written=question.text[term.start : term.end]) for term in terms]
    meant = _with_had(_in_context(_beside_others(list(map(_as_written, terms))), folded))
    dating = period_verbs(meant)  # what was shipped in March was shipped then, whatever its status (shipped) is now
    meant = [said for t in meant for said in (_dating(t) if t in dating and t.of("value") else [t])]
    return tuple(term for term in meant if any(m.kind != "empty" for m in term.meanings)), tuple(unknown)


def _in_context(terms: list[Term], text: str) -> list[Term]:
    """Return the terms of a question in its context: what is asked last takes the place of its like."""
    context = in_frame(text)[1]
    begin = text.rindex(context) if context else len(text)
    before = [term for term in terms if term.start >= begin]
    if not terms_of(before, "aggregate", "attribute", "class", "which", "who") or before[0].of("not"):
        return terms  # no question, but a remark
    parts: defaultdict[int, list[Term]] = defaultdict(list)
    for term in terms:
        parts[text.count(";", begin, term.start) if term in before else -1].append(term)
    first, *later = (parts[i] for i in sorted(parts, reverse=True))
    if any(terms_of(part, "not", "not_after") for part in later):  # and without cats
        return terms
    return reduce(lambda old, new: _in_place(new, old), later, first)


def _in_place(asked: list[Term], before: list[Term]) -> list[Term]:
    """Return what was asked before with what is asked now in the place of its like, the rest of this in front.

    A class among several, and a period of another year than the one named before, take no certain place: not read.
    """
    for kind in _likes(asked):
        new, old = (_likes(part).get(kind, []) for part in (asked, before))
        if not (new and old):
            continue
        if (kind == "class" and len(old) > 1) or (kind == "period" and _other_year(new[0], old[0])):
            return [new[0]._replace(meanings=(Meaning("unreadable", new[0].text),)), *before]
        each = {a for a, b in pairwise(asked) if a.of("each") and b in new}
        moved = [term._replace(start=old[0].start, end=old[0].end) for term in new]
        asked = [term for term in asked if term not in {*new, *each}]
        before = [one for term in before for one in (moved if term == old[0] else () if term in old else (term,))]
    return [*asked, *before]


def _likes(terms: Sequence[Term]) -> dict[str, list[Term]]:
    """Return terms by what is asked for once: values by column, names by class, a class, a period, a group, ..."""
    found: defaultdict[str, list[Term]] = defaultdict(list)
    for i, term in enumerate(terms):
        grouped = terms_of(terms[max(0, i - 1) : i], "each") and term.of("class", "attribute", "role")
        named = {m.name.partition("=")[0] for m in term.of("value", "entity")}
        others: set[str] = {"superlative" if m.kind == "adjective" else m.kind for m in term.of(*_ASKED_ONCE)}
        others |= {m.name for m in term.of("aggregate")}
        for kind in {"group"} if grouped else sorted(named) or sorted(others):
            found[kind].append(term)
    return dict(found)


def _other_year(new: Term, old: Term) -> bool:
    """Return whether a period says no year where one before it named another: in March, after revenue in 2023."""
    starts = [term.of("period")[0].value.start for term in (new, old)]
    named = [re.search(r"(?:19|20)\d\d|年|year", term.text) for term in (new, old)]
    return bool(named[1] and not named[0] and all(starts) and starts[0].year != starts[1].year)


def _dating(term: Term) -> list[Term]:
    """Return the date that a verb names, and what it says is so where no business is done: won in March is won then."""
    date = term._replace(meanings=term.of("dated", "traded"))
    if term.of("traded") or term.text not in CUES["outcomes"]:
        return [date]
    return [date._replace(end=term.start), term._replace(meanings=term.of("value"))]


def _with_had(terms: list[Term]) -> list[Term]:
    """Return the terms, the classes among them marked that something is said to have: orders with an employee."""
    told = [term for term in terms if term.text not in CUES["articles"]]
    had = [b for a, b in pairwise(told) if a.of("empty") and a.text in CUES["having"] and b.of("class")]
    made = [t._replace(meanings=(*t.meanings, Meaning("had", ""))) if t in had else t for t in terms]
    asked = terms_of(terms, "which", "who", "top")
    trios = zip(told, told[1:], told[2:], strict=False)  # the book with the most copies is which book has them
    ranked = [a for a, b, c in trios if a.of("class") and b.text in CUES["having"] and c.of("superlative", "adjective")]
    which = (Meaning("which", "which"),)
    return sorted([*made, *(Term(a.start, a.start, "which", which) for a in ranked if not asked)])


def _beside_others(terms: list[Term]) -> list[Term]:
    """Return the terms as what stands beside them has them: a year that something is compared with is a number.

    "By" before a name is nothing but that: albums by somebody, who is then no album. A small letter is no value, and a
    Chinese character one of a row (女) only beside the name of its column or class, or another value of its column.
    """
    made, lone = list(terms), _lone_characters(terms)
    for i, term in enumerate(terms):
        after = terms[i + 1 : i + 2]
        if term in lone:  # but the grade A, the size M
            made[i] = term._replace(meanings=(Meaning("unreadable", term.text),))
        elif term.of("number") and term.of("period"):
            compared = terms_of(terms[max(0, i - 1) : i + 2], "compared")
            made[i] = term._replace(meanings=term.of("number" if compared else "period"))
        elif term.text == "多少" and terms_of(after, "class") and after[0].start == term.end:
            made[i] = term._replace(meanings=(Meaning("aggregate", "count"),))
        elif term.of("gone"):
            lacks = Meaning("not" if terms_of(after, "attribute") else "empty", term.text)
            made[i] = term._replace(meanings=(lacks,))
        elif term.of("passive") and term.of("each") and terms_of(after, "entity", "value"):
            made[i] = term._replace(meanings=(Meaning("empty", term.text),))
            before = next((m.name for t in reversed(terms[:i]) for m in t.of("class")), "")
            others = tuple(m for m in terms[i + 1].meanings if not m.name.startswith(f"{before}="))
            terms[i + 1] = made[i + 1] = terms[i + 1]._replace(meanings=others or terms[i + 1].meanings)
    return made


def _lone_characters(terms: Sequence[Term]) -> list[Term]:
    """Return the values of one character that are written small, or without their column or class beside them."""
    said = [term for term in terms if len(term.of("empty")) < len(term.meanings)]
    found = []
    for i, term in enumerate(said):
        columns = {m.name.partition("=")[0] for m in term.of("value")} | term.owners("value")
        near = (*said[max(0, i - 1) : i], *said[i + 1 : i + 2])
        beside = {m.name.partition("=")[0] for one in near for m in one.of("class", "attribute", "value")}
        stored = has_ideographs(term.text) and term.text in [fold_in_place(str(m.value)) for m in term.of("value")]
        small = term.written in _LETTERS and len(term.of("value")) == len(term.meanings)
        found += [term] if small or (stored and len(term.text) == 1 and not columns & beside) else []
    return found


def _as_written(term: Term) -> Term:
    """Return a term that is a plain word and a name too ("gone", a song) as what it is written as.

    A value of a column is what is meant ("received", a status) unless it is a letter or two ("a", the grade A), which
    has to be in capitals, or one Chinese character (是); a name of a row has to be written with a capital letter.
    A first name is the person's name, and yields to all else that the word is: France.
    """
    first_names = () if term.of("value", "entity", "class", "attribute") else term.of("first_name")
    others = (m for m in term.meanings if m.kind != "first_name")
    term = term._replace(meanings=(*others, *(m._replace(kind="entity") for m in first_names)))
    plain = term.of("empty", "traded", "unreadable", "not", "or", "each", "which", "joined")
    names, written = term.of("value", "entity", "several"), term.written
    capital = bool(term.start) and written[0].isupper()
    if not plain and term.of("entity") and term.of("class", "attribute") and not capital:
        return term._replace(meanings=tuple(m for m in term.meanings if m.kind != "entity"))  # money, no song "Money"
    if not plain or not names:
        return term
    short = 1 if has_ideographs(written) else 2
    said = capital or written[1:].isupper() or (len(written) > short and term.of("value"))
    return term._replace(meanings=tuple(m for m in term.meanings if m not in plain) if said else plain)


def with_unsaid(terms: Sequence[Term], mapping: DatabaseMapping) -> tuple[Term, ...]:
    """Return the terms with the classes that "who", "what" and "which sales agent" stand for; UnclearError for several.

    What an adjective says is taken apart: cheapest is lowest, and of the price.
    """
    named = classes_named(terms)
    negated = [said for before, said in pairwise(terms) if before.of("not") and not said.owners("value") & named]
    by_date = [said for said in negated if said.of("value") and said.of("dated")]  # not returned: no status of loans
    made: list[Term] = []
    for term in (t._replace(meanings=t.of("dated", "traded")) if t in by_date else t for t in terms):
        names = term.of("adjective")
        if names:
            made.append(term._replace(end=term.start, meanings=term.of("attribute")))
        made.append(term._replace(meanings=(Meaning("superlative", names[0].name),)) if names else term)
    said = _with_people(made, mapping) if terms_of(made, "who") else _with_things(made, mapping)
    things = ((term, _stands_for(said[i - 1], term, said[i + 1 :], said)) for i, term in enumerate(said) if i)
    unsaid = [term._replace(end=term.start, meanings=(Meaning("class", one),)) for term, one in things if one]
    return tuple(sorted([*said, *unsaid]))


def _stands_for(before: Term, term: Term, following: Sequence[Term], terms: Sequence[Term]) -> str | None:
    """Return the class that a value or a name stands for the things of: which sales agent, how many kettles."""
    classes = term.owners("value", "entity")
    if len(classes) != 1 or term.of("class", "attribute"):
        return None
    after = [one for one in following[:1] if one.start - term.end <= LONGEST_BETWEEN]
    counted = before.text in CUES["of_number"] or any(m.name == "count" for m in before.of("aggregate"))
    counted = counted and before.text not in CUES["how_often"]
    alone = counted and not terms_of(after, "class", "value", "entity", "attribute")
    if alone and term.of("entity") and not terms_of(terms, "traded"):
        raise UnclearError(f"it is not clear what is counted of {term.text!r}")
    asked = before.of("which") and not term.of("entity") and not classes & classes_named(terms)
    return next(iter(classes)) if asked or alone else None


def _with_people(terms: Sequence[Term], mapping: DatabaseMapping) -> list[Term]:
    """Return the terms with "who" as "which" and the class of people that what is named belongs to."""
    named, people = classes_named(terms), mapping.people
    owners = named.union(*(term.owners("entity") for term in terms)) - people
    event = _event_done(terms, owners, mapping)
    own = _people_related(terms, mapping) & people
    found = own or (not event and named & people) or _nearest_people(terms, event, mapping)
    keys = _keys_done_by(terms, mapping)
    if len(keys or found) != 1:
        raise UnclearError("it is not clear who is asked for")
    asked = terms_of(terms, "who")
    made = [term._replace(meanings=(Meaning("which", "who"),)) if term in asked else term for term in terms]
    meant = keys or [Meaning("class", *found)]
    unsaid = [term._replace(start=term.end, meanings=tuple(meant)) for term in asked]
    return sorted([*made, *unsaid]) if own or keys or not found <= named else made


def _event_done(terms: Sequence[Term], owners: set[str], mapping: DatabaseMapping) -> str | None:
    """Return what happened to what is named where a verb says so: who wrote a book did not borrow it."""
    doing = _done(terms) & _DONE_BY or terms_of(terms, "dated")
    return mapping.event_of(owners, dated=classes_dated(terms)) if owners and doing else None


def _keys_done_by(terms: Sequence[Term], mapping: DatabaseMapping) -> list[Meaning]:
    """Return those whom a key leads to that says who did what a value says was done: who approved, approved_by."""
    done = {(m.owner, term.text) for term in terms for m in term.of("value", "dated")}
    keys = ((one.id, one.source, (join.column or "").casefold().partition("_by")) for one, join in mapping.relations)
    return [Meaning("role", id_, "target") for id_, source, (verb, by, _) in keys if by and (source, verb) in done]


def _people_related(terms: Sequence[Term], mapping: DatabaseMapping) -> set[str]:
    """Return the classes that relations are of; of what a named thing has, those: its owner, who teaches Latin."""
    relations, known = mapping.lookup.relations, {owner for term in terms for owner in term.owners("entity")}
    said = [(m, relations[m.name]) for term in terms for m in term.of("relation", "role", "does")]
    has = [(m, one) for m, one in said if one.source in known and (m.kind == "does" or m.value == "target")]
    return {one.target for _, one in has} | {o.source for m, o in said if m.kind != "does" and (m, o) not in has}


def _nearest_people(terms: Sequence[Term], event: str | None, mapping: DatabaseMapping) -> set[str]:
    """Return the people that what is named, or happened, belongs to most directly; of several those who do so."""
    named = classes_named(terms) | classes_dated(terms)
    starts = {event} if event else named or {owner for term in terms for owner in term.owners("attribute")}
    found, said = _nearest(dict.fromkeys(mapping.people, starts), mapping), _done(terms)
    doing = [who for who, verbs in CUES["done_by"].items() if said.intersection(verbs)]
    return {one for one in found if len(found) == 1 or any(mapping.called(one, PEOPLE[who]) for who in doing)}


def _nearest(starts: Mapping[str, Collection[str]], mapping: DatabaseMapping) -> set[str]:
    """Return those of classes to which the ways from the classes where they start are the shortest."""
    ways = {goal: [mapping.path(start, goal, single=True) for start in its] for goal, its in starts.items()}
    steps = {goal: sum(len(way) if way else _FAR for way in its) for goal, its in ways.items()}
    return {goal for goal, number in steps.items() if number == min(steps.values())}


def _done(terms: Sequence[Term]) -> set[str]:
    """Return the verbs of business that terms are, in all their forms."""
    said = {term.text for term in terms_of(terms, "traded", "dated")}
    return said | {form for forms in CUES["verbs"] for form in forms if said.intersection(forms)}


def _with_things(terms: list[Term], mapping: DatabaseMapping) -> list[Term]:
    """Return the terms with the class of the things that "what" stands for: what Alice bought are products.

    They have names, and are nearest to what happened to them and to what is named. UnclearError for several.
    """
    made = [t._replace(meanings=(Meaning("which", t.text),)) if t.of("object") else t for t in terms]
    pairs = [t for verb, t in pairwise(terms) if t.of("which") and verb.of("traded", "dated")]
    alone = [t for t in pairs if not terms_of(terms[terms.index(t) + 1 :][:1], "class")]  # 买了什么
    asked = terms_of(terms, "object") or alone
    figures = terms_of(terms, "attribute", "aggregate", "superlative", "top", "each", "unit_of_time", "share", "latest")
    verbs = _done(terms) & _DONE_BY
    if not verbs and not figures and terms_of(asked, "object"):
        raise UnclearError("it is not clear what things are asked for")
    if len(asked) != 1 or figures or not verbs:
        return made
    owners = {owner for term in terms for owner in term.owners("class", "entity")}
    thing = Meaning("class", _nearest_thing(owners, classes_dated(terms), mapping))
    return sorted([*made, asked[0]._replace(start=asked[0].end, meanings=(thing,))])


def _nearest_thing(owners: set[str], dated: set[str], mapping: DatabaseMapping) -> str:
    """Return the class of the things nearest to what happened to them and to what is named."""
    things = [one for one in mapping.named - mapping.people - owners if not mapping.happens(one)]
    events = {one: mapping.event_of([*owners, one], dated=dated) for one in things}
    nearest = _nearest({thing: [event] for thing, event in events.items() if event is not None}, mapping)
    if len(nearest) != 1:
        raise UnclearError("it is not clear what things are asked for")
    return nearest.pop()
