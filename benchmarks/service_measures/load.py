"""Many clients at once, each with one question after the other, half of them searches and half answers.

Says errors by code, percentiles, throughput and how the server's resident memory goes: its own (anonymous) and the
pages of files it has mapped, which the system takes back when it needs them; for each least squares over the second
half of the time, with the 95 % interval of the slope. With `--fresh` a share of the questions was never asked before
and holds a word nobody knows, so that what is kept by question or by word shows. Holds when no reply is an error and
no record was dropped.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from scipy.stats import linregress, t

from service_measures.serving import ASK, SEARCH, copied, dataset_argument, metric, percentiles, prepared, served

KINDS = {"VmRSS": "all", "RssAnon": "its own", "RssFile": "of mapped files"}
"""Fields of /proc/PID/status and what they are called here."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    dataset_argument(parser)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--fresh", type=float, default=0.0, help="share of questions that were never asked before")


@dataclass
class Seen:
    """What the clients and the watcher noted."""

    times: list[float] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    degraded: int = 0
    memory: list[tuple[float, dict[str, float]]] = field(default_factory=list)
    """Seconds, and megabytes by kind."""


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
    for kind in seen.memory[0][1]:
        print(slope_of(kind, [(second, found[kind]) for second, found in seen.memory]))
    return set(seen.codes) == {"0"} and not dropped


async def _load(arguments: argparse.Namespace, questions: list[str], pid: int, url: str) -> Seen:
    seen, begun = Seen(), time.perf_counter()
    end = begun + arguments.seconds

    async def one(number: int) -> None:
        dice = random.Random(number)
        async with httpx.AsyncClient(base_url=url, timeout=120) as client:
            while time.perf_counter() < end:
                question = fresh(dice, questions) if dice.random() < arguments.fresh else dice.choice(questions)
                asked = time.perf_counter()
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


def fresh(dice: random.Random, questions: list[str]) -> str:
    """Return a question of two halves that were not asked together, about a name that nobody has."""
    first, second = (dice.choice(questions).rstrip("?").split() for _ in range(2))
    name = "".join(dice.choice("bdfgklmnprst") + dice.choice("aeiou") for _ in range(4)).capitalize()
    return " ".join([*first[: len(first) // 2 + 1], name, *second[len(second) // 2 :]]) + "?"


def resident_mb(pid: int) -> dict[str, float]:
    """Return the resident memory of a process in megabytes by kind; empty where the system does not tell."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
        named = {line.partition(":")[0]: line.split() for line in lines if ":" in line}
        return {told: int(named[name][1]) / 1024 for name, told in KINDS.items() if name in named}
    return {}


def slope_of(kind: str, memory: list[tuple[float, float]]) -> str:
    """Return how a kind of memory went, with the slope of the second half."""
    half = memory[len(memory) // 2 :]
    said = f"memory, {kind}: {memory[0][1]:.0f} -> {memory[-1][1]:.0f} MB"
    if len(half) < 3:
        return said
    fit = linregress(*zip(*half, strict=True))
    spread = t.ppf(0.975, len(half) - 2) * fit.stderr * 60
    return f"{said}; slope of the second half {fit.slope * 60:+.2f} +- {spread:.2f} MB/min (95 %)"
