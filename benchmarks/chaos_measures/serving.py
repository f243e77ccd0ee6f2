"""A server under uploads, deletions and questions: killed at a random moment, or with a clock that jumps.

What it had acknowledged must be there, nothing twice, and every request on record whole: route, candidates, ranking and
a digest that fits them.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from service_measures.serving import API, ASK, PATIENT, SEARCH, served

from chaos_measures.interposing import interposed
from chaos_measures.results import Results
from chaos_measures.rounds import QUERIES, WHOLE, Base, base, in_process, judged
from theworld.service.requests.explanation import fused_again, logged_rankings
from theworld.service.requests.record import digest_of
from theworld.stores.ledger.opening import open_database
from theworld.stores.ledger.request_log import RequestJournal, RequestRecord

DOCUMENTS = f"{API}/documents"
CLIENTS = 3
LONGEST_S = 6.0
FLUSH_MS = 30
DAYS_S = 2 * 86_400


@dataclass
class Clients:
    """What clients of one server were told."""

    stop: float
    """When the clients are to stop, by the monotonic clock."""
    deleting: bool = True
    there: set[str] = field(default_factory=set)
    """Documents whose upload was acknowledged and whose deletion was not asked for."""
    codes: Counter[str] = field(default_factory=Counter)
    waited_ms: list[float] = field(default_factory=list)

    each: int = CLIENTS
    """Clients that upload and delete, and as many that ask."""

    async def run(self, url: str, seed: int, *more: Callable[[], Awaitable[None]]) -> None:
        """Let all clients work side by side until the time is over or the server has gone."""
        clients = [work(url, n, seed) for work in (self._uploads, self._asks) for n in range(self.each)]
        await asyncio.gather(*clients, *(one() for one in more))

    async def _uploads(self, url: str, number: int, seed: int) -> None:
        dice = random.Random(f"{seed} {number}")
        async with httpx.AsyncClient(base_url=url, timeout=120) as client:
            while time.monotonic() < self.stop:
                name = f"upload-{number}-{dice.randrange(40)}"
                text = f"A note of an upload, number {dice.random()}, on planets. 北京的天坛。"
                body = {"documents": [{"id": name, "title": name, "text": text}]}
                deletes = self.deleting and name in self.there and dice.random() < 0.5
                try:
                    if deletes:
                        self.there.discard(name)
                        reply = await client.request("DELETE", DOCUMENTS, json={"ids": [name]})
                    else:
                        reply = await client.post(DOCUMENTS, json=body)
                except httpx.TransportError:
                    return
                self.codes[f"{'deleted' if deletes else 'uploaded'} {reply.status_code}"] += 1
                if reply.status_code == 200 and not deletes:
                    self.there.add(name)

    async def _asks(self, url: str, number: int, seed: int) -> None:
        dice = random.Random(f"{seed} asks {number}")
        async with httpx.AsyncClient(base_url=url, timeout=120) as client:
            while time.monotonic() < self.stop:
                question, begun = dice.choice(QUERIES), time.monotonic()
                asks = dice.random() < 0.5
                body = {"question": question, "stream": False} if asks else {"query": question}
                try:
                    reply = await client.post(ASK if asks else SEARCH, json=body)
                except httpx.TransportError:
                    return
                self.codes[f"asked {reply.status_code}"] += 1
                self.waited_ms.append((time.monotonic() - begun) * 1000)


def killed_round(made: Base, dice: random.Random, *, slow: bool) -> str:
    """Kill a server under load; return what became of its store."""
    environment = interposed(made.work, flush_ms=FLUSH_MS) if slow else {}
    with made.copy() as folder:
        with served(folder, **PATIENT, **environment) as (process, url):
            clients = Clients(time.monotonic() + 120, deleting=False)

            async def kill() -> None:
                await asyncio.sleep(dice.uniform(0, LONGEST_S))
                process.kill()

            asyncio.run(clients.run(url, dice.randrange(10**6), kill))
        return served_store(folder, made, clients.there)


def served_store(folder: Path, made: Base, there: set[str], *, records: bool = True) -> str:
    """Return what became of a server's store, whose uploads are deleted for the comparison.

    A note that is deleted between being found and being ranked is missing in a record that is whole: without `records`
    they are not looked at.
    """
    found = in_process(documents_and_records, folder)
    if isinstance(found, str):
        return found
    if records and found["broken"]:
        return f"half-written records: {found['broken']}"
    if lost := there - set(found["documents"]):
        return f"lost uploads: {sorted(lost)}"
    uploads = [name for name in found["documents"] if name.startswith("upload-")]
    removal = [["delete", *uploads]] if uploads else []
    return judged(folder, made, *removal, ["ingest", made.corpus], ["sync", "--verify"])


def documents_and_records(folder: Path) -> dict[str, list[str]]:
    """Return the documents of a store, and the requests on record of which a part is missing."""
    with open_database(folder, writable=True) as ledger:
        journal = RequestJournal(ledger)
        ids = [row["request_id"] for row in journal.requests("default") if row["endpoint"] == "search"]
        broken = [one for one in ids if not is_whole(journal.read(one, tenant="default"))]
    from theworld.stores.knowledge_store import KnowledgeStore

    with KnowledgeStore.open(folder) as store:
        return {"broken": broken, "documents": sorted(store.document_hashes("default"))}


def is_whole(record: RequestRecord | None) -> bool:
    """Return whether all rows of a search are there: those its own digests were made of, and as many as it says."""
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: argparse.Namespace, results: Results) -> None:
    """Serve with a clock that jumps by up to two days each second: every reply must be 200, and nothing lost."""
    with base() as made:
        environment = interposed(made.work, jump_s=DAYS_S)
        for number in range(arguments.times):
            with made.copy() as folder:
                with served(folder, **PATIENT, **environment) as (_, url):
                    clients = Clients(time.monotonic() + arguments.seconds, deleting=False)
                    asyncio.run(clients.run(url, arguments.seed + number))
                failed = {code: count for code, count in clients.codes.items() if not code.endswith("200")}
                outcome = served_store(folder, made, clients.there)
            if outcome == WHOLE and failed:
                outcome = f"failed requests: {failed}"
            results.add("clock jumps", "serve", outcome, codes=dict(clients.codes), number=number)
