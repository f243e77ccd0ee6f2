"""Ledgers and stores with other processes: many writers at once, followers beside them, one to be killed, one to read;
and what every ledger must do for the service: requests on record, keys, evaluation jobs, and a lock.
"""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from made_documents import assert_congruent, make_document
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger import Ledger, NoteParts
from theworld.stores.ledger.api_keys import KeyRing
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.evaluations import MOST_OPEN, Evaluations, Query
from theworld.stores.ledger.request_log import RequestJournal, RequestRecord


def write_batches(store: Path, log: Path, first: int, last: int) -> None:
    """Put, change and delete documents batch by batch, appending what was committed to the log, a JSON line each.

    A line is {"batch": number, "put": {document id: content hash, None when deleted}}. Batches are the same in every
    run, so that a run can be repeated from any batch.
    """
    with KnowledgeStore.open(store, create=True) as opened, log.open("a", encoding="utf-8") as file:
        for batch in range(first, last):
            documents = [make_document(number) for number in range(batch * 4, batch * 4 + 4)]
            documents += [make_document(number, version=batch) for number in range(0, batch * 4, 7)]
            opened.put(documents)
            file.write(json.dumps({"batch": batch, "put": {d.id: d.content_hash for d in documents}}) + "\n")
            file.flush()
            if batch % 5 == 4:
                gone = f"doc-{batch * 4:05d}"
                opened.delete([gone], tenant="default")
                file.write(json.dumps({"batch": batch, "put": {gone: None}}) + "\n")
                file.flush()
            if batch % 2:
                opened.catch_up()


def answer_with_counts(store: Path, line: Connection) -> None:
    """Open a store; for each True that comes, refresh, check, and answer with the number of notes; end with False."""
    with KnowledgeStore.open(store) as opened:
        while line.recv():
            opened.refresh()
            line.send(len(assert_congruent(opened)))


Make = Callable[..., Ledger]


class _Follower:
    """Applies changes as a projection does, while others write."""

    def __init__(self) -> None:
        self.applied = 0
        self.notes: dict[tuple[str, str], int] = {}
        self.numbers: list[int] = []

    def follow(self, ledger: Ledger, batch: int) -> None:
        last = ledger.sequence()
        while self.applied < last:
            changes, self.applied = ledger.changes(self.applied, batch, NoteParts(mentions=False, vectors=False))
            for change in changes:
                key = (change.tenant, change.note_id)
                self.numbers.append(change.sequence)
                if change.note is None:
                    self.notes.pop(key, None)
                else:
                    self.notes[key] = change.sequence


def write_side_by_side(make: Make, *, writers: int, rounds: int, tenants: int, seed: int) -> None:
    """Let writers put, change and delete the same documents at the same time; AssertionError for anything amiss.

    Each writer has a ledger of its own, as on a machine of its own. Two followers read on meanwhile.
    """
    stop, followers = threading.Event(), [_Follower(), _Follower()]
    names = [f"tenant {n}" for n in range(tenants)]
    with ThreadPoolExecutor(writers + len(followers)) as pool:
        reading = [pool.submit(_follow, make, *one, stop) for one in zip(followers, (1, 50), strict=True)]
        writing = [pool.submit(_write, make, rounds, names, random.Random(f"{seed} {n}")) for n in range(writers)]
        wait(writing)
        stop.set()
    for done in (*writing, *reading):
        done.result()
    with make(writable=False) as ledger:
        _check(ledger, followers, names)


def _write(make: Make, rounds: int, tenants: list[str], chance: random.Random) -> None:
    with make(writable=True) as ledger:
        for _ in range(rounds):
            names = chance.sample(tenants, k=min(2, len(tenants)))
            some = [(chance.randrange(6), chance.randrange(4), chance.choice(names)) for _ in range(3)]
            ledger.put([make_document(n, version, tenant=name) for n, version, name in some])
            if chance.random() < 0.3:
                ledger.delete([f"doc-{chance.randrange(6):05d}"], tenant=names[0])
            if chance.random() < 0.3:
                ledger.set_mentions(names[-1], {"doc-00001#0": make_document(3).notes[0].mentions})


def _follow(make: Make, follower: _Follower, batch: int, stop: threading.Event) -> None:
    with make(writable=False) as ledger:
        while not stop.is_set():
            follower.follow(ledger, batch)
        follower.follow(ledger, batch)


