"""Golden sets of a tenant from its live traffic: judged questions, without repetitions and leaks, stratified.

A question enters with what is known to be right about it: answers and documents its users gave; where they only said
`good`, the documents the answer cited, and the answer itself when it was an entity. A `bad` without a correction says
nothing about what is right, so it does not enter.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from theworld.stores.ledger.evaluations import StoredQuery
from theworld.text import fold, tokens
from theworld.text.quantities import CHINESE_NUMERAL

if TYPE_CHECKING:
    from theworld.service.runtime import Service

NEAR = 0.8
"""Share of tokens two questions have in common (Jaccard) from which they count as one, if no number or name differs."""
_NUMBER = re.compile(rf"\d|[{CHINESE_NUMERAL}]")
_NAME = re.compile(r"(?<=[^.!?？。\s]\s)[A-Z][\w'’-]*")


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A question on record with what its users said."""

    request_id: str
    question: str
    """As it stands alone."""
    stratum: str
    """What sets are balanced by: language and intent."""
    answers: tuple[str, ...]
    documents: tuple[str, ...]
    verdict: str
    also: tuple[str, ...] = ()
    """Request ids of the repetitions that were left out."""


def build_golden_set(
    judged: Iterable[JudgedQuestion],
    *,
    known: Collection[str] = (),
    in_corpus: Callable[[str], bool] = lambda _question: False,
    size: int | None = None,
) -> tuple[list[JudgedQuestion], dict[str, int]]:
    """Return the golden set of judged questions, and how many are not in it by reason; the same in any order.

    The reasons: without_gold, contradicted, repeated, leaked, over_size. A question leaks when it is in a set already
    (`known`), stands in a document word for word (`in_corpus`), or holds its own answer. With `size`, strata are taken
    from in turn, so that small ones are not lost.
    """
    left_out: Counter[str] = Counter()
    entering = []
    for item in sorted(judged, key=lambda item: item.request_id):
        if item.answers or item.documents:
            entering.append(item)
        else:
            left_out["without_gold"] += 1
    taken = {_key(text) for text in known}
    clean = []
    for item in _without_repetitions(entering, left_out):
        asked = _key(item.question)
        told = any(len(key) > 1 and f" {key} " in f" {asked} " for key in map(_key, item.answers))
        if asked in taken or in_corpus(item.question) or told:
            left_out["leaked"] += 1
        else:
            clean.append(item)
    chosen = clean
    if size is not None:  # from the strata in turn; within one by hash, so that no time of day is preferred
        strata: dict[str, list[JudgedQuestion]] = defaultdict(list)
        for item in sorted(clean, key=lambda item: hashlib.blake2b(item.request_id.encode(), digest_size=8).digest()):
            strata[item.stratum].append(item)
        turns = zip_longest(*(strata[name] for name in sorted(strata)))
        chosen = [item for turn in turns for item in turn if item is not None][:size]
        chosen.sort(key=lambda item: item.request_id)
    left_out["over_size"] += len(clean) - len(chosen)
    return chosen, {reason: count for reason, count in sorted(left_out.items()) if count}


def _without_repetitions(items: Sequence[JudgedQuestion], left_out: Counter[str]) -> Iterator[JudgedQuestion]:
    """Yield one question of each group of near-equal ones; a group whose members contradict each other yields none."""
    groups: list[tuple[_Bag, list[JudgedQuestion]]] = []
    for item in items:
        names = _NAME.findall(item.question)
        bag = _Bag(frozenset(tokens(item.question)), frozenset(token for name in names for token in tokens(name)))
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
        yield replace(group[0], also=tuple(item.request_id for item in group[1:]))


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


def golden_set(
    service: Service, tenant: str, *, hours: float, size: int | None
) -> tuple[list[StoredQuery], dict[str, Any]]:
    """Return a golden set of what the tenant's users judged in the last hours, and how it was made."""
    since_ms, rows = service.recent(tenant, hours)
    store = service.resources.store

    def in_corpus(question: str) -> bool:
        """Return whether a note holds the question word for word."""
        hits = store.sparse.search(question, tenant=tenant, filters={}, limit=3)
        notes = store.notes([hit.note_id for hit in hits], tenant=tenant)
        return any(f" {' '.join(tokens(question))} " in f" {' '.join(tokens(note.text))} " for note in notes)

    known = service.evaluations.all_questions(tenant)
    chosen, left_out = build_golden_set(_judged(rows), known=known, in_corpus=in_corpus, size=size)
    queries = [
        StoredQuery(
            query_id=item.request_id,
            text=item.question,
            answers=item.answers,
            grades=dict.fromkeys(item.documents, 1),
            type=item.stratum,
            provenance={"request_id": item.request_id, "verdict": item.verdict, "also": list(item.also)},
        )
        for item in chosen
    ]
    strata = dict(sorted(Counter(item.stratum for item in chosen).items()))
    return queries, {
        "made": "from logs and feedback", "since_ms": since_ms, "left_out": left_out, "strata": strata,
    }  # fmt: skip


def _judged(rows: Iterable[Mapping[str, Any]]) -> Iterator[JudgedQuestion]:
    """Yield the questions on record that have feedback."""
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
        yield JudgedQuestion(
            request_id=row["request_id"],
            question=row["query"] or row["question"],
            stratum=f"{row['language']}/{row['intent'] or 'question'}",
            answers=tuple(answers),
            documents=tuple(documents),
            verdict=feedback["verdict"],
        )
