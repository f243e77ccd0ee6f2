"""Golden sets of a tenant: from its requests and feedback on record into an evaluation set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from theworld.evaluation.golden import GoldenSet, JudgedQuestion, build_golden_set
from theworld.stores.ledger.evaluations import StoredQuery
from theworld.text import tokens

if TYPE_CHECKING:
    from theworld.service.runtime import Service


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
    """Tell whether a note holds the question word for word."""
    asked = " ".join(tokens(question))
    store = service.resources.store
    hits = store.sparse.search(question, tenant=tenant, filters={}, limit=3)
    notes = store.notes([hit.note_id for hit in hits], tenant=tenant)
    return any(f" {asked} " in f" {' '.join(tokens(note.text))} " for note in notes)
