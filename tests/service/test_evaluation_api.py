"""Section 7.2 to 7.4 and 8.5, 8.6: evaluation jobs over HTTP, resumed after a restart, and golden sets from logs."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from fastapi.testclient import TestClient

from service_cases import CHINESE, LOCAL, TWO_HOP, settings_over
from theworld.evaluation.metrics import ndcg_at, recall_at, reciprocal_rank
from theworld.service.app import create_app
from theworld.service.evaluation_jobs import JobStoppedError, run_job
from theworld.service.runtime import open_service
from theworld.stores.ledger import evaluations

pytestmark = pytest.mark.slow
JOBS, DATASETS = "/api/v1/eval/jobs", "/api/v1/eval/datasets"
QUERIES = [
    {"id": "1", "text": TWO_HOP, "answers": ["Vienna"], "grades": {"en/fritz-lang.md": 2, "en/metropolis-film.md": 1}},
    {"id": "2", "text": CHINESE, "answers": ["范钦"], "grades": {"zh/tianyi-pavilion.md": 1}, "type": "chinese"},
    {"id": "3", "text": "Who painted The Starry Night?", "answers": ["Lee"], "grades": {"en/vincent-van-gogh.md": 1}},
    {"id": "4", "text": "Who wrote the Moonlight Sonata?", "answers": ["Beethoven"], "grades": {"not-there.md": 1}},
]  # fmt: skip


def dataset(call, queries=QUERIES):
    return call(DATASETS, {"name": "small", "queries": queries})["dataset_id"]


def finished(service, call, job_id):
    for _ in range(6000):  # the worker runs only when nobody else wants the processor
        job = call(f"{JOBS}/{job_id}")
        if job["status"] not in {"queued", "running"}:
            return job
        time.sleep(0.1)
    raise AssertionError("the job does not end")


def test_sections_7_and_8_a_job_compares_two_strategies_and_names_culprits(service, call):
    body = {
        "dataset_id": dataset(call),
        "strategies": [{"name": "A"}, {"name": "no-rerank", "rerank": False}],
        "explain_failures": True,
    }
    started = call(JOBS, body)
    assert started["status"] in {"queued", "running"}
    job = finished(service, call, started["job_id"])
    assert (job["status"], job["error"]) == ("done", "")
    assert job["done"] == job["total"] > 8
    assert set(job["results"]) == {"A", "no-rerank"}
    figures = job["results"]["A"]
    assert {"recall@5", "mrr", "ndcg@10", "em", "f1", "answer_success", "tool_success", "latency_ms"} <= set(figures)
    assert {"clarify_rate", "recovery_rate", "strata"} <= set(figures)
    assert figures["strata"]["type"]["chinese"]["n"] == 1
    assert figures["answer_success"] == 0.5
    gain = job["comparison"]["metrics"]["recall@5"]
    assert gain["n"] == 4
    assert gain["low"] <= gain["difference"] <= gain["high"]
    assert 0 < gain["p_value"] <= 1
    clusters = job["failures"]["A"]["clusters"]
    assert clusters["not_in_corpus"]["examples"][0]["query_id"] == "4"
    assert {example["query_id"] for c in clusters.values() for example in c["examples"]} == {"3", "4"}
    page = call(f"{JOBS}/{started['job_id']}/report?format=html&language=zh")["report"]
    assert "语料缺失" in page


def test_7_2_the_metrics_are_those_of_the_rankings_on_record(service, call):
    job_id = call(JOBS, {"dataset_id": dataset(call)})["job_id"]
    results = finished(service, call, job_id)["results"]["A"]
    row = service.evaluations.job(job_id, tenant="default").id
    answers = service.evaluations.answers(row)
    grades = [query["grades"] for query in QUERIES]
    ranked = [answers["A", position]["documents"] for position in range(len(QUERIES))]
    pairs = list(zip(ranked, grades, strict=True))
    assert results["recall@5"] == pytest.approx(sum(recall_at(5, r, g) for r, g in pairs) / 4, abs=1e-6)
    assert results["mrr"] == pytest.approx(sum(reciprocal_rank(r, g) for r, g in pairs) / 4, abs=1e-6)
    assert results["ndcg@10"] == pytest.approx(sum(ndcg_at(10, r, g) for r, g in pairs) / 4, abs=1e-6)
    import ir_measures

    qrels = [ir_measures.Qrel(str(i), d, g) for i, (_, gold) in enumerate(pairs) for d, g in gold.items()]
    run = [ir_measures.ScoredDoc(str(i), d, -rank) for i, (docs, _) in enumerate(pairs) for rank, d in enumerate(docs)]
    measures = {"recall@5": ir_measures.R @ 5, "mrr": ir_measures.RR, "ndcg@10": ir_measures.nDCG @ 10}
    agreed = ir_measures.calc_aggregate(list(measures.values()), qrels, run)
    for name, measure in measures.items():
        assert results[name] == pytest.approx(agreed[measure], abs=1e-6)


def test_a_job_cut_short_goes_on_and_asks_nothing_twice(copy_of_demo):
    with open_service(settings_over(copy_of_demo()), bound_to="127.0.0.1") as service:
        service.jobs.close()  # its process would take the job; here the steps are watched
        with TestClient(create_app(service), **LOCAL) as client:
            made = client.post(DATASETS, json={"name": "s", "queries": QUERIES}).json()["data"]["dataset_id"]
            body = {"dataset_id": made, "explain_failures": True}
            job_id = client.post(JOBS, json=body).json()["data"]["job_id"]
        evaluations = service.evaluations
        written = []
        add = evaluations.add_answer
        evaluations.add_answer = lambda *step: (written.append(step[1:3]), add(*step))
        looks = iter(range(100))
        with pytest.raises(JobStoppedError):
            run_job(evaluations.next_job(), evaluations, service.resources, alone=lambda: next(looks) == 2)
        assert written == [("A", 0), ("A", 1)]
        again = evaluations.next_job()
        assert (again.status, again.done) == ("running", 2)
        run_job(again, evaluations, service.resources, alone=lambda: False)
        assert len(written) == len(set(written))
        assert [step for step in written if step[0] == "A"] == [("A", n) for n in range(4)]
        done = evaluations.job(job_id, tenant="default")
        assert (done.status, done.done, done.total) == ("done", len(written), len(written))
        assert evaluations.next_job() is None


def test_a_job_survives_its_service(copy_of_demo):
    settings = settings_over(copy_of_demo())
    with open_service(settings, bound_to="127.0.0.1") as service:
        service.jobs.close()
        with TestClient(create_app(service), **LOCAL) as client:
            made = client.post(DATASETS, json={"name": "s", "queries": QUERIES[:2]}).json()["data"]["dataset_id"]
            job_id = client.post(JOBS, json={"dataset_id": made}).json()["data"]["job_id"]
    with open_service(settings, bound_to="127.0.0.1") as service:
        assert service.jobs.wait(600)
        assert service.evaluations.job(job_id, tenant="default").status == "done"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process's scheduling policy")
def test_jobs_work_at_idle_priority_unless_that_is_changed(copy_of_demo):
    code = (
        "import os, sys\n"
        "from theworld.service.evaluation_jobs import work_on_jobs\n"
        "from theworld.settings import Settings\n"
        "work_on_jobs(Settings(store=sys.argv[1], service={'job_priority': sys.argv[2]}))\n"
        "print(os.sched_getscheduler(0) == os.SCHED_IDLE)"
    )
    store = str(copy_of_demo())
    for priority, idle in (("idle", "True"), ("normal", "False")):
        command = [sys.executable, "-c", code, store, priority]
        assert subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip() == idle


def test_a_job_can_be_cancelled(service, call, client):
    many = [{**query, "id": f"{query['id']}-{n}"} for n in range(100) for query in QUERIES]
    job_id = call(JOBS, {"dataset_id": dataset(call, many), "explain_failures": True})["job_id"]
    assert client.delete(f"{JOBS}/{job_id}").json()["code"] == 0
    assert finished(service, call, job_id)["status"] == "cancelled"
    assert client.delete(f"{JOBS}/{'f' * 32}").status_code == 404


def test_a_tenant_has_so_many_jobs_at_once(service, call, client, monkeypatch):
    monkeypatch.setattr(evaluations, "MOST_OPEN", 0)
    reply = client.post(JOBS, json={"dataset_id": dataset(call)})
    assert (reply.status_code, reply.json()["code"], reply.headers["retry-after"]) == (429, 1006, "1")


@pytest.mark.parametrize(
    "strategies",
    [
        [{"name": "A"}, {"name": "A"}],
        [{"settings": {"retrieval": {"top_k": -1}}}],
        [{"settings": {"rerank": {"kind": "remote", "base_url": "http://169.254.169.254"}}}],
        [{"settings": {"model": {"base_url": "http://169.254.169.254"}}}],
        [{"settings": {"retrieval": {"no_such": 1}}}],
    ],
)
def test_a_strategy_that_is_wrong_or_reaches_out_is_refused(client, call, strategies):
    reply = client.post(JOBS, json={"dataset_id": dataset(call), "strategies": strategies})
    assert (reply.status_code, reply.json()["code"]) == (422, 1001)


def test_a_set_with_a_question_that_cannot_be_asked_is_refused_with_its_place(client):
    queries = [QUERIES[0], {"id": "x", "text": "?!", "answers": ["x"]}]
    reply = client.post(DATASETS, json={"name": "s", "queries": queries})
    assert (reply.status_code, reply.json()["code"]) == (422, 1001)
    assert reply.json()["data"]["errors"][0]["where"] == "body.queries.1.text"


def test_a_golden_set_is_made_of_what_users_judged(client, call):
    asked = [
        ("What did Marie Curie discover?", "good", ["polonium"]),
        ("Who designed the analytical engine?", "bad", ["Charles Babbage"]),
        ("南仁东是谁？", "bad", []),
    ]
    for question, verdict, answers in asked:
        data = call("/api/v1/ask", {"question": question, "stream": False})
        call("/api/v1/feedback", {"request_id": data["request_id"], "verdict": verdict, "answers": answers})
    made = call(DATASETS, {"name": "golden", "from_logs": {"hours": 1}})
    assert made["provenance"]["left_out"]["without_gold"] >= 1
    job = call(JOBS, {"dataset_id": made["dataset_id"]})
    assert job["total"] == made["questions"]
    again = client.post(DATASETS, json={"name": "golden", "from_logs": {"hours": 1}})
    assert again.status_code == 422, "all of them are in a set already"
    assert again.json()["data"]["left_out"]["leaked"] >= made["questions"]