def _check(ledger: Ledger, followers: list[_Follower], tenants: list[str]) -> None:
    last = ledger.sequence()
    changes, _ = ledger.changes(0, last + 1, NoteParts(text=False, mentions=False, vectors=False))
    held = {(c.tenant, c.note_id): c.sequence for c in changes if c.note is not None}
    stored = [(tenant, note.id) for tenant in tenants for note in ledger.iter_notes(tenant)]
    assert sorted(stored) == sorted(held), "the changes do not tell what the ledger holds"
    assert len({c.sequence for c in changes}) == len(changes)
    for follower in followers:
        assert follower.applied == last
        assert follower.notes == held, "a follower skipped or kept a change"
        assert follower.numbers == sorted(set(follower.numbers)), "a change was told twice or out of order"
    for tenant in tenants:
        naming = Counter(
            key
            for note in ledger.iter_notes(tenant)
            for key in {mention.key for mention in note.mentions if mention.key is not None}
        )
        names = ledger.known_names(tenant)
        assert all(names[key][2] >= count for key, count in naming.items()), "an entity was lost"
        assert all(count for _, _, count in names.values()), "an entity that nothing names was left"


MakeService = Callable[[], Database]
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
    def service(self, make_service: MakeService) -> Iterator[Database]:
        """Return the ledger."""
        with make_service() as opened:
            yield opened

    def test_requests_are_kept_read_by_their_tenant_and_deleted_by_age(self, service: Database) -> None:
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

    def test_a_record_that_cannot_be_kept_leaves_nothing(self, service: Database) -> None:
        journal = RequestJournal(service)
        wrong = _record(2)
        wrong.candidates[0]["rank"] = None
        with pytest.raises(Exception, match=r"(?i)null"):
            journal.write([_record(1), wrong])
        assert not journal.knows("r1", tenant=TENANT)

    def test_keys_are_verified_expire_and_are_revoked(self, service: Database, make_service: MakeService) -> None:
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

    def test_a_job_goes_on_where_it_was(self, service: Database, make_service: MakeService) -> None:
        evaluations = Evaluations(service)
        queries = [Query(f"q{n}", f"问题 {n}", ("a",), grades={"d": 2}) for n in range(3)]
        identity = evaluations.add_dataset(TENANT, "set", queries, {"from": "test"})
        found = evaluations.dataset(identity, tenant=TENANT)
        assert found is not None
        assert (found[1:], evaluations.dataset(identity, tenant=OTHER)) == (("set", 3), None)
        assert evaluations.queries(found[0]) == queries
        assert evaluations.all_questions(TENANT) == [query.text for query in queries]
        name = evaluations.add_job(TENANT, found[0], {"arms": ["a"]}, total=3)
        job = evaluations.next_job()
        assert name is not None
        assert job is not None
        evaluations.start(job.id)
        evaluations.add_answer(job.id, "a", 0, {"hits": []})
        with make_service() as elsewhere:
            other = Evaluations(elsewhere)
            again = other.next_job()
            assert again is not None
            assert (again.job_id, again.status, again.done) == (name, "running", 1)
            assert other.answers(job.id) == {("a", 0): {"hits": []}}
            assert other.cancel(name, tenant=TENANT)
            assert not other.cancel(name, tenant=OTHER)
        assert evaluations.is_cancelled(job.id)
        evaluations.finish(job.id, "done", results={"a": {"recall": 0.5}}, report={"x": 1})
        assert evaluations.results(job.id) == {"a": {"recall": 0.5}}
        assert evaluations.next_job() is None

    def test_tenants_take_turns_with_jobs_and_each_may_have_so_many(self, service: Database) -> None:
        evaluations, rows = Evaluations(service), {}
        for tenant in (TENANT, OTHER):
            identity = evaluations.add_dataset(tenant, "set", [Query("q", "?")], {})
            found = evaluations.dataset(identity, tenant=tenant)
            assert found is not None
            rows[tenant] = found[0]
        mine = [evaluations.add_job(TENANT, rows[TENANT], {}, 1) for _ in range(MOST_OPEN + 1)]
        assert mine.index(None) == MOST_OPEN
        assert evaluations.add_job(OTHER, rows[OTHER], {}, 1) is not None
        order = []
        for _ in range(3):
            job = evaluations.next_job()
            assert job is not None
            order.append(job.tenant)
            evaluations.start(job.id)
            evaluations.finish(job.id, "done")
        assert order == [TENANT, OTHER, TENANT]
        assert evaluations.add_job(TENANT, rows[TENANT], {}, 1) is not None

    def test_one_process_at_a_time_has_a_lock(self, service: Database, make_service: MakeService) -> None:
        with make_service() as elsewhere:
            with service.lock_alone("work") as first, elsewhere.lock_alone("work") as second:
                assert (first, second) == (True, False)
                with elsewhere.lock_alone("other") as third:
                    assert third
            with elsewhere.lock_alone("work") as again:
                assert again
