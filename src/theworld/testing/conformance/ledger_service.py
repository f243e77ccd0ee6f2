"""Conformance of ledgers as the service uses them: requests on record, keys, evaluation jobs, and a lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from theworld.stores.ledger.api_keys import KeyRing
from theworld.stores.ledger.evaluations import Evaluations, StoredQuery
from theworld.stores.ledger.request_log import RequestJournal, RequestRecord
from theworld.stores.ledger.service_ledger import ServiceLedger

MakeService = Callable[[], ServiceLedger]
TENANT, OTHER = "default", "'; DROP TABLE api_key; --"


def _record(number: int, tenant: str = TENANT) -> RequestRecord:
    words = ("trace_id", "endpoint", "status", "question", "query", "language", "kind", "settings_hash", "version")
    request: dict[str, Any] = dict.fromkeys(words, f"{number} 问")
    request |= {"tenant": tenant, "request_id": f"r{number}", "arm": "main", "parent": None, "created_ms": number}
    request |= {"elapsed_ms": 1.5, "code": 0, "confidence": 0.25, "store_sequence": 2**40, "digest": "d"}
    request |= {"request": {"a": [1, None]}, "outcome": {}}
    route = {"strategy": "s", "path": "hybrid", "intent": "fact", "rerank": True, "confidence": 0.5, "decision": {}}
    candidates = [{"source": "sparse", "note_id": f"n{i}", "rank": i, "score": 0.1 * i} for i in (2, 1)]
    return RequestRecord(request, route, candidates, [])


class ServiceLedgerConformance:
    """Subclass it and give the fixture `make_service`, which opens one ledger, also several times at once."""

    @pytest.fixture
    def service(self, make_service: MakeService) -> Iterator[ServiceLedger]:
        """Return the ledger."""
        with make_service() as opened:
            yield opened

    def test_requests_are_kept_read_by_their_tenant_and_deleted_by_age(self, service: ServiceLedger) -> None:
        journal = RequestJournal(service)
        journal.write([_record(1), _record(2), _record(3, OTHER)])
        found = journal.read("r1", tenant=TENANT)
        assert found is not None
        assert found.request.items() >= _record(1).request.items()
        assert [candidate["rank"] for candidate in found.candidates] == [1, 2]
        assert found.route is not None
        assert found.route["rerank"] is True
        assert (journal.read("r1", tenant=OTHER), journal.tenant_of("r3")) == (None, OTHER)
        feedback = {"request_id": "r2", "answers": [], "documents": [], "comment": "%s", "created_ms": 5}
        journal.add_feedback({**feedback, "tenant": TENANT, "verdict": "bad"})
        journal.add_feedback({**feedback, "tenant": TENANT, "verdict": "good"})
        assert journal.route_outcomes(TENANT) == {"hybrid": (1, 1)}
        assert [row["request_id"] for row in journal.requests(TENANT)] == ["r1", "r2"]
        assert journal.prune(2) == 1
        assert journal.read("r1", tenant=TENANT) is None

    def test_a_record_that_cannot_be_kept_leaves_nothing(self, service: ServiceLedger) -> None:
        journal = RequestJournal(service)
        wrong = _record(2)
        wrong.candidates[0]["rank"] = None
        with pytest.raises(Exception, match=r"(?i)null"):
            journal.write([_record(1), wrong])
        assert not journal.knows("r1", tenant=TENANT)

    def test_keys_are_verified_expire_and_are_revoked(self, service: ServiceLedger, make_service: MakeService) -> None:
        ring = KeyRing(service)
        token = ring.create("one", [OTHER], scopes=["query"])
        with make_service() as elsewhere:
            principal = KeyRing(elsewhere).verify(token)
            assert principal is not None
            assert (principal.tenants, principal.scopes) == ((OTHER,), ("query",))
            assert ring.verify(token[:-1] + ("a" if token[-1] != "a" else "b")) is None
            assert ring.verify(ring.create("old", ["x"], expires_ms=1)) is None
            assert ring.revoke(principal.key_id)
            assert not ring.revoke(principal.key_id)
            assert KeyRing(elsewhere).verify(token) is None
        assert [key.name for key in ring.known()] == ["one", "old"]

    def test_a_job_goes_on_where_it_was(self, service: ServiceLedger, make_service: MakeService) -> None:
        evaluations = Evaluations(service)
        queries = [StoredQuery(f"q{n}", f"问题 {n}", ("a",), {"d": 2}) for n in range(3)]
        identity = evaluations.add_dataset(TENANT, "set", queries, {"from": "test"})
        found = evaluations.dataset(identity, tenant=TENANT)
        assert found is not None
        assert (found[1:], evaluations.dataset(identity, tenant=OTHER)) == (("set", 3), None)
        assert evaluations.queries(found[0]) == queries
        assert evaluations.all_questions(TENANT) == [query.text for query in queries]
        name = evaluations.add_job(TENANT, found[0], {"arms": ["a"]}, total=3)
        job = evaluations.next_job()
        assert job is not None
        evaluations.start(job.row)
        evaluations.add_answer(job.row, "a", 0, {"hits": []})
        with make_service() as elsewhere:
            other = Evaluations(elsewhere)
            again = other.next_job()
            assert again is not None
            assert (again.job_id, again.status, again.done) == (name, "running", 1)
            assert other.answers(job.row) == {("a", 0): {"hits": []}}
            assert other.cancel(name, tenant=TENANT)
            assert not other.cancel(name, tenant=OTHER)
        assert evaluations.is_cancelled(job.row)
        evaluations.finish(job.row, "done", results={"a": {"recall": 0.5}}, report={"x": 1})
        assert evaluations.results(job.row) == {"a": {"recall": 0.5}}
        assert evaluations.next_job() is None

    def test_one_process_at_a_time_has_a_lock(self, service: ServiceLedger, make_service: MakeService) -> None:
        with make_service() as elsewhere:
            with service.lock_alone("work") as first, elsewhere.lock_alone("work") as second:
                assert (first, second) == (True, False)
                with elsewhere.lock_alone("other") as third:
                    assert third
            with elsewhere.lock_alone("work") as again:
                assert again
