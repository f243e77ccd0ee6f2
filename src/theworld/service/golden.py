"""Golden sets from live traffic: judged questions with provenance, without repetitions and leaks, stratified.

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
        reason = "without_gold" if not (item.answers or item.documents) else ""
        left_out.update([reason] if reason else [])
        if not reason:
            entering.append(item)
    distinct = list(_without_repetitions(entering, left_out))
    taken = {_key(text) for text in known}
    clean = []
    for golden in distinct:
        question = golden.question
        if _key(question.question) in taken or in_corpus(question.question) or _holds_answer(question):
            left_out["leaked"] += 1
        else:
            clean.append(golden)
    chosen = clean if size is None else _balanced(clean, size)
    left_out["over_size"] += len(clean) - len(chosen)
    return GoldenSet(tuple(chosen), {reason: count for reason, count in sorted(left_out.items()) if count})


def _without_repetitions(items: Sequence[JudgedQuestion], left_out: Counter[str]) -> Iterable[GoldenQuestion]:
    """Yield one question of each group of near-equal ones; a group whose members contradict each other yields none."""
    groups: list[list[JudgedQuestion]] = []
    bags: list[_Bag] = []
    for item in items:
        bag = _Bag.of(item.question)
        place = next((i for i, other in enumerate(bags) if _near(bag, other)), None)
        if place is None:
            groups.append([item])
            bags.append(bag)
        else:
            groups[place].append(item)
    for group in groups:
        first = group[0]
        answers = [{_key(answer) for answer in item.answers} for item in group if item.answers]
        if any(answers[0].isdisjoint(other) for other in answers[1:]):
            left_out["contradicted"] += len(group)
            continue
        left_out["repeated"] += len(group) - 1
        yield GoldenQuestion(first, tuple(item.request_id for item in group[1:]))


class _Bag(NamedTuple):
    """What questions are compared by."""

    words: frozenset[str]
    names: frozenset[str]
    """Words with a capital inside the question."""

    @classmethod
    def of(cls, question: str) -> _Bag:
        names = _NAME.findall(question)
        return cls(frozenset(tokens(question)), frozenset(token for name in names for token in tokens(name)))


def _near(one: _Bag, other: _Bag) -> bool:
    """Return whether two questions ask the same: "in 2019" and "in 2020" do not, however long they are."""
    differing = one.words ^ other.words
    if not differing:
        return True
    common = len(one.words & other.words)
    if common < NEAR * (common + len(differing)):
        return False
    return differing.isdisjoint(one.names | other.names) and not any(map(_NUMBER.search, differing))


def _holds_answer(item: JudgedQuestion) -> bool:
    asked = f" {_key(item.question)} "
    return any(len(_key(answer)) > 1 and f" {_key(answer)} " in asked for answer in item.answers)


def _balanced(items: Sequence[GoldenQuestion], size: int) -> list[GoldenQuestion]:
    """Take from the strata in turn; within one, the order is by hash, so that no time of day is preferred."""
    strata: dict[str, list[GoldenQuestion]] = defaultdict(list)
    for item in sorted(items, key=lambda item: _hash(item.question.request_id)):
        strata[item.question.stratum].append(item)
    chosen: list[GoldenQuestion] = []
    while len(chosen) < size and any(strata.values()):
        for name in sorted(strata):
            if strata[name] and len(chosen) < size:
                chosen.append(strata[name].pop(0))
    return sorted(chosen, key=lambda item: item.question.request_id)


def _key(text: str) -> str:
    return " ".join(tokens(fold(text)))


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest()


def golden_set(service: Service, tenant: str, *, since_ms: int, size: int | None) -> GoldenSet:
    """Build a golden set of what the tenant's users judged since a moment."""
    if service.writer is not None:
        service.writer.flush(2.0)
    return build_golden_set(
        judged_questions(service, tenant, since_ms),
        known=service.evaluations.all_questions(tenant),
        in_corpus=lambda question: _stands_in_corpus(service, tenant, question),
        size=size,
    )


def judged_questions(service: Service, tenant: str, since_ms: int) -> Iterator[JudgedQuestion]:
    """Yield the tenant's questions that have feedback."""
    for row in service.journal.requests(tenant, since_ms=since_ms, endpoints=("ask", "search")):
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


def stored_queries(found: GoldenSet) -> list[StoredQuery]:
    """Return a golden set's questions as they are kept."""
    return [
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


def provenance_of(found: GoldenSet, since_ms: int) -> dict[str, Any]:
    """Return how a golden set was made."""
    return {
        "made": "from logs and feedback",
        "since_ms": since_ms,
        "left_out": dict(found.left_out),
        "strata": found.strata(),
    }


def _stands_in_corpus(service: Service, tenant: str, question: str) -> bool:
    """Return whether a note holds the question word for word."""
    asked = " ".join(tokens(question))
    store = service.resources.store
    hits = store.sparse.search(question, tenant=tenant, filters={}, limit=3)
    notes = store.notes([hit.note_id for hit in hits], tenant=tenant)
    return any(f" {asked} " in f" {' '.join(tokens(note.text))} " for note in notes)
