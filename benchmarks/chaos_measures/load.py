"""Mixed load in pieces: uploads, deletions and questions on one server, with its memory, threads and descriptors.

A piece goes on with the store of the piece before (kept beside the results), on a server of its own unless the pieces
are run in one command. Slopes are of the least squares over the second half of each piece, in a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import time
from typing import Any

from scipy.stats import linregress
from service_measures.load import resident_mb
from service_measures.serving import served

from chaos_measures.results import Results
from chaos_measures.rounds import TOLD, WHOLE, base
from chaos_measures.serving import CLIENTS, Clients, served_store
from theworld.evaluation.metrics import percentile

SAMPLE_S = 5.0
PROMISED = (" 200", " 429", " 503", " 504")
"""Statuses of what was done, of too much at once, and of what took too long: what a busy machine may say."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pieces", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--clients", type=int, default=CLIENTS, help="that upload and delete, and as many that ask")
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: argparse.Namespace, results: Results) -> None:
    """Load one server for all pieces, a row of results each; then look at what is left of its store."""
    dice = random.Random(arguments.seed)
    with base() as made, made.copy() as folder:
        there: set[str] = set()
        with served(folder) as (process, url):
            for piece in range(arguments.pieces):
                clients = Clients(time.monotonic() + arguments.minutes * 60, there=there, each=arguments.clients)
                samples: list[dict[str, float]] = []
                watching = _watching(process.pid, clients.stop, samples)
                asyncio.run(clients.run(url, dice.randrange(10**6), lambda watching=watching: watching))
                _keep(results, piece, clients, samples, arguments.minutes)
        results.add("load", "store afterwards", served_store(folder, made, there, records=False))


async def _watching(pid: int, stop: float, samples: list[dict[str, float]]) -> None:
    begun = time.monotonic()
    while time.monotonic() < stop:
        samples.append({"minute": (time.monotonic() - begun) / 60} | measured(pid))
        await asyncio.sleep(SAMPLE_S)


def measured(pid: int) -> dict[str, float]:
    """Return a process's memory in megabytes by kind, its threads, and its open descriptors (Linux)."""
    counts = {"threads": f"/proc/{pid}/task", "descriptors": f"/proc/{pid}/fd"}
    return resident_mb(pid) | {name: float(len(os.listdir(folder))) for name, folder in counts.items()}


def _keep(results: Results, piece: int, clients: Clients, samples: list[dict[str, float]], minutes: float) -> None:
    half = samples[len(samples) // 2 :]
    slopes: dict[str, Any] = {}
    for kind in samples[0]:
        if kind != "minute":
            fit = linregress([one["minute"] for one in half], [one[kind] for one in half])
            slopes[kind] = [samples[0][kind], samples[-1][kind], round(fit.slope, 3)]
            first, last, slope = slopes[kind]
            print(f"piece {piece}, {kind}: {first:.0f} -> {last:.0f}, {slope:+.3f} a minute")
    failed = {code: n for code, n in clients.codes.items() if not code.endswith(PROMISED)}
    late = any(not code.endswith(" 200") for code in clients.codes)
    p95 = percentile(clients.waited_ms, 0.95)
    print(f"piece {piece}: {dict(clients.codes)}, P95 of questions {p95:.0f} ms", flush=True)
    outcome = f"failed requests: {failed}" if failed else TOLD if late else WHOLE
    results.add(
        "load", f"piece of {minutes:g} minutes", outcome,
        piece=piece, codes=dict(clients.codes), p95_ms=round(p95), measured=slopes,
    )  # fmt: skip
