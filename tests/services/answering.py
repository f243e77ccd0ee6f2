"""Questions asked of the whole graph, and documents written, while one of its servers misbehaves.

Shared by the tests and the benchmark.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from made_documents import make_document
from services.faulty_proxy import FaultyProxy
from services.launching import Server
from services.postgres_ledger import drop_schema, settings_for
from services.server_faults import During, Engine, Fault
from theworld.errors import EngineUnavailableError
from theworld.graph import build_graph, open_resources
from theworld.retrieval.channel import LATE
from theworld.settings import Settings
from theworld.stores.dense.qdrant import QdrantDense
from theworld.stores.graph.neo4j import Neo4jGraph
from theworld.stores.knowledge_store import KnowledgeStore, open_store
from theworld.stores.moving import move_ledger
from theworld.stores.projections import Engines

QUESTIONS = ("Who was the commander of Apollo 11?", "鲁迅出生在哪里？")
LONGEST_RECOVERY_S = 120.0
TENANT = "written under faults"
_DOCUMENTS = 40
_STAGES: Mapping[Engine, tuple[str, ...]] = {
    "sparse": ("retrieve_sparse",),
    "dense": ("retrieve_dense",),
    "graph": ("retrieve_graph",),
    "ledger": ("receive_question", "fuse_candidates"),
}
_CALLED: Mapping[Engine, str] = {"sparse": "OpenSearch", "dense": "Qdrant", "graph": "Neo4j", "ledger": "postgresql://"}


@dataclass(frozen=True, slots=True)
class Trial:
    """What one question, or one batch of documents, became under one fault."""

    engine: Engine
    fault: str
    during: During
    answered: bool
    named: bool
    """Whether a degradation of the engine's stage, or the trouble told of the ingestion, says what is missing."""
    others: tuple[str, ...]
    """What else was said to be missing, for a reason that does not name the engine."""
    elapsed_ms: float
    recovery_s: float
    """From the end of the fault to the first answer, or batch, without a word of the engine."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question, or one batch, became."""

    answered: bool
    named: bool
    others: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing is said of the engine."""
        return self.answered and not self.named


def _outcome(work: Callable[[], Outcome]) -> Outcome:
    try:
        return work()
    except Exception as error:  # counted as not answered, and told
        return Outcome(answered=False, named=False, others=(f"{type(error).__name__}: {error}",))


@dataclass
class Answering:
    """The graph over a store whose parts lie on servers behind proxies, and a writer of the same store."""

    graph: Any
    reader: KnowledgeStore
    writer: KnowledgeStore
    proxies: Mapping[Engine, FaultyProxy]
    servers: Mapping[Engine, Server]
    """Those that may be killed."""
    near: Settings
    """The same store with nothing between it and its servers."""
    written: dict[str, str] = field(default_factory=dict)
    """Content hashes of the documents that must be there, by id."""

    def ask(self, question: str) -> dict[str, Any]:
        """Return the graph's output; what is kept from earlier questions is forgotten, so that servers are asked."""
        if isinstance(self.reader.graph, Neo4jGraph):
            self.reader.graph._fetched.clear()
        if isinstance(self.reader.dense, QdrantDense):
            self.reader.dense._seen = None
        if "ledger" in self.proxies:
            self.reader._notes.forget()
        output: dict[str, Any] = self.graph.invoke({"question": question})
        return output

    def named(self, output: Mapping[str, Any], engine: Engine) -> bool:
        """Return whether the engine's stage says what is missing, and why."""
        return any(
            one.stage in _STAGES[engine] and (_CALLED[engine] in one.reason or LATE in one.reason)
            for one in output["degradations"]
        )

    def trial(self, fault: Fault, number: int) -> Trial:
        """Ask, or write, under a fault, and then until it is recovered from."""
        proxy, server = self.proxies[fault.engine], self.servers.get(fault.engine)
        work = self._question(fault, number) if fault.during == "question" else self._batch(fault, number)
        fault.inject(proxy, server)
        begun = time.perf_counter()
        under = _outcome(work)
        elapsed = (time.perf_counter() - begun) * 1000
        fault.mend(proxy, server)
        mended = time.perf_counter()
        while not (last := _outcome(work)).whole and time.perf_counter() - mended < LONGEST_RECOVERY_S:
            time.sleep(0.02)
        recovery = time.perf_counter() - mended
        answered, others = under.answered and last.whole, (*under.others, *(() if last.answered else last.others))
        return Trial(fault.engine, fault.kind, fault.during, answered, under.named, others, elapsed, recovery)

    def _question(self, fault: Fault, number: int) -> Callable[[], Outcome]:
        question = QUESTIONS[number % len(QUESTIONS)]

        def work() -> Outcome:
            output = self.ask(question)
            others = (one for one in output["degradations"] if _CALLED[fault.engine] not in one.reason)
            elsewhere = sorted({one.stage for one in others} - set(_STAGES[fault.engine]))
            return Outcome(bool(output["answer"]), self.named(output, fault.engine), tuple(elsewhere))

        return work

    def _batch(self, fault: Fault, number: int) -> Callable[[], Outcome]:
        """Return what puts two documents, new or in another version, and deletes a third; it may be repeated."""
        chance = random.Random(number)
        chosen = chance.sample(range(_DOCUMENTS), 3)
        documents = [make_document(one, version=number, tenant=TENANT) for one in chosen[:2]]
        gone = make_document(chosen[2], tenant=TENANT).id

        def work() -> Outcome:
            try:
                self.writer.put(documents)
                self.writer.delete([gone], tenant=TENANT)
                self.writer.catch_up()
            except EngineUnavailableError as error:
                told = {"ledger": str(error)}
            else:
                told = dict(self.writer.troubles)
                self.written.pop(gone, None)
                self.written.update((one.id, one.content_hash) for one in documents)
            named = _CALLED[fault.engine] in told.pop(fault.engine, "")
            return Outcome(True, named, tuple(sorted(told)))

        return work


