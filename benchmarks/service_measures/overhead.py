"""The same questions, one after the other, in pairs: by `invoke` in this process and over HTTP to a server in another.

Every question is asked beforehand on both sides, so that neither embeds it; the order within a pair is by lot. Besides
it times an empty request (`/healthz`: HTTP alone), the run as the service makes it (`run_graph`: what watching the
nodes for the records costs), and the client alone: a reply of the same bytes from a server that does nothing. The
overhead is the median of the pairs' differences, with its 95 % bootstrap interval, as the client sees it (its own time
included), without the client's time, and by the server's own clock (`elapsed_ms`, without HTTP). Processor time, which
a busy machine does not stretch, is given by request: the server's includes an empty request each, and making and
writing the records. Holds when the overhead, the client's time included, is at most 5 ms.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

import httpx
import numpy as np
from scipy.stats import bootstrap

from service_measures.bare import bare_server
from service_measures.serving import ASK, PATIENT, copied, dataset_argument, percentiles, prepared, processor_ms, served
from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.graph import build_graph, open_resources
from theworld.service.requests.running import run_graph
from theworld.state import Context, QueryInput

MOST_MS = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    dataset_argument(parser)
    parser.add_argument("--requests", type=int, default=300)


def run(arguments: argparse.Namespace) -> bool:
    dataset, settings = prepared(arguments.dataset)
    questions = [query.text for query in dataset.queries]
    questions = [questions[n % len(questions)] for n in range(arguments.requests)]
    times: dict[str, list[float]] = {
        name: [] for name in ("invoke", "run_graph", "HTTP", "HTTP, server's clock", "client alone", "empty")
    }
    with (
        copied(settings.store) as store,
        served(store, **PATIENT) as (server, url),
        open_resources(settings) as resources,
    ):
        graph, context = build_graph(resources), Context(deadline_ms=BACKGROUND_DEADLINE_MS)
        with (
            httpx.Client(base_url=url, timeout=60) as client,
            bare_server(client.post(ASK, json=_asking(questions[0])).raise_for_status().content) as bare,
        ):
            ways: dict[str, Callable[[str], object]] = {
                "invoke": lambda q: graph.invoke(QueryInput(question=q), context=context),
                "run_graph": lambda q: run_graph(graph, QueryInput(question=q), context),
                "HTTP": lambda q: client.post(ASK, json=_asking(q)),
                "client alone": lambda q: client.post(f"{bare}{ASK}", json=_asking(q)),
                "empty": lambda _q: client.get("/healthz"),
            }
            for question in dict.fromkeys(questions):
                for way in ways.values():
                    way(question)
            begun = processor_ms(server.pid)
            spent = _measure(questions, ways, times)
            spent["the server"] = processor_ms(server.pid) - begun
    for name, values in times.items():
        print(percentiles(name, values))
    told = ", ".join(f"{name} {spent[name] / len(questions):.1f} ms" for name in ("invoke", "run_graph", "the server"))
    print(f"processor time by request: {told}")
    server_alone = (np.asarray(times["HTTP"]) - np.asarray(times["client alone"])).tolist()
    compared = {name: times[name] for name in ("run_graph", "HTTP", "HTTP, server's clock")}
    for name, values in (compared | {"HTTP without the client": server_alone}).items():
        low, middle, high = difference(values, times["invoke"])
        print(f"{name} over invoke: median {middle:+.2f} ms [{low:+.2f}, {high:+.2f}]")
    return difference(times["HTTP"], times["invoke"])[1] <= MOST_MS


def _asking(question: str) -> dict[str, object]:
    return {"question": question, "stream": False}


def _measure(
    questions: list[str], ways: dict[str, Callable[[str], object]], times: dict[str, list[float]]
) -> dict[str, float]:
    """Fill in the times; return the milliseconds of this process's processor time by way."""
    dice, spent = random.Random(1), dict.fromkeys(ways, 0.0)
    for question in questions:
        for name in dice.sample(sorted(ways), len(ways)):
            begun, used = time.perf_counter(), time.process_time()
            reply = ways[name](question)
            spent[name] += (time.process_time() - used) * 1000
            times[name].append((time.perf_counter() - begun) * 1000)
            if name == "HTTP" and isinstance(reply, httpx.Response):
                times["HTTP, server's clock"].append(reply.raise_for_status().json()["data"]["elapsed_ms"])
    return spent


def difference(one: list[float], other: list[float]) -> tuple[float, float, float]:
    """Return the median of the pairs' differences and its interval: low, median, high."""
    values = np.asarray(one) - np.asarray(other)
    found = bootstrap((values,), np.median, n_resamples=2000, method="percentile", rng=1).confidence_interval
    return float(found.low), statistics.median(values.tolist()), float(found.high)
