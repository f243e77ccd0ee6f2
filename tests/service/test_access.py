"""Keys, tenants and loopback: who gets in, and that another tenant's things are as unknown as none."""

from __future__ import annotations

import random
import statistics

import pytest
from fastapi.testclient import TestClient

from service_cases import LOCAL, code, settings_over
from theworld.service.app import create_app
from theworld.service.runtime import open_service

pytestmark = pytest.mark.slow
SEARCH, ASK, EXPLAIN = "/api/v1/retrieval/search", "/api/v1/ask", "/api/v1/retrieval/explain/"
SECRETS = {"red": "The scarlet lighthouse of Redhaven was built by Rosa Crimson in 1801.",
           "blue": "The azure lighthouse of Bluehaven was built by Basil Cobalt in 1902."}  # fmt: skip


@pytest.fixture(scope="module")
def guarded(copy_of_demo):
    """A service that always wants keys, with a tenant for each secret."""
    settings = settings_over(copy_of_demo(), keys="required")
    with (
        open_service(settings, bound_to="127.0.0.1") as service,
        TestClient(create_app(service), raise_server_exceptions=False, **LOCAL) as client,
    ):
        keys = {tenant: service.keys.create(tenant, [tenant]) for tenant in SECRETS}
        for tenant, text in SECRETS.items():
            body = {"documents": [{"id": f"{tenant}-lighthouse", "title": f"{tenant} light", "text": text}]}
            reply = client.post("/api/v1/documents", json=body, headers=bearer(keys[tenant]))
            assert reply.json()["data"]["written"] == 1, reply.text
        yield service, client, keys


def bearer(token, **more):
    return {"Authorization": f"Bearer {token}", **{name.replace("_", "-"): value for name, value in more.items()}}


def test_without_a_key_nothing_but_health_is_told(guarded):
    _, client, _ = guarded
    assert code(client.post(SEARCH, json={"query": "x"})) == (401, 1003)
    assert client.get("/metrics").status_code == 401
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 200


def test_wrong_revoked_and_expired_keys_are_refused_alike(guarded):
    service, client, keys = guarded
    expired = service.keys.create("old", ["red"], expires_ms=1)
    revoked = service.keys.create("gone", ["red"])
    service.keys.revoke(revoked.split("_")[1])
    wrong = keys["red"][:-1] + ("A" if keys["red"][-1] != "A" else "B")
    replies = [client.post(SEARCH, json={"query": "x"}, headers=bearer(t)) for t in (expired, revoked, wrong, "", "tw")]
    assert {code(reply) for reply in replies} == {(401, 1003)}
    assert len({reply.json()["message"] for reply in replies[:3]}) == 1


def test_a_revoked_key_is_refused_although_it_was_just_used(guarded):
    service, client, _ = guarded
    token = service.keys.create("short", ["red"])
    assert client.post(SEARCH, json={"query": "lighthouse"}, headers=bearer(token)).status_code == 200
    service.keys.revoke(token.split("_")[1])
    assert client.post(SEARCH, json={"query": "lighthouse"}, headers=bearer(token)).status_code == 401


def test_a_key_acts_for_its_tenants_and_scopes_only(guarded):
    service, client, keys = guarded
    other = client.post(SEARCH, json={"query": "lighthouse"}, headers=bearer(keys["red"], X_Tenant_Id="blue"))
    assert code(other) == (403, 1004)
    reader = service.keys.create("reader", ["red"], scopes=["query"])
    body = {"documents": [{"id": "x", "text": "x"}]}
    assert code(client.post("/api/v1/documents", json=body, headers=bearer(reader))) == (403, 1004)
    anyone = service.keys.create("any", ["*"])
    for tenant, text in SECRETS.items():
        reply = client.post(SEARCH, json={"query": "lighthouse"}, headers=bearer(anyone, X_Tenant_Id=tenant))
        assert text in {c["text"] for c in reply.json()["data"]["candidates"]}


def test_on_loopback_no_key_is_needed_but_only_from_this_machine_itself(service):
    app = create_app(service)

    def status(headers=None, **client):
        with TestClient(app, raise_server_exceptions=False, **{**LOCAL, **client}) as opened:
            return opened.post("/api/v1/retrieval/route", json={"query": "hello"}, headers=headers).status_code

    assert status() == 200
    assert status(client=("192.0.2.7", 1)) == 401
    assert status(base_url="http://rebound.example:8321") == 401, "a web page that has rebound its name"
    assert status({"X-Forwarded-For": "192.0.2.7"}) == 401, "a proxy on this machine"
    assert status({"Authorization": "Bearer wrong"}) == 401, "a wrong key is never passed over"