@contextmanager
def answering(
    store: Path,
    urls: Mapping[Engine, str],
    *,
    servers: Mapping[Engine, Server] | None = None,
    limits: Mapping[str, float],
    deadline_ms: int,
) -> Iterator[Answering]:
    """Bring a store's parts to the servers and open the graph over them; at the end they are removed there.

    `limits` are those settings of each server that hold while it may misbehave.
    """
    near = Settings.model_validate({"store": store, "retrieval": {"deadline_ms": deadline_ms}, **_patient(urls)})
    with ExitStack() as stack:
        if "ledger" in urls:
            move_ledger(near)
            stack.callback(drop_schema, near.ledger_server)
        with open_store(near, read_only=False) as opened:
            assert opened.troubles == {}, opened.troubles
        stack.callback(_drop, near)
        proxies: dict[Engine, FaultyProxy] = {name: FaultyProxy(url) for name, url in urls.items()}
        for proxy in proxies.values():
            stack.callback(proxy.close)
        direct = Engines.of(near)
        behind = {name: _through(getattr(direct, name), proxy, limits) for name, proxy in proxies.items()}
        far = near.model_copy(update=behind)
        writer = stack.enter_context(open_store(far, read_only=False))
        resources = stack.enter_context(open_resources(far))
        yield Answering(build_graph(resources), resources.store, writer, proxies, servers or {}, near)


def _patient(urls: Mapping[Engine, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"servers": {"timeout_s": 60}, **{name: {"url": url} for name, url in urls.items()}}
    if "ledger" in urls:
        found["ledger"] = settings_for(urls["ledger"], secrets.token_hex(4))
    return found


def _through(settings: Any, proxy: FaultyProxy, limits: Mapping[str, float]) -> Any:
    scheme, _, rest = settings.url.partition("://")
    path = "".join(rest.partition("/")[1:])
    return settings.model_copy(update={**limits, "url": f"{scheme}://127.0.0.1:{proxy.port}{path}"})


def _drop(settings: Settings) -> None:
    with open_store(settings, read_only=False) as opened:
        for name in Engines.of(settings).remote():
            getattr(opened, name).drop()
        opened._release()
