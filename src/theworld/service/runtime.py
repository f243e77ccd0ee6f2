"""What one process of the service works with: resources, graph, records, keys, limiter; opened and closed together."""

from __future__ import annotations

import gc
import json
import logging
import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from theworld.graph import Resources, build_graph, open_resources
from theworld.graph.build import CompiledGraph
from theworld.graph.resources import warm_up
from theworld.routing import RememberedHistory
from theworld.service.documents import DocumentWriter
from theworld.service.evaluation_jobs import JobLauncher
from theworld.service.metrics import RequestSpans, ServiceMetrics, exporter_of
from theworld.service.requests.limiter import ConcurrencyLimiter
from theworld.service.requests.record import FinishedRequest, outcome_of_run
from theworld.service.requests.running import run_graph
from theworld.service.requests.strategies import Strategy, read_strategy
from theworld.service.requests.writer import RequestWriter
from theworld.settings import Settings
from theworld.stores.knowledge_store import open_store
from theworld.stores.ledger.api_keys import KeyRing
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.evaluations import Evaluations
from theworld.stores.ledger.opening import ledger_exists, open_database
from theworld.stores.ledger.request_log import RequestJournal

log = logging.getLogger(__name__)
SHUTDOWN_S = 30
"""Longest wait for what runs, when stopping: what Kubernetes grants before it kills."""
UPLOADS_WAITING = 64
"""Requests that write documents and wait for their turn; further ones get 429."""
SHADOWS_WAITING = 8
"""Runs of strategy B that may wait; further ones are left out, counted."""


@dataclass
class Service:
    """One process's service. Build it with `open_service`, or with parts of your own to test."""

    resources: Resources
    graph: CompiledGraph
    ledger: Database
    documents: DocumentWriter
    jobs: JobLauncher
    spans: RequestSpans
    writer: RequestWriter | None = None
    """None keeps nothing on record."""
    strategy_b: Strategy = field(default_factory=Strategy)
    bound_to: str | None = None
    """Address the server is bound to; None where somebody else's server runs the application."""
    metrics: ServiceMetrics = field(default_factory=ServiceMetrics)
    clock: Callable[[], float] = time.time
    journal: RequestJournal = field(init=False)
    keys: KeyRing = field(init=False)
    evaluations: Evaluations = field(init=False)
    limiter: ConcurrencyLimiter = field(init=False)
    """Of what answers."""
    uploads: ConcurrencyLimiter = field(init=False)
    """Of what writes documents: one at a time, in a thread of its own.

    A writer waits for the store's lock and for its models; in the threads that questions and keys use, a few of them
    would keep everybody out.
    """
    _shadows: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="strategy-b"))
    _shadows_waiting: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(SHADOWS_WAITING))
    _dice: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        chosen = self.settings.service
        self.journal, self.keys = RequestJournal(self.ledger), KeyRing(self.ledger)
        self.evaluations = Evaluations(self.ledger)
        self.limiter = ConcurrencyLimiter(chosen.running, chosen.waiting, self.metrics.present.set)
        self.uploads = ConcurrencyLimiter(1, UPLOADS_WAITING)

    @property
    def settings(self) -> Settings:
        """The effective settings."""
        return self.resources.settings

    @cached_property
    def resources_b(self) -> Resources:
        """Resources of strategy B, over the same store and models."""
        return self.strategy_b.resources(self.resources)

    @cached_property
    def graph_b(self) -> CompiledGraph:
        """Graph of strategy B."""
        return build_graph(self.resources_b)

    def settle(self, request_id: str, tenant: str) -> None:
        """Wait until a tenant's request that has been answered can be read."""
        if self.writer is not None:
            self.writer.settle(request_id, tenant=tenant)

    def recent(self, tenant: str, hours: float) -> tuple[int, Iterator[Mapping[str, Any]]]:
        """Return a moment (milliseconds since 1970) and the tenant's searches and questions since, oldest first."""
        if self.writer is not None:
            self.writer.flush(2.0)
        since = int((self.clock() - hours * 3600) * 1000)
        return since, iter(self.journal.requests(tenant, since_ms=since, endpoints=("search", "ask")))

    def finished(self, asked: FinishedRequest) -> None:
        """Put a finished run on record, count it and trace it; none of this can fail the request."""
        if self.writer is not None:
            self.writer.put(asked)
        try:
            self.metrics.count_run(asked.run, outcome_of_run(asked.run, asked.endpoint, asked.elapsed_ms))
            named = {name: getattr(asked, name) for name in ("endpoint", "request_id", "trace_id", "tenant")}
            self.spans.emit(asked.run, **named)
        except Exception:
            log.exception("request %s could not be counted", asked.request_id)

    def maybe_run_b(self, asked: FinishedRequest) -> None:
        """After the reply: run strategy B beside it for its share of the requests; never waited for."""
        share = self.settings.service.ab_share
        if not share or self._dice.random() >= share or asked.run.error is not None:
            return
        if not self._shadows_waiting.acquire(blocking=False):
            self.metrics.shadow.labels("left_out").inc()
            return
        try:
            self._shadows.submit(self._run_b, asked)
        except RuntimeError:  # shutting down
            self._shadows_waiting.release()

    def _run_b(self, asked: FinishedRequest) -> None:
        try:
            context = self.strategy_b.context(asked.run.context)
            begun = time.perf_counter()
            run = run_graph(self.graph_b, asked.run.question, context, until=asked.until, choice=asked.choice)
            self.metrics.shadow.labels("ok" if run.error is None else "error").inc()
            elapsed_ms, code = (time.perf_counter() - begun) * 1000, 0 if run.error is None else 9000
            beside = replace(
                asked, request_id=uuid.uuid4().hex, parent=asked.request_id, run=run, elapsed_ms=elapsed_ms, code=code,
                settings=self.resources_b.settings, model_version=self.resources_b.reranker.name,
                arm=self.strategy_b.name, strategy=self.strategy_b.model_dump(mode="json"), created=self.clock(),
            )  # fmt: skip
            if self.writer is not None:
                self.writer.put(beside)
        except Exception:
            self.metrics.shadow.labels("error").inc()
            log.exception("strategy %s failed", self.strategy_b.name)
        finally:
            self._shadows_waiting.release()

    def close(self) -> None:
        """Finish what runs, write what waits, let go of everything but the resources."""
        self._shadows.shutdown(wait=True, cancel_futures=True)
        self.limiter.close()
        self.uploads.close()
        self.jobs.close()
        self.documents.close()
        if self.writer is not None:
            self.writer.close()
        self.spans.close()
        self.ledger.close()


