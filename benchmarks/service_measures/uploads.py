"""A steady trickle of keyed questions, by turns without and with ten uploads at once beside it.

Every turn with uploads has one without right before it; the P95 are compared over all turns. Holds when the P95 beside
uploads is at most twice as long, readiness never waits for more than a second, and uploads get on.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections import Counter
from pathlib import Path

import httpx

from service_measures.serving import API, ASK, copied, dataset_argument, percentiles, prepared, served
from theworld.evaluation.metrics import percentile
from theworld.stores.ledger.api_keys import KeyRing
from theworld.stores.ledger.opening import open_database

MOST, READY_S = 2.0, 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    dataset_argument(parser)
    parser.add_argument("--store", type=Path, help="a store of the dataset, unless the one in the user's cache")
    parser.add_argument("--seconds", type=float, default=30.0, help="length of one turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--uploads", type=int, default=10)


def run(arguments: argparse.Namespace) -> bool:
    dataset, settings = prepared(arguments.dataset, arguments.store)
    questions = [query.text for query in dataset.queries]
    alone: list[float] = []
    beside: list[float] = []
    ready: list[float] = []
    codes = Counter[int]()
    with copied(settings.store) as store:
        with open_database(store, writable=True) as ledger:
            token = KeyRing(ledger).create("uploads", ["default"], scopes=["query", "write"])
        with (
            served(store, THEWORLD_SERVICE__KEYS="required") as (_, url),
            httpx.Client(base_url=url, timeout=120, headers={"Authorization": f"Bearer {token}"}) as client,
        ):
            asked(client, questions, 5.0, [])
            for turn in range(arguments.turns):
                alone += asked(client, questions, arguments.seconds, [])
                stop = threading.Event()
                writers = [
                    threading.Thread(target=_upload, args=(client, f"{turn}-{number}", stop, codes))
                    for number in range(arguments.uploads)
                ]
                for writer in writers:
                    writer.start()
                beside += asked(client, questions, arguments.seconds, ready)
                stop.set()
                for writer in writers:
                    writer.join()
    print(percentiles("alone", alone))
    print(percentiles(f"beside {arguments.uploads} uploads", beside))
    print(percentiles("readiness meanwhile", ready))
    times = percentile(beside, 0.95) / percentile(alone, 0.95)
    print(f"P95 beside uploads {times:.2f} times its own; uploads by status: {dict(codes)}")
    return times <= MOST and max(ready) <= READY_S * 1000 and codes[200] > 0


def asked(client: httpx.Client, questions: list[str], seconds: float, ready: list[float]) -> list[float]:
    """Ask one question after the other, and whether the server is ready; return milliseconds of the questions."""
    times, end, number = [], time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        begun = time.perf_counter()
        client.post(ASK, json={"question": questions[number % len(questions)], "stream": False}).raise_for_status()
        times.append((time.perf_counter() - begun) * 1000)
        begun = time.perf_counter()
        client.get("/readyz").raise_for_status()
        ready.append((time.perf_counter() - begun) * 1000)
        number += 1
        time.sleep(0.1)
    return times


def _upload(client: httpx.Client, name: str, stop: threading.Event, codes: Counter[int]) -> None:
    number = 0
    while not stop.is_set():
        text = f"The harbour of Port {name} {number} was built in {1800 + number}. " * 5
        body = {"documents": [{"id": f"upload-{name}-{number}", "title": f"Port {name} {number}", "text": text}]}
        codes[client.post(f"{API}/documents", json=body).status_code] += 1
        number += 1
