"""A steady trickle of questions, by turns without and with an evaluation job beside it.

Every turn with a job has one without right before it; the P95 are compared over all turns. Holds when the P95 with a
job is at most 10 % higher and the job gets on.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import httpx

from service_measures.serving import API, SEARCH, copied, dataset_argument, percentiles, prepared, served
from theworld.evaluation.datasets import Dataset
from theworld.evaluation.metrics import percentile

MOST = 0.10
START_S = 300.0
JOBS = f"{API}/eval/jobs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    dataset_argument(parser)
    parser.add_argument("--seconds", type=float, default=60.0, help="length of all turns of a kind together")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rate", type=float, default=5.0, help="questions a second")


def run(arguments: argparse.Namespace) -> bool:
    dataset, settings = prepared(arguments.dataset)
    questions = [query.text for query in dataset.queries]
    alone: list[float] = []
    beside: list[float] = []
    steps, seconds = 0, arguments.seconds / arguments.turns
    with copied(settings.store) as store, served(store) as (_, url), httpx.Client(base_url=url, timeout=120) as client:
        dataset_id = uploaded(client, dataset)
        trickle(client, questions, 5.0, arguments.rate)
        for _ in range(arguments.turns):
            alone += trickle(client, questions, seconds, arguments.rate)
            job = started(client, dataset_id)
            beside += trickle(client, questions, seconds, arguments.rate)
            steps += stopped(client, job)
    print(percentiles("without a job", alone))
    print(percentiles("with one", beside))
    worse = percentile(beside, 0.95) / percentile(alone, 0.95) - 1
    print(f"P95 {worse:+.1%}; the jobs did {steps} steps meanwhile")
    return worse <= MOST and steps > 0


def uploaded(client: httpx.Client, dataset: Dataset) -> str:
    """Upload a question set, which the store's documents are for; return its id."""
    queries = [
        {"id": q.id, "text": q.text, "answers": list(q.answers), "grades": dict(q.grades)} for q in dataset.queries
    ]
    reply = client.post(f"{API}/eval/datasets", json={"name": dataset.name, "queries": queries}).raise_for_status()
    return str(reply.json()["data"]["dataset_id"])


def started(client: httpx.Client, dataset_id: str) -> str:
    """Start a job; return its id once it is under way."""
    strategies = [{"name": "A"}, {"name": "B", "rerank": False}]
    body = {"dataset_id": dataset_id, "strategies": strategies, "explain_failures": True}
    job = str(client.post(JOBS, json=body).raise_for_status().json()["data"]["job_id"])
    end = time.monotonic() + START_S
    while not state(client, job)["done"]:
        if time.monotonic() > end:
            sys.exit(f"the job did not begin within {START_S:.0f} s: it runs only on a processor that is idle")
        time.sleep(0.1)
    return job


def stopped(client: httpx.Client, job: str) -> int:
    """Cancel a job and wait for its process to go; return how many steps it did."""
    client.delete(f"{JOBS}/{job}").raise_for_status()
    while state(client, job)["status"] in {"queued", "running"}:
        time.sleep(0.1)
    time.sleep(5)  # longer than the process lingers
    return int(state(client, job)["done"])


def state(client: httpx.Client, job: str) -> dict[str, Any]:
    """Return a job as it stands."""
    data: dict[str, Any] = client.get(f"{JOBS}/{job}").json()["data"]
    return data


def trickle(client: httpx.Client, questions: list[str], seconds: float, rate: float) -> list[float]:
    """Ask one question after the other, so many a second; return milliseconds."""
    times, end, number = [], time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        begun = time.perf_counter()
        client.post(SEARCH, json={"query": questions[number % len(questions)]}).raise_for_status()
        times.append((time.perf_counter() - begun) * 1000)
        number += 1
        time.sleep(max(0.0, 1 / rate - (time.perf_counter() - begun)))
    return times
