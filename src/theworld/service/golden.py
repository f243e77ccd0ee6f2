"""Golden sets of a tenant from its live traffic: judged questions, without repetitions and leaks, stratified.

A question enters with what is known to be right about it: answers and documents its users gave; where they only said
`good`, the documents the answer cited, and the answer itself when it was an entity. A `bad` without a correction says
nothing about what is right, so it does not enter.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, NamedTuple

from theworld.service.runtime import Service
from theworld.stores.ledger.evaluations import Query
from theworld.text import fold, tokens
from theworld.text.numerals import CHINESE_NUMERAL

NEAR = 0.8
"""Share of tokens two questions have in common (Jaccard) from which they count as one, if no number or name differs."""
_NUMBER = re.compile(rf"\d|[{CHINESE_NUMERAL}]")
_NAME = re.compile(r"(?<=[^.!?？。\s]\s)[A-Z][\w'’-]*")


def build_golden_set(
    judged: Iterable[Query],
    *,
    known: Collection[str] = (),
    in_corpus: Callable[[str], bool] = lambda _question: False,
    size: int | None = None,
) -> tuple[list[Query], dict[str, int]]:
    """Return the golden set of judged questions, and how many are not in it by reason; the same in any order.

    The reasons: without_gold, contradicted, repeated, leaked, over_size. A question leaks when it is in a set already
    (`known`), stands in a document word for word (`in_corpus`), or holds its own answer. With `size`, strata are taken
    from in turn, so that small ones are not lost.
    """
    ordered = sorted(judged, key=lambda item: item.id)
    entering = [item for item in ordered if item.answers or item.grades]
    left_out = Counter(without_gold=len(ordered) - len(entering))
    taken = {_key(text) for text in known}
    clean = []
    for item in _without_repetitions(entering, left_out):
        asked = _key(item.text)
        told = any(len(key) > 1 and f" {key} " in f" {asked} " for key in map(_key, item.answers))
        if asked in taken or in_corpus(item.text) or told:
            left_out["leaked"] += 1
        else:
            clean.append(item)
    chosen = clean
    if size is not None:  # from the strata in turn; within one by hash, so that no time of day is preferred
        strata: dict[str, list[Query]] = defaultdict(list)
        for item in sorted(clean, key=lambda item: hashlib.blake2b(item.id.encode(), digest_size=8).digest()):
            strata[item.type].append(item)
        turns = zip_longest(*(strata[name] for name in sorted(strata)))
        chosen = [item for turn in turns for item in turn if item is not None][:size]
        chosen.sort(key=lambda item: item.id)
    left_out["over_size"] += len(clean) - len(chosen)
    return chosen, {reason: count for reason, count in sorted(left_out.items()) if count}


def _without_repetitions(items: Sequence[Query], left_out: Counter[str]) -> Iterator[Query]:
    """Yield one question of each group of near-equal ones; a group whose members contradict each other yields none."""
    groups: list[tuple[_Bag, list[Query]]] = []
    for item in items:
        names = _NAME.findall(item.text)
        bag = _Bag(frozenset(tokens(item.text)), frozenset(token for name in names for token in tokens(name)))
        group = next((some for other, some in groups if _near(bag, other)), None)
        if group is None:
            groups.append((bag, [item]))
        else:
            group.append(item)
    for _, group in groups:
        answers = [{_key(answer) for answer in item.answers} for item in group if item.answers]
        if any(answers[0].isdisjoint(other) for other in answers[1:]):
            left_out["contradicted"] += len(group)
            continue
        left_out["repeated"] += len(group) - 1
        also = [item.id for item in group[1:]]  # the repetitions that were left out
        yield replace(group[0], provenance={**group[0].provenance, "also": also})


class _Bag(NamedTuple):
    """What questions are compared by."""

    words: frozenset[str]
    names: frozenset[str]
    """Words with a capital inside the question."""


def _near(one: _Bag, other: _Bag) -> bool:
    """Return whether two questions ask the same: "in 2019" and "in 2020" do not, however long they are."""
    differing = one.words ^ other.words
    if not differing:
        return True
    common = len(one.words & other.words)
    if common < NEAR * (common + len(differing)):
        return False
    return differing.isdisjoint(one.names | other.names) and not any(map(_NUMBER.search, differing))


def _key(text: str) -> str:
    return " ".join(tokens(fold(text)))


def golden_set(service: Service, tenant: str, *, hours: float, size: int | None) -> tuple[list[Query], dict[str, Any]]:
    """Return a golden set of what the tenant's users judged in the last hours, and how it was made."""
    since_ms, rows = service.recent(tenant, hours)
    store = service.resources.store

    def in_corpus(question: str) -> bool:
        """Return whether a note holds the question word for word."""
        hits = store.sparse.search(question, tenant=tenant, filters={}, limit=3)
        notes = store.notes([hit.note_id for hit in hits], tenant=tenant)
        return any(f" {' '.join(tokens(question))} " in f" {' '.join(tokens(note.text))} " for note in notes)

    judged = []  # questions as they stand alone; their type is language and intent
    for row in rows:
        feedback = row["feedback"]
        if feedback is None or row["status"] != "ok":
            continue
        result = row["outcome"].get("result") or {}
        answers, documents = list(feedback["answers"]), list(feedback["documents"])
        if feedback["verdict"] == "good":
            cited = [citation["document_id"] for citation in result.get("citations") or []]
            documents = documents or list(dict.fromkeys(cited))
            answers = answers or ([result["text"]] if result.get("kind") == "entity" else [])
        asked, kind = row["query"] or row["question"], f"{row['language']}/{row['intent'] or 'question'}"
        provenance = {"request_id": row["request_id"], "verdict": feedback["verdict"]}
        grades = dict.fromkeys(documents, 1)
        judged.append(Query(row["request_id"], asked, tuple(answers), kind, grades, provenance))
    known = service.evaluations.all_questions(tenant)
    chosen, left_out = build_golden_set(judged, known=known, in_corpus=in_corpus, size=size)
    strata = dict(sorted(Counter(item.type for item in chosen).items()))
    made = {"made": "from logs and feedback", "since_ms": since_ms, "left_out": left_out, "strata": strata}
    return chosen, made
