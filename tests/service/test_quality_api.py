"""What the view Quality stands on: a request again and differently, what went wrong, feedback, sets and jobs listed."""

from __future__ import annotations

import httpx
import pytest

from service_cases import TWO_HOP, data_of
from service_process import START_S, fetch
from theworld.service.requests.replay import replay
from theworld.service.requests.running import CancelledRunError

REPLAY = "/api/v1/retrieval/replay"
UNSURE = "How many kangaroos does the mayor of Zurich own?"


@pytest.fixture(scope="module")
def mine(call):
    """Calls on behalf of a tenant without documents of its own, so that its records are these tests' alone."""
    return lambda path, body=None: call(path, body, X_Tenant_Id="quality")


def ask(send, question, **more):
    return send("/api/v1/ask", {"question": question, "stream": False, **more})["request_id"]


def test_a_request_is_the_same_again_and_leaves_no_trace(service, call, client):
    request_id = ask(call, TWO_HOP)
    assert service.writer.flush()
    before = [row["request_id"] for row in service.journal.requests("default", arm=None)]
    counted = service.metrics.answers.labels("entity")._value.get()
    found = call(f"{REPLAY}/{request_id}", {})
    assert (found["exact"], found["differences"], found["causes"]) == (True, {}, [])
    assert (found["before"]["text"], found["before"]["kind"]) == (found["now"]["text"], found["now"]["kind"])
    assert "Vienna" in found["now"]["text"]
    assert all(one["before"] == one["now"] for one in found["passages"])
    assert service.writer.flush()
    assert [row["request_id"] for row in service.journal.requests("default", arm=None)] == before
    assert service.metrics.answers.labels("entity")._value.get() == counted


def test_a_request_asked_differently_is_compared(call):
    request_id = ask(call, TWO_HOP)
    found = call(f"{REPLAY}/{request_id}", {"strategy": {"name": "words", "channels": ["sparse"], "rerank": False}})
    assert found["strategy"]["name"] == "words"
    assert not found["exact"]
    assert not found["stages"]["channels"]
    assert any("strategy words" in cause for cause in found["causes"])
    chinese = call(f"{REPLAY}/{request_id}?language=zh", {"strategy": {"name": "words", "channels": ["sparse"]}})
    assert chinese["causes"] == ["使用了策略 words"]
    assert any("现在" in line for line in chinese["differences"]["route"])
    best = found["passages"][0]
    assert 1 in {best["before"], best["now"]}
    ranks = {name: sorted(one[name] for one in found["passages"] if one[name]) for name in ("before", "now")}
    assert all(some == list(range(1, len(some) + 1)) for some in ranks.values())


def test_a_replay_stops_when_its_caller_has_gone(service, call):
    request_id = ask(call, TWO_HOP)
    service.writer.settle(request_id, tenant="default")
    record = service.journal.read(request_id, tenant="default")
    found = replay(record, service.resources, service.graph, cancelled=lambda: True)
    assert isinstance(found.run.error, CancelledRunError)
    assert (found.exact, len(found.run.steps)) == (False, 0)


def test_a_replay_refuses_what_it_cannot_do(call, client):
    request_id = ask(call, TWO_HOP)
    assert client.post(f"{REPLAY}/{request_id}", json={}, headers={"X-Tenant-Id": "other"}).status_code == 404
    assert client.post(f"{REPLAY}/0123", json={}).status_code == 404
    wrong = {"strategy": {"name": "B", "settings": {"retrieval": {"rrf_k": "many"}}}}
    told = client.post(f"{REPLAY}/{request_id}", json=wrong)
    assert told.status_code == 422, told.text
    assert "strategy.settings.rrf_k" in told.json()["message"]
    assert client.post(f"{REPLAY}/{request_id}", json={"strategy": {"channels": ["smell"]}}).status_code == 422


