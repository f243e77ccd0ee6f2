"""Two tenants with keys of their own over one store, and random calls of every kind, also with the other's ids.

Holds when no reply ever had a word of the other tenant, every call with a foreign id said what one with an unknown id
says, and the times of the two do not differ: for every kind of call the Mann-Whitney test (Bonferroni over the
kinds) and the 95 % interval of the difference of medians are given.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
from scipy.stats import bootstrap, mannwhitneyu

from service_measures.serving import API, ASK, EXPLAIN, PATIENT, SEARCH, scratch, served
from theworld.stores.ledger.api_keys import KeyRing
from theworld.stores.ledger.opening import open_database

WORDS = {"red": ("scarlet", "Redhaven", "Crimson"), "blue": ("azure", "Bluehaven", "Cobalt")}
DOCUMENTS = 20
SIGNIFICANT = 0.01

Times = dict[str, dict[str, list[float]]]
"""Milliseconds by kind of call and by `foreign` or `unknown`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--calls", type=int, default=5000)


def run(arguments: argparse.Namespace) -> bool:
    with scratch() as folder, served(folder / "store", THEWORLD_SERVICE__KEYS="required", **PATIENT) as (_, url):
        with open_database(folder / "store", writable=True) as ledger:
            keys = {name: KeyRing(ledger).create(name, [name]) for name in WORDS}
        with httpx.Client(base_url=url, timeout=60) as client:
            callers = {name: _Caller(client, name, key) for name, key in keys.items()}
            for caller in callers.values():
                caller.prepare()
            seen = _random_calls(callers, arguments.calls)
    print(f"{arguments.calls} calls by two tenants; statuses {dict(sorted(seen.statuses.items()))}")
    print(f"words of the other tenant seen: {seen.leaks}; foreign ids answered otherwise than unknown: {seen.told}")
    return _compared(seen.times) and not seen.leaks and not seen.told