@pytest.mark.parametrize("bound", ["0.0.0.0", "192.0.2.1", "::"])
def test_bound_elsewhere_a_key_is_needed_even_from_this_machine(service, bound):
    from dataclasses import replace

    with TestClient(create_app(replace(service, bound_to=bound)), **LOCAL) as client:
        assert client.post("/api/v1/retrieval/route", json={"query": "hello"}).status_code == 401


def test_two_tenants_never_see_each_other(guarded):
    """The whole run (5,000 calls) is benchmarks/service.py tenants."""
    _, client, keys = guarded
    dice = random.Random(7)
    ids = {tenant: [] for tenant in SECRETS}
    for _ in range(60):
        tenant = dice.choice(list(SECRETS))
        other = next(name for name in SECRETS if name != tenant)
        headers = bearer(keys[tenant])
        kind = dice.randrange(4)
        if kind == 0:
            body = {"query": dice.choice(["lighthouse", f"{other} light", "Rosa Crimson", "Basil Cobalt 1902"])}
            reply = client.post(SEARCH, json=body, headers=headers)
            ids[tenant].append(reply.json()["data"]["request_id"])
        elif kind == 1:
            body = {"question": f"Who built the lighthouse of {other.title()}haven?", "stream": dice.random() < 0.5}
            reply = client.post(ASK, json=body, headers=headers)
        elif kind == 2 and ids[other]:
            reply = client.get(EXPLAIN + dice.choice(ids[other]), headers=headers)
            assert code(reply) == (404, 1002)
        else:
            body = {"query": "light", "note_ids": [f"{other}-lighthouse#0"]}
            reply = client.post("/api/v1/retrieval/rerank", json=body, headers=headers)
            assert reply.json()["data"]["results"] == []
        secret = SECRETS[other]
        assert secret not in reply.text
        assert f"{other}-lighthouse#0" not in reply.text


def test_a_foreign_id_cannot_be_told_from_an_unknown_one(guarded):
    service, client, keys = guarded
    red, blue = bearer(keys["red"]), bearer(keys["blue"])
    request_id = client.post(SEARCH, json={"query": "lighthouse"}, headers=blue).json()["data"]["request_id"]
    service.writer.flush()
    body = {"name": "n", "queries": [{"id": "q", "text": "lighthouse?", "answers": ["x"]}]}
    dataset = client.post("/api/v1/eval/datasets", json=body, headers=blue).json()["data"]["dataset_id"]
    unknown = "f" * 32
    for foreign, ask in {
        request_id: lambda i: client.get(EXPLAIN + i, headers=red),
        request_id + "f": lambda i: client.post(
            "/api/v1/feedback", json={"request_id": i.rstrip("f") or i, "verdict": "good"}, headers=red
        ),
        dataset: lambda i: client.post("/api/v1/eval/jobs", json={"dataset_id": i}, headers=red),
    }.items():
        replies = [ask(foreign), ask(unknown)]
        assert {code(reply) for reply in replies} == {(404, 1002)}
        bodies = [{k: v for k, v in reply.json().items() if k != "trace_id"} for reply in replies]
        assert bodies[0] == bodies[1]
        headers = [sorted(set(reply.headers) - {"x-trace-id"}) for reply in replies]
        assert headers[0] == headers[1]
    deleted = client.request("DELETE", "/api/v1/documents", json={"ids": ["blue-lighthouse"]}, headers=red)
    assert deleted.json()["data"] == {"deleted": 0}
    assert SECRETS["blue"] in client.post(SEARCH, json={"query": "lighthouse"}, headers=blue).text


def test_the_same_work_is_done_for_a_foreign_id_as_for_an_unknown_one(guarded):
    """Counted in statements, so that it holds on any machine; the timing itself is in benchmarks/service.py."""
    from sqlalchemy import Engine, event

    service, client, keys = guarded
    request_id = client.post(SEARCH, json={"query": "light"}, headers=bearer(keys["blue"])).json()["data"]["request_id"]
    service.writer.flush()
    seen = []
    listener = lambda _c, _cur, statement, *_: seen.append(statement)  # noqa: E731
    event.listen(Engine, "before_cursor_execute", listener)
    try:
        work = []
        for one in (request_id, "f" * 32):
            seen.clear()
            client.get(EXPLAIN + one, headers=bearer(keys["red"]))
            work.append([statement for statement in seen if "retrieval" in statement])
    finally:
        event.remove(Engine, "before_cursor_execute", listener)
    assert work[0] == work[1] != []


def test_tokens_are_long_random_and_kept_as_hashes_only(guarded):
    service, _, keys = guarded
    assert len({token.rpartition("_")[2] for token in keys.values()}) == len(keys)
    assert statistics.fmean(len(token.split("_", 2)[2]) for token in keys.values()) == 43
    with service.ledger.reading() as connection:
        dumped = str(connection.exec_driver_sql("SELECT * FROM api_key").all())
    assert not any(token.split("_", 2)[2] in dumped for token in keys.values())
