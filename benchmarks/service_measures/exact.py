"""Requests of all kinds, logged, explained and run again.

Holds when every explanation's numbers follow from its logged parts, bit by bit, and every replay gives the same bytes.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from service_measures.serving import API, copied, dataset_argument, prepared
from theworld.service.app import create_app
from theworld.service.requests.explanation import Explanation, explain
from theworld.service.requests.replay import replay
from theworld.service.runtime import Service, open_service
from theworld.settings import Settings

LOCAL: dict[str, Any] = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 1)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    dataset_argument(parser)
    parser.add_argument("--requests", type=int, default=500)


def run(arguments: argparse.Namespace) -> bool:
    dataset, settings = prepared(arguments.dataset)
    questions = [query.text for query in dataset.queries]
    with copied(settings.store) as store, open_service(_patient(settings, store), bound_to="127.0.0.1") as service:
        ids = _asked(service, questions, arguments.requests)
        done, problems = Counter[str](), list[str]()
        for request_id in ids:
            done.update(_checked(service, request_id, problems))
    total = len(ids)
    print(f"explained, every number recomputed: {done['explained']} of {total}")
    print(f"replayed, byte for byte: {done['replayed']} of {total}")
    print("\n".join(problems[:20]), end="\n" if problems else "")
    return bool(done["explained"] == done["replayed"] == total == arguments.requests)


def _patient(settings: Settings, store: Path) -> Settings:
    retrieval = settings.retrieval.model_copy(update={"deadline_ms": 60_000})
    return settings.model_copy(update={"store": store, "retrieval": retrieval})


def _asked(service: Service, questions: list[str], count: int) -> list[str]:
    dice, ids = random.Random(1), []
    with TestClient(create_app(service), **LOCAL) as client:
        for number in range(count):
            path, body = _request(dice, questions, number)
            ids.append(client.post(f"{API}/{path}", json=body).raise_for_status().json()["data"]["request_id"])
            if service.writer is not None and (number + 1 == count or number % 1000 == 999):
                service.writer.flush(600)  # or the queue would drop some
    return ids


def _request(dice: random.Random, questions: list[str], number: int) -> tuple[str, dict[str, Any]]:
    question = questions[number % len(questions)]
    switches = {"enable_graph": dice.random() < 0.8, "enable_rerank": dice.random() < 0.8}
    options = {"top_k": dice.choice([5, 20, 50]), "enable_router": dice.random() < 0.8, **switches}
    kind = dice.random()
    if kind < 0.1:
        earlier = questions[(number + 1) % len(questions)]
        history = [{"role": "user", "content": earlier}, {"role": "assistant", "content": "I do not know."}]
        return "ask", {"question": "What did I ask before?", "history": history, "stream": False, **options}
    if kind < 0.6:
        return "ask", {"question": question, "stream": False, **options}
    if kind < 0.9:
        return "retrieval/search", {"query": question, **options}
    if kind < 0.95:
        return "retrieval/route", {"query": question, **options}
    texts = [{"id": str(n), "text": text} for n, text in enumerate(dice.sample(questions, min(8, len(questions))))]
    return "retrieval/rerank", {"query": question, "documents": texts, "top_k": 5}


def _checked(service: Service, request_id: str, problems: list[str]) -> Counter[str]:
    record = service.journal.read(request_id, tenant="default")
    if record is None:
        problems.append(f"{request_id} is not on record")
        return Counter()
    wrong = wrong_numbers(explain(record))
    again = replay(record, service.resources, service.graph)
    problems += [f"{request_id} explain: {item}" for item in wrong]
    problems += [f"{request_id} {stage}: {some[0]}" for stage, some in again.differences.items()]
    return Counter(explained=not wrong, replayed=again.exact)


def wrong_numbers(found: Explanation) -> list[str]:
    """Return what of an explanation does not follow from its logged parts."""
    wrong, fused = [], {}
    for note in found.fusion["notes"]:
        total = 0.0
        for term in note["terms"]:
            points = 1 / (found.fusion["k"] + term["rank"])
            total += term["weight"] * points if term["points"] else 0.0
        fused[note["note_id"]] = note
        if total != note["score"]:
            wrong.append(f"the terms of {note['note_id']} give {total!r}, not {note['score']!r}")
    rows = found.rerank["results"]
    if found.request["endpoint"] != "rerank":
        for row in rows:
            note = fused[row["note_id"]]
            if (row["fused_score"], row["fused_rank"]) != (note["score"], note["rank"]):
                wrong.append(f"{row['note_id']} was fused otherwise than its channels say")
    scores = [row["final_score"] for row in rows]
    if scores != sorted(scores, reverse=True):
        wrong.append("the final list is not in the order of its scores")
    times = found.timings
    if times["around_graph_ms"] != times["elapsed_ms"] - times["graph_ms"]:
        wrong.append("the times do not add up")
    return wrong
