"""Questions asked of the whole graph while one of its servers misbehaves; shared by the tests and the benchmark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from services.faulty_proxy import FAULTS, FaultyProxy
from theworld.graph import build_graph, open_resources
from theworld.settings import Settings
from theworld.stores.engines import Engines
from theworld.stores.knowledge_store import KnowledgeStore, open_store

Engine = Literal["sparse", "dense", "graph"]
QUESTIONS = ("Who was the commander of Apollo 11?", "鲁迅出生在哪里？")
LONGEST_RECOVERY_S = 120.0


@dataclass(frozen=True, slots=True)
class Trial:
    """What one question became under one fault."""

    engine: Engine
    fault: str
    answered: bool
    named: bool
    """Whether a degradation of the engine's channel says what is missing."""
    elapsed_ms: float
    recovery_s: float
    """From the end of the fault to the first answer without a degradation of the channel."""


class Answering:
    """The graph over a store whose projections lie on servers behind proxies."""

    def __init__(self, graph: Any, store: KnowledgeStore, proxies: dict[Engine, FaultyProxy]) -> None:
        self._graph, self._store, self.proxies = graph, store, proxies

    def ask(self, question: str) -> dict[str, Any]:
        """Return the graph's output; rows kept from earlier questions are forgotten, so that the servers are asked."""
        self._store.graph._fetched.clear()  # type: ignore[attr-defined]
        output: dict[str, Any] = self._graph.invoke({"question": question})
        return output

    def degraded(self, output: dict[str, Any], engine: Engine) -> bool:
        """Tell whether the engine's channel is named."""
        return any(one.stage == f"retrieve_{engine}" and one.reason for one in output["degradations"])

    def trial(self, engine: Engine, fault: str, question: str) -> Trial:
        """Ask under a fault, and then until the channel is whole again."""
        proxy = self.proxies[engine]
        FAULTS[fault](proxy)
        begun = time.perf_counter()
        output = self.ask(question)
        elapsed = (time.perf_counter() - begun) * 1000
        named = self.degraded(output, engine)
        proxy.heal()
        proxy.cut()
        healed = time.perf_counter()
        while self.degraded(self.ask(question), engine) and time.perf_counter() - healed < LONGEST_RECOVERY_S:
            time.sleep(0.05)
        return Trial(engine, fault, bool(output["answer"]), named, elapsed, time.perf_counter() - healed)


@contextmanager
def answering(store: Path, urls: dict[Engine, str], **retrieval: Any) -> Iterator[Answering]:
    """Bring a store's projections to the servers and open the graph over them; at the end they are removed there."""
    patient = {name: {"url": url, "timeout_s": 60} for name, url in urls.items()}
    whole = Settings.model_validate({"store": store, "retrieval": retrieval, **patient})
    with ExitStack() as stack:
        proxies: dict[Engine, FaultyProxy] = {name: FaultyProxy(url) for name, url in urls.items()}
        for proxy in proxies.values():
            stack.callback(proxy.close)
        with open_store(whole, read_only=False) as opened:
            assert opened.troubles == {}, opened.troubles
        stack.callback(_drop, whole)
        limits = {"timeout_s": 15.0, "probe_s": 0.1} if retrieval else {"timeout_s": 0.8}
        behind = {}
        for name, proxy in proxies.items():
            here = f"{urls[name].partition('://')[0]}://127.0.0.1:{proxy.port}"
            behind[name] = getattr(whole, name).model_copy(update={**limits, "url": here})
        settings = whole.model_copy(update=behind)
        resources = stack.enter_context(open_resources(settings))
        yield Answering(build_graph(resources), resources.store, proxies)


def _drop(settings: Settings) -> None:
    with open_store(settings, read_only=False) as opened:
        for name in Engines.of(settings).remote():
            getattr(opened, name).drop()
        opened._release()