@contextmanager
def open_service(settings: Settings | None = None, *, bound_to: str | None = None) -> Iterator[Service]:
    """Open the store (made empty where there is none), the models and the records; close them at the end.

    Raises SettingsError, StoreError and ModelError as they come.
    """
    settings = settings or Settings.load()
    chosen = settings.service
    strategy = read_strategy(chosen.ab_strategy)
    if not ledger_exists(settings):
        open_store(settings, create=True).close()
    with ExitStack() as stack:
        resources = stack.enter_context(open_resources(settings))
        ledger = open_database(settings.store, settings.ledger_server, writable=True)
        journal = RequestJournal(ledger)
        resources = replace(resources, history=RememberedHistory(journal))
        service = Service(
            resources=resources,
            graph=build_graph(resources),
            ledger=ledger,
            documents=DocumentWriter(settings, resources.models),
            jobs=JobLauncher(settings),
            spans=RequestSpans(exporter_of(os.environ), text=chosen.trace_text, model=settings.model.name),
            strategy_b=strategy,
            bound_to=bound_to,
        )
        if chosen.log:
            service.writer = RequestWriter(
                journal,
                retention_days=chosen.retention_days,
                busy=lambda: service.limiter.present > 0,
                watch=service.metrics.follow_log,
            )
        stack.callback(service.close)
        if chosen.ab_share:
            log.info("strategy %s beside %s of the requests", json.dumps(strategy.model_dump()), chosen.ab_share)
            _ = service.graph_b
        service.jobs.look(service.evaluations)
        warm_up(service.graph, resources)
        if chosen.watch:
            stop = threading.Event()
            follow = partial(service.documents.follow, chosen.watch, stop=stop)
            watcher = threading.Thread(target=follow, name="watch", daemon=True)
            watcher.start()
            stack.callback(watcher.join, SHUTDOWN_S)
            stack.callback(stop.set)
        # Models stay as long as the service: a full collection, in the middle of a request, need not walk through them.
        gc.collect()
        gc.freeze()
        stack.callback(gc.unfreeze)
        yield service
