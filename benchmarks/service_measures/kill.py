"""A server killed (SIGKILL) under load, again and again, on the same store.

Holds when every record that was started is whole (route, candidates, ranking and a digest that fits them), the
database is sound, and the last server answers.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import subprocess
from collections import Counter
from contextlib import suppress

import httpx

from service_measures.serving import PATIENT, SEARCH, copied, dataset_argument, prepared, served
from theworld.service.explain.explanation import fused_again, logged_rankings
from theworld.service.requests.record import digest_of
from theworld.stores.ledger.request_log import RequestJournal, RequestRecord
from theworld.stores.ledger.service_ledger import ServiceLedger


def add_arguments(parser: argparse.ArgumentParser) -> None:
    dataset_argument(parser)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=20)


def run(arguments: argparse.Namespace) -> bool:
    dataset, settings = prepared(arguments.dataset)
    questions = [query.text for query in dataset.queries]
    answered = 0
    with copied(settings.store) as store:
        for number in range(arguments.rounds):
            with served(store, **PATIENT) as (process, url):
                dice = random.Random(number)
                answered += asyncio.run(_until_killed(process, url, questions, dice, arguments.clients))
        with served(store, **PATIENT) as (_, url):
            alive = httpx.post(f"{url}{SEARCH}", json={"query": questions[0]}, timeout=60).json()["code"] == 0
        with ServiceLedger.open(store) as ledger:
            journal, found = RequestJournal(ledger), Counter[bool]()
            for row in journal.requests("default"):
                found[is_whole(journal.read(row["request_id"], tenant="default"))] += 1
            with ledger.reading() as connection:
                integrity = connection.exec_driver_sql("PRAGMA integrity_check").scalar()
    print(
        f"{arguments.rounds} kills under load of {arguments.clients} clients, {answered} requests answered before them"
    )
    print(f"on record: {found[True]} whole, {found[False]} half-written; integrity {integrity}; answers again: {alive}")
    return not found[False] and bool(found[True]) and integrity == "ok" and alive


def is_whole(record: RequestRecord | None) -> bool:
    """Tell whether all rows of a search are there: those its own digests were made of, and as many as it says."""
    if record is None or record.route is None:
        return False
    fused = fused_again(record)
    parts = {
        "channels": {name: [list(hit) for hit in hits] for name, hits in logged_rankings(record).items()},
        "fusion": [[note.note_id, rank, note.score] for rank, note in enumerate(fused, start=1)],
    }
    digests, logged = digest_of(parts), record.request["outcome"]["digests"]
    shown = min(len(fused), record.request["outcome"]["fusion"]["top_k"])
    return all(digests[name] == logged[name] for name in parts) and len(record.ranking) == shown


async def _until_killed(
    process: subprocess.Popen[bytes], url: str, questions: list[str], dice: random.Random, clients: int
) -> int:
    answered = 0

    async def one() -> None:
        nonlocal answered
        with suppress(httpx.TransportError):
            async with httpx.AsyncClient(base_url=url, timeout=60) as client:
                while True:
                    reply = await client.post(SEARCH, json={"query": dice.choice(questions)})
                    answered += reply.status_code == 200

    async def killer() -> None:
        least = 2 * clients + dice.randrange(3 * clients)
        while answered < least:
            await asyncio.sleep(dice.random() / 10)
        os.kill(process.pid, signal.SIGKILL)

    await asyncio.gather(killer(), *(one() for _ in range(clients)))
    return answered
