"""The same questions through every front door, in an order by lot, against the graph in this process.

What a door costs is the median of the differences, question by question, to `graph.invoke` (where only evidence is
asked for: to the graph run up to its evidence), with its 95 % bootstrap interval, as a client on the same machine sees
it, its own time included. Every question is asked through every door beforehand, so that neither side embeds it. Holds
when no door costs more than 10 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from service_measures.overhead import difference
from service_measures.serving import ASK, PATIENT, SEARCH, copied, dataset_argument, prepared, served
from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.evaluation.datasets import load_dataset
from theworld.graph import build_graph, open_resources
from theworld.service.requests.running import run_graph
from theworld.settings import Settings
from theworld.state import Context, QueryInput

MOST_MS = 10.0
TOP_K = 20
Door = Callable[[str], object]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    dataset_argument(parser)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--store", type=Path, help="a store of it that is there, instead of making one")


def run(arguments: argparse.Namespace) -> bool:
    if arguments.store is not None:
        dataset, settings = load_dataset(arguments.dataset), Settings.load(store=arguments.store)
    else:
        dataset, settings = prepared(arguments.dataset)
    questions = [query.text for query in dataset.queries]
    questions = [questions[n % len(questions)] for n in range(arguments.requests)]
    with (
        copied(settings.store) as store,
        served(store, **PATIENT) as (_, url),
        open_resources(settings) as resources,
        httpx.Client(base_url=url, timeout=60) as client,
        stdio(store) as by_pipe,
    ):
        graph, context = build_graph(resources), Context(deadline_ms=BACKGROUND_DEADLINE_MS, top_k=TOP_K)
        inside: dict[str, Door] = {
            "answer": lambda q: graph.invoke(QueryInput(question=q), context=context),
            "evidence": lambda q: run_graph(graph, QueryInput(question=q), context, until="evidence"),
        }
        doors = {**over_http(client), "MCP over stdio, ask": ("answer", by_pipe)}
        ways = inside | {name: door for name, (_, door) in doors.items()}
        for question in dict.fromkeys(questions):
            for way in ways.values():
                way(question)
        times = _measure(questions, ways)
    print(f"{'door':38}  median over the graph [95 %]  (n {len(questions)})")
    costs = {name: difference(times[name], times[against]) for name, (against, _) in doors.items()}
    for name, (low, middle, high) in costs.items():
        print(f"{name:38}  {middle:+6.2f} ms [{low:+.2f}, {high:+.2f}]")
    return max(middle for _, middle, _ in costs.values()) <= MOST_MS


def over_http(client: httpx.Client) -> dict[str, tuple[str, Door]]:
    """Return the doors of a server: what each is compared with, and how a question goes through it."""

    def post(path: str, body: Callable[[str], dict[str, Any]]) -> Door:
        return lambda question: client.post(path, json=body(question)).raise_for_status().read()

    def chat(question: str, stream: bool) -> dict[str, Any]:
        return {"model": "theworld", "messages": [{"role": "user", "content": question}], "stream": stream}

    def tool(name: str, argument: str) -> Callable[[str], dict[str, Any]]:
        return lambda question: message("tools/call", {"name": name, "arguments": {argument: question}})

    retrieval = {"knowledge_id": "default", "retrieval_setting": {"top_k": TOP_K, "score_threshold": 0}}
    return {
        ASK: ("answer", post(ASK, lambda q: {"question": q, "stream": False})),
        f"{ASK}, streamed": ("answer", post(ASK, lambda q: {"question": q})),
        "/v1/chat/completions": ("answer", post("/v1/chat/completions", lambda q: chat(q, False))),
        "/v1/chat/completions, streamed": ("answer", post("/v1/chat/completions", lambda q: chat(q, True))),
        "/v1/responses": ("answer", post("/v1/responses", lambda q: {"model": "theworld", "input": q})),
        "/mcp, ask": ("answer", post("/mcp", tool("ask", "question"))),
        SEARCH: ("evidence", post(SEARCH, lambda q: {"query": q, "top_k": TOP_K})),
        "/mcp, search": ("evidence", post("/mcp", tool("search", "query"))),
        "/dify/retrieval": ("evidence", post("/dify/retrieval", lambda q: {**retrieval, "query": q})),
    }


def message(method: str, params: dict[str, Any], number: int | None = 1) -> dict[str, Any]:
    """Return a JSON-RPC request, or without a number a notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})


@contextmanager
def stdio(store: Path) -> Iterator[Door]:
    """Start `theworld mcp` and give a door to its tool `ask`."""
    code = "import sys; from theworld.cli.app import run; sys.exit(run(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "mcp", "--store", str(store)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | PATIENT,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None

    def say(what: dict[str, Any]) -> dict[str, Any]:
        process.stdin.write(json.dumps(what).encode() + b"\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline()) if "id" in what else {}

    try:
        client = {"name": "benchmark", "version": "1"}
        say(message("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}))
        say(message("notifications/initialized", {}, None))
        yield lambda question: say(message("tools/call", {"name": "ask", "arguments": {"question": question}}))[
            "result"
        ]
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


def _measure(questions: list[str], ways: dict[str, Door]) -> dict[str, list[float]]:
    dice, times = random.Random(1), {name: list[float]() for name in ways}
    for question in questions:
        for name in dice.sample(sorted(ways), len(ways)):
            begun = time.perf_counter()
            ways[name](question)
            times[name].append((time.perf_counter() - begun) * 1000)
    return times
