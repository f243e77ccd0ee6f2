"""Many clients at once, each with one question after the other, half of them searches and half answers.

Says errors by code, percentiles, throughput and how the server's resident memory goes: least squares over the second
half of the time, with the 95 % interval of the slope. Holds when no reply is an error and no record was dropped.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from scipy.stats import linregress, t

from service_measures.serving import ASK, SEARCH, copied, dataset_argument, metric, percentiles, prepared, served


def add_arguments(parser: argparse.ArgumentParser) -> None:
    dataset_argument(parser)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--clients", type=int, default=50)


@dataclass
class Seen:
    """What the clients and the watcher noted."""

    times: list[float] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    degraded: int = 0
    memory: list[tuple[float, float]] = field(default_factory=list)
    """Seconds and megabytes."""


def run(arguments: argparse.Namespace) -> bool:
    dataset, settings = prepared(arguments.dataset)
    questions = [query.text for query in dataset.queries]
    with copied(settings.store) as store, served(store) as (process, url):
        seen = asyncio.run(_load(arguments, questions, process.pid, url))
        dropped = metric(url, "theworld_log_dropped")
    print(
        f"{arguments.clients} clients, {arguments.seconds:.0f} s: {len(seen.times) / arguments.seconds:.1f} replies/s"
    )
    print(f"replies by code (0 is success): {dict(seen.codes)}; {seen.degraded} with a fallback taken")
    print(percentiles("what clients waited", seen.times))
    print(f"records dropped: {dropped:.0f}")
    print(slope_of(seen.memory))
    return set(seen.codes) == {"0"} and not dropped


async def _load(arguments: argparse.Namespace, questions: list[str], pid: int, url: str) -> Seen:
    seen, begun = Seen(), time.perf_counter()
    end = begun + arguments.seconds

    async def one(number: int) -> None:
        dice = random.Random(number)
        async with httpx.AsyncClient(base_url=url, timeout=120) as client:
            while time.perf_counter() < end:
                question, asked = dice.choice(questions), time.perf_counter()
                body = {"query": question} if dice.random() < 0.5 else {"question": question, "stream": False}
                try:
                    reply = (await client.post(SEARCH if "query" in body else ASK, json=body)).json()
                except httpx.TransportError as error:
                    seen.codes[type(error).__name__] += 1
                    continue
                seen.times.append((time.perf_counter() - asked) * 1000)
                seen.codes[str(reply["code"])] += 1
                seen.degraded += bool((reply["data"] or {}).get("degradations"))

    async def watch() -> None:
        while time.perf_counter() < end:
            seen.memory.append((time.perf_counter() - begun, resident_mb(pid)))
            await asyncio.sleep(1)

    await asyncio.gather(watch(), *(one(number) for number in range(arguments.clients)))
    return seen


def resident_mb(pid: int) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")


def slope_of(memory: list[tuple[float, float]]) -> str:
    """Return how memory went, with the slope of the second half."""
    half = memory[len(memory) // 2 :]
    said = f"memory {memory[0][1]:.0f} -> {memory[-1][1]:.0f} MB"
    if len(half) < 3:
        return said
    fit = linregress(*zip(*half, strict=True))
    spread = t.ppf(0.975, len(half) - 2) * fit.stderr * 60
    return f"{said}; slope of the second half {fit.slope * 60:+.2f} +- {spread:.2f} MB/min (95 %)"
