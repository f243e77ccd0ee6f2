"""Golden sets of a tenant from its live traffic: judged questions, without repetitions and leaks, stratified.

A question enters with what is known to be right about it: answers and documents its users gave; where they only said
`good`, the documents the answer cited, and the answer itself when it was an entity. A `bad` without a correction says
nothing about what is right, so it does not enter.

Golden sets of a tenant: from its requests and feedback on record into an evaluation set.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    language: str
    intent: str
    answers: tuple[str, ...]
    documents: tuple[str, ...]
    verdict: str

    @property
    def stratum(self) -> str:
        """What sets are balanced by."""
        return f"{self.language}/{self.intent}"


@dataclass(frozen=True, slots=True)
class GoldenQuestion:
    """A question of a golden set."""

    question: JudgedQuestion
    also: tuple[str, ...] = ()
    """Request ids of the repetitions that were left out."""

    def provenance(self) -> dict[str, Any]:
        """Return where it comes from."""
        return {"request_id": self.question.request_id, "verdict": self.question.verdict, "also": list(self.also)}


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """A golden set, and why the other questions are not in it."""

    questions: tuple[GoldenQuestion, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    """By reason: without_gold, contradicted, repeated, leaked, over_size."""

    def strata(self) -> dict[str, int]:
        """Return the number of questions by stratum."""
        return dict(sorted(Counter(item.question.stratum for item in self.questions).items()))


def build_golden_set(
    judged: Iterable[JudgedQuestion],
    *,
    known: Collection[str] = (),
    in_corpus: Callable[[str], bool] = lambda _question: False,
    size: int | None = None,
) -> GoldenSet:
    """Return the golden set of judged questions, the same for the same input in any order.

    A question leaks when it is in a set already (`known`), stands in a document word for word (`in_corpus`), or holds
    its own answer. With `size`, strata are taken from in turn, so that small ones are not lost.
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
    for golden in _without_repetitions(entering, left_out):
        asked, question = _key(golden.question.question), golden.question
        answers = [_key(answer) for answer in question.answers]
        told = any(len(answer) > 1 and f" {answer} " in f" {asked} " for answer in answers)
        if asked in taken or in_corpus(question.question) or told:
            left_out["leaked"] += 1
        else:
            clean.append(golden)
    chosen = clean if size is None else _balanced(clean, size)
    left_out["over_size"] += len(clean) - len(chosen)
    return GoldenSet(tuple(chosen), {reason: count for reason, count in sorted(left_out.items()) if count})


def _without_repetitions(items: Sequence[JudgedQuestion], left_out: Counter[str]) -> Iterable[GoldenQuestion]:
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
        yield GoldenQuestion(group[0], tuple(item.request_id for item in group[1:]))


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


def _balanced(items: Sequence[GoldenQuestion], size: int) -> list[GoldenQuestion]:
    """Take from the strata in turn; within one, the order is by hash, so that no time of day is preferred."""

    def by_hash(item: GoldenQuestion) -> bytes:
        return hashlib.blake2b(item.question.request_id.encode("utf-8"), digest_size=8).digest()

    strata: dict[str, list[GoldenQuestion]] = defaultdict(list)
    for item in sorted(items, key=by_hash):
        strata[item.question.stratum].append(item)
    chosen: list[GoldenQuestion] = []
    while len(chosen) < size and any(strata.values()):
        for name in sorted(strata):
            if strata[name] and len(chosen) < size:
                chosen.append(strata[name].pop(0))
    return sorted(chosen, key=lambda item: item.question.request_id)


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
    found = build_golden_set(_judged(rows), known=known, in_corpus=in_corpus, size=size)
    queries = [
        StoredQuery(
            query_id=item.question.request_id,
            text=item.question.question,
            answers=item.question.answers,
            grades=dict.fromkeys(item.question.documents, 1),
            type=item.question.stratum,
            provenance=item.provenance(),
        )
        for item in found.questions
    ]
    counts = {"left_out": dict(found.left_out), "strata": found.strata()}
    return queries, {"made": "from logs and feedback", "since_ms": since_ms, **counts}


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
            language=row["language"],
            intent=row["intent"] or "question",
            answers=tuple(answers),
            documents=tuple(documents),
            verdict=feedback["verdict"],
        )