def test_failures_are_grouped_and_feedback_is_listed(mine, client):
    lost = [ask(mine, UNSURE), ask(mine, "谁发明了时间旅行？")]
    for place, request_id in enumerate(lost):
        mine("/api/v1/feedback", {"request_id": request_id, "verdict": "bad", "comment": f"no {place}"})
    mine("/api/v1/feedback", {"request_id": lost[0], "verdict": "good"})
    found = mine("/api/v1/metrics/failures?hours=1")
    assert found["requests"] == found["failed"] == 2
    groups = {(one["cause"], one["where"]): one for one in found["groups"]}
    assert groups["no_evidence", ""]["count"] == 2
    assert [one["request_id"] for one in groups["no_evidence", ""]["examples"]] == lost[::-1]
    assert sum(one["count"] for (cause, _), one in groups.items() if cause == "judged_bad") == 1, "the latest counts"
    page = mine("/api/v1/feedback?limit=2")
    assert (page["total"], [one["verdict"] for one in page["feedback"]]) == (3, ["good", "bad"])
    assert page["feedback"][1]["question"] == "谁发明了时间旅行？"
    rest = mine(f"/api/v1/feedback?limit=2&after={page['next_after']}")
    assert ([one["comment"] for one in rest["feedback"]], rest["next_after"]) == (["no 0"], None)
    assert mine("/api/v1/feedback?verdict=good")["total"] == 1
    other = {"X-Tenant-Id": "another"}
    assert client.get("/api/v1/feedback", headers=other).json()["data"]["total"] == 0
    assert client.get("/api/v1/metrics/failures", headers=other).json()["data"]["requests"] == 0


def test_sets_and_jobs_are_listed_newest_first(mine, client, service, monkeypatch):
    monkeypatch.setattr(type(service.jobs), "start", lambda _: None)  # the jobs wait, and are cancelled
    query = {"id": "1", "text": "Who?", "answers": ["Lee"]}
    sets = [mine("/api/v1/eval/datasets", {"name": f"<b>{n}</b>", "queries": [query]})["dataset_id"] for n in range(3)]
    page = mine("/api/v1/eval/datasets?limit=2")
    assert [one["dataset_id"] for one in page["datasets"]] == [sets[2], sets[1]]
    assert (page["total"], page["datasets"][0]["questions"], page["datasets"][0]["name"]) == (3, 1, "<b>2</b>")
    rest = mine(f"/api/v1/eval/datasets?limit=2&after={page['next_after']}")
    assert ([one["dataset_id"] for one in rest["datasets"]], rest["next_after"]) == ([sets[0]], None)
    jobs = [mine("/api/v1/eval/jobs", {"dataset_id": one})["job_id"] for one in sets]
    assert [one["job_id"] for one in mine("/api/v1/eval/jobs?limit=2")["jobs"]] == [jobs[2], jobs[1]]
    assert [one["job_id"] for one in mine(f"/api/v1/eval/jobs?after={jobs[1]}")["jobs"]] == [jobs[0]]
    assert mine("/api/v1/eval/jobs?after=unknown")["jobs"] == []
    for job in jobs:
        client.delete(f"/api/v1/eval/jobs/{job}", headers={"X-Tenant-Id": "quality"})
    assert {one["status"] for one in mine("/api/v1/eval/jobs")["jobs"]} == {"cancelled"}
    for path in ("datasets", "jobs"):
        assert client.get(f"/api/v1/eval/{path}", headers={"X-Tenant-Id": "other"}).json()["data"]["total"] == 0
        assert client.get(f"/api/v1/eval/{path}?limit=501").status_code == 422


def test_rights(guarded):
    url, service, keys = guarded
    reader = service.keys.create("reader", ["default"], scopes=["query"])
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {keys['default']}"}, timeout=START_S) as client:
        request_id = data_of(client.post("/api/v1/ask", json={"question": TWO_HOP, "stream": False}))["request_id"]
        assert client.post(f"{REPLAY}/{request_id}", json={}).status_code == 200
        foreign = client.post(f"{REPLAY}/{request_id}", json={}, headers={"Authorization": f"Bearer {keys['other']}"})
        assert foreign.status_code == 404
    lists = ["feedback", "metrics/failures", "eval/datasets", "eval/jobs"]
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {reader}"}, timeout=START_S) as client:
        assert {client.get(f"/api/v1/{path}").status_code for path in lists} == {403}
        assert client.post(f"{REPLAY}/{request_id}", json={}).status_code == 403
        assert {client.get(f"/api/v1/{path}").status_code for path in ("graph", "ontology", "metrics/online")} == {200}
    assert {fetch("GET", f"{url}/api/v1/{path}").status_code for path in [*lists, "graph", "ontology"]} == {401}