class _Caller:
    """One tenant and what it knows of its own."""

    def __init__(self, client: httpx.Client, name: str, key: str) -> None:
        self.client, self.name = client, name
        self.headers = {"Authorization": f"Bearer {key}"}
        self.requests: list[str] = []
        self.jobs: list[str] = []
        self.datasets: list[str] = []

    def send(self, method: str, path: str, body: Any = None) -> httpx.Response:
        return self.client.request(method, path, json=body, headers=self.headers)

    def data(self, method: str, path: str, body: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.send(method, path, body).raise_for_status().json()["data"]
        return found

    def prepare(self) -> None:
        adjective, place, family = WORDS[self.name]
        documents = [
            {
                "id": f"{self.name}-{n}",
                "title": f"Lighthouse {n} of {place}",
                "text": f"The {adjective} lighthouse number {n} of {place} was built by the {family} family.",
            }
            for n in range(DOCUMENTS)
        ]
        self.data("POST", f"{API}/documents", {"documents": documents})
        queries = [{"id": "1", "text": f"Who built {place}?", "answers": [family]}]
        self.datasets.append(
            self.data("POST", f"{API}/eval/datasets", {"name": place, "queries": queries})["dataset_id"]
        )
        self.jobs.append(self.data("POST", f"{API}/eval/jobs", {"dataset_id": self.datasets[0], "limit": 1})["job_id"])
        for number in range(10):
            self.requests.append(self.data("POST", SEARCH, {"query": f"lighthouse {number}"})["request_id"])


class _Seen:
    def __init__(self) -> None:
        self.statuses = Counter[int]()
        self.leaks = self.told = 0
        self.times: Times = defaultdict(lambda: defaultdict(list))


def _random_calls(callers: dict[str, _Caller], count: int) -> _Seen:
    dice, seen = random.Random(3), _Seen()
    for _ in range(count):
        mine, other = dice.sample(list(callers), 2)
        caller = callers[mine]
        if dice.random() < 0.5:
            reply = _own(dice, caller, other)
        else:
            reply = _foreign_or_unknown(dice, caller, callers[other], seen)
        seen.statuses[reply.status_code] += 1
        marks = (*WORDS[other], f"{other}-")
        seen.leaks += any(mark.lower() in reply.text.lower() for mark in marks)
    return seen


def _own(dice: random.Random, caller: _Caller, other: str) -> httpx.Response:
    number = dice.randrange(DOCUMENTS)
    calls: list[Callable[[], httpx.Response]] = [
        lambda: caller.send("POST", SEARCH, {"query": f"lighthouse number {number}"}),
        lambda: caller.send("POST", ASK, {"question": "Who built the lighthouse?", "stream": dice.random() < 0.5}),
        lambda: caller.send("POST", f"{API}/retrieval/route", {"query": "Who built the lighthouse?"}),
        lambda: caller.send(
            "POST", f"{API}/retrieval/rerank", {"query": "lighthouse", "note_ids": [f"{other}-{number}#0"]}
        ),
        lambda: caller.send("GET", EXPLAIN + dice.choice(caller.requests)),
        lambda: caller.send("GET", f"{API}/metrics/online"),
        lambda: caller.send("GET", f"{API}/eval/jobs/{caller.jobs[0]}"),
        lambda: caller.send("GET", "/metrics"),
    ]
    return dice.choice(calls)()


def _foreign_or_unknown(dice: random.Random, caller: _Caller, other: _Caller, seen: _Seen) -> httpx.Response:
    """Ask for something of the other tenant's, or for what nobody has, and note how long that took."""
    which = dice.choice(["foreign", "unknown"])
    nobody = f"{dice.getrandbits(128):032x}"

    def one_of(ids: list[str]) -> str:
        return dice.choice(ids) if which == "foreign" else nobody

    request, job, dataset = one_of(other.requests), one_of(other.jobs), one_of(other.datasets)
    document = (
        f"{other.name}-{dice.randrange(DOCUMENTS)}" if which == "foreign" else f"none-{dice.randrange(DOCUMENTS)}"
    )
    calls: dict[str, Callable[[], httpx.Response]] = {
        "explain": lambda: caller.send("GET", EXPLAIN + request),
        "feedback": lambda: caller.send("POST", f"{API}/feedback", {"request_id": request, "verdict": "good"}),
        "read a job": lambda: caller.send("GET", f"{API}/eval/jobs/{job}"),
        "report of a job": lambda: caller.send("GET", f"{API}/eval/jobs/{job}/report"),
        "start a job": lambda: caller.send("POST", f"{API}/eval/jobs", {"dataset_id": dataset}),
        "delete a document": lambda: caller.send("DELETE", f"{API}/documents", {"ids": [document]}),
    }
    kind = dice.choice(sorted(calls))
    begun = time.perf_counter()
    reply = calls[kind]()
    seen.times[kind][which].append((time.perf_counter() - begun) * 1000)
    expected = (200, {"deleted": 0}) if kind == "delete a document" else (404, None)
    seen.told += (reply.status_code, reply.json()["data"]) != expected
    return reply


def _compared(times: Times) -> bool:
    """Print how the times of foreign and unknown ids compare, by kind of call; return whether none differ."""
    alike = True
    for kind, found in sorted(times.items()):
        foreign, unknown = np.asarray(found["foreign"]), np.asarray(found["unknown"])
        if min(len(foreign), len(unknown)) < 2:
            continue
        p_value = min(1.0, float(mannwhitneyu(foreign, unknown).pvalue) * len(times))
        interval = bootstrap(
            (foreign, unknown),
            lambda a, b, axis=-1: np.median(a, axis=axis) - np.median(b, axis=axis),
            n_resamples=2000, method="percentile", rng=1,
        ).confidence_interval  # fmt: skip
        alike = alike and p_value > SIGNIFICANT
        print(
            f"{kind:18} foreign {np.median(foreign):7.3f} ms, unknown {np.median(unknown):7.3f} ms (n {len(foreign)}, "
            f"{len(unknown)}); difference [{interval.low:+.3f}, {interval.high:+.3f}], p {p_value:.3f}"
        )
    return alike
