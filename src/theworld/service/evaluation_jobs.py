"""Evaluation jobs: asked for over HTTP, run by a process of lowest priority, one a store, resumed after a restart.

In a job each strategy asks each question; what is there already is not asked again; then come the metrics.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from multiprocessing.process import BaseProcess
from statistics import fmean
from typing import Any

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.errors import TheWorldError
from theworld.evaluation.failures import KEYS, Counterfactuals, Failure, failed, failure_report, is_right, seen_of
from theworld.evaluation.metrics import ANSWER_MEASURES, answer_measures, metric_at, paired_difference
from theworld.evaluation.online import Outcome, online_metrics
from theworld.graph import Resources, build_graph, open_resources
from theworld.graph.build import CompiledGraph
from theworld.service.requests.strategies import Strategy
from theworld.settings import Settings
from theworld.state import Context, QueryInput
from theworld.stores.ledger.evaluations import Evaluations, Job, Query
from theworld.stores.ledger.opening import open_database

KEPT = 100
"""Candidates kept of every question, so that every depth can be computed."""
RETRIEVAL = (*(f"recall@{k}" for k in (1, 2, 5, 10, 20)), "mrr", "ndcg@10")
METRICS = (*RETRIEVAL, *ANSWER_MEASURES)
WHY = "why:"
"""Stands before an arm's name in the rows that explain its failures."""
Outcomes = Sequence[Mapping[str, Any]]
"""What `ask_one` returned, by question."""


class JobStoppedError(Exception):
    """The process is to end; the job goes on where it is now."""


@contextlib.contextmanager
def _step(what: str) -> Iterator[None]:
    """Name what is done meanwhile, should it fail."""
    try:
        yield
    except Exception as error:
        error.add_note(what)
        raise


def why_failed(error: Exception) -> str:
    """Return what of a job failed, and why where that was foreseen; the log has the rest."""
    step = next(iter(getattr(error, "__notes__", ())), "the job")
    if isinstance(error, TheWorldError):
        return f"{step}: {error}"
    return f"{step}: an error that was not foreseen; the log of the service has it."


def run_job(job: Job, evaluations: Evaluations, resources: Resources, *, alone: Callable[[], bool]) -> None:
    """Do a job, or go on with it. Everything found is written at once; JobStoppedError when the service has gone."""
    evaluations.start(job.id)
    strategies = [Strategy.model_validate(given) for given in job.request["strategies"]]
    work = _Work(job, evaluations, resources, alone)
    finished = all(work.ask_all(strategy) for strategy in strategies)
    report: dict[str, Any] | None = None
    if finished and job.request.get("explain_failures"):
        reports = {strategy.name: work.explain_failures(strategy) for strategy in strategies}
        finished = all(found is not None for found in reports.values())
        report = reports
    if not finished:
        evaluations.finish(job.id, "cancelled")
        return
    places = range(len(work.queries))
    outcomes = {strategy.name: [work.there[strategy.name, place] for place in places] for strategy in strategies}
    with _step("the metrics"):
        results = {name: metrics_of(work.queries, found) for name, found in outcomes.items()}
    with _step("the comparison"):
        comparison = compare(work.queries, outcomes) if len(strategies) > 1 else None
    evaluations.finish(job.id, "done", results=results, report={"failures": report, "comparison": comparison})


class _Work:
    """What the steps of one job share."""

    def __init__(self, job: Job, evaluations: Evaluations, resources: Resources, alone: Callable[[], bool]) -> None:
        self.job, self.evaluations, self.resources, self.alone = job, evaluations, resources, alone
        self.queries = evaluations.queries(job.dataset)[: job.request.get("limit")]
        self.there = evaluations.answers(job.id)

    def go_through(self, arm: str, places: Iterable[int], work: Callable[[int], dict[str, Any]]) -> bool:
        """Do and keep what is not there yet of an arm; False when the job was cancelled.

        Raises JobStoppedError when the service has gone.
        """
        for position in places:
            if (arm, position) in self.there:
                continue
            if self.alone():
                raise JobStoppedError
            if self.evaluations.is_cancelled(self.job.id):
                return False
            with _step(f"{arm}, question {self.queries[position].id}"):
                self.there[arm, position] = found = work(position)
            self.evaluations.add_answer(self.job.id, arm, position, found)
        return True

    def opened(self, strategy: Strategy) -> tuple[Resources, CompiledGraph, Context]:
        """Return what a strategy asks with."""
        uses_model = bool(self.job.request.get("use_model"))
        base = Context(tenant=self.job.tenant, top_k=KEPT, deadline_ms=BACKGROUND_DEADLINE_MS, use_model=uses_model)
        resources = strategy.resources(self.resources)
        return resources, build_graph(resources), strategy.context(base)

    def ask_all(self, strategy: Strategy) -> bool:
        """Ask what was not asked yet; False when the job was cancelled."""
        places = range(len(self.queries))
        if all((strategy.name, place) in self.there for place in places):
            return True
        _, graph, context = self.opened(strategy)
        return self.go_through(strategy.name, places, lambda place: ask_one(self.queries[place], graph, context))

    def explain_failures(self, strategy: Strategy) -> dict[str, Any] | None:
        """Name the culprit of every failed question; None when the job was cancelled."""
        arm = WHY + strategy.name
        places = [p for p in range(len(self.queries)) if self.there[strategy.name, p]["failed"]]
        # Steps known of: answers of all arms, explanations of this arm and of those before.
        others = sum(name.startswith(WHY) and name != arm for name, _ in self.there)
        answers = len(self.job.request["strategies"]) * len(self.queries)
        self.evaluations.set_total(self.job.id, answers + others + len(places))
        # What answerers see is what the strategy leaves them: the context keeps its own K for the evidence.
        ways = Counterfactuals(*self.opened(strategy))
        corpus = set(self.resources.store.document_hashes(self.job.tenant))
        if not self.go_through(arm, places, lambda place: asdict(ways.explain(self.queries[place], corpus))):
            return None
        failures = [Failure(**self.there[arm, position]) for position in places]
        return failure_report(self.job.name, len(self.queries), failures)


def ask_one(query: Query, graph: CompiledGraph, context: Context) -> dict[str, Any]:
    """Ask one question; return what the metrics need, as plain values."""
    begun = time.perf_counter()
    keys = [*KEYS, "stages", "degradations"]
    state: Mapping[str, Any] = graph.invoke(QueryInput(question=query.text), context=context, output_keys=keys)
    elapsed = (time.perf_counter() - begun) * 1000
    seen = seen_of(state)
    return {
        **{name: getattr(seen, name) for name in ("answer", "kind", "path")},
        **{"documents": list(seen.documents[:KEPT]), "intent": state["route"].intent, "elapsed_ms": elapsed},
        "right": is_right(query, seen) if query.answers else None,
        "failed": failed(query, seen) if query.answers or query.grades else False,
        "stages": [stage.stage for stage in state["stages"]],
        "degraded": [item.stage for item in state["degradations"]],
    }


def values_of(query: Query, outcome: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of one question; those its gold does not allow are left out."""
    found: dict[str, float] = {}
    if query.grades:
        found |= {name: metric_at(name, outcome["documents"], query.grades) for name in RETRIEVAL}
    if query.answers:
        found |= answer_measures(outcome["answer"], query.answers, outcome["kind"])
    return found


def metrics_of(queries: Sequence[Query], outcomes: Outcomes) -> dict[str, Any]:
    """Return the metrics of one arm: over all questions, and by the set's types and the router's intents."""
    pairs = list(zip(queries, outcomes, strict=True))
    strata: dict[str, dict[str, list[tuple[Query, Mapping[str, Any]]]]] = {"intent": {}, "type": {}}
    for query, outcome in pairs:
        for name, label in (("intent", outcome["intent"]), ("type", query.type)):
            if label:
                strata[name].setdefault(label, []).append((query, outcome))
    by_label = {name: {label: _metrics(some[label]) for label in sorted(some)} for name, some in strata.items() if some}
    return {**_metrics(pairs), "strata": by_label}


def _metrics(pairs: Sequence[tuple[Query, Mapping[str, Any]]]) -> dict[str, Any]:
    by_name: dict[str, list[float]] = {}
    ended = []
    for query, outcome in pairs:
        for name, value in values_of(query, outcome).items():
            by_name.setdefault(name, []).append(value)
        same: dict[str, Any] = {name: outcome[name] for name in ("kind", "elapsed_ms")}
        same |= {"found": bool(outcome["documents"]), **{n: tuple(outcome[n]) for n in ("stages", "degraded")}}
        success = not outcome["failed"] if query.answers or query.grades else None
        ended.append(Outcome(asked=True, success=success, **same))  # for the metrics that live traffic has too
    means = {name: round(fmean(by_name[name]), 6) for name in METRICS if name in by_name}
    judged = {name: len(by_name[name]) for name in ("recall@5", "em") if name in by_name}
    return {"n": len(pairs), "counted": judged, **means, **online_metrics(ended).model_dump(exclude={"requests"})}


def compare(queries: Sequence[Query], outcomes: Mapping[str, Outcomes]) -> dict[str, Any]:
    """Return the second arm over the first, metric by metric, with bootstrap interval and randomisation test.

    Interval and p are None where a metric rests on one question.
    """
    (first, one), (second, two) = list(outcomes.items())[:2]
    found: dict[str, Any] = {"first": first, "second": second, "metrics": {}}
    pairs = [(values_of(q, a), values_of(q, b)) for q, a, b in zip(queries, one, two, strict=True)]
    for name in METRICS:
        both = [(a[name], b[name]) for a, b in pairs if name in a]
        if both:
            gain = paired_difference([b for _, b in both], [a for a, _ in both])
            found["metrics"][name] = {
                "difference": gain.mean, "low": gain.low, "high": gain.high, "p_value": gain.p_value, "n": gain.n,
            }  # fmt: skip
    return found


log = logging.getLogger(__name__)


class JobLauncher:
    """At most one worker process a service process; a lock in the store's folder keeps it one a store."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._changing = threading.Condition()
        self._wanted = False
        """Whether there was a job for a process that may have been about to end."""
        self._following = self._closed = False
        self._process: BaseProcess | None = None

    def look(self, evaluations: Evaluations) -> None:
        """Start the worker when a job waits or was cut short; a failure to look is no failure of the service."""
        try:
            if evaluations.next_job() is not None:
                self.start()
        except TheWorldError as error:
            log.warning("evaluation jobs cannot be looked up: %s", error)

    def start(self) -> None:
        """Start the worker unless it runs; one that is about to end is followed by another."""
        with self._changing:
            self._wanted = not self._closed
            if self._wanted and not self._following:
                self._following = True
                threading.Thread(target=self._follow, name="evaluation-watch", daemon=True).start()

    def _follow(self) -> None:
        """Run one worker after the other as long as they are wanted."""
        context, args = multiprocessing.get_context("spawn"), (self._settings,)
        while True:
            with self._changing:
                self._following, self._wanted = self._wanted, False
                if not self._following:
                    self._changing.notify_all()
                    return
                self._process = context.Process(target=work_on_jobs, args=args, name="evaluation-worker", daemon=True)
                self._process.start()
            self._process.join()

    def wait(self, timeout_s: float) -> bool:
        """Wait until the worker has nothing more to do; False when that took too long."""
        with self._changing:
            return self._changing.wait_for(lambda: not self._following, timeout_s)

    def close(self) -> None:
        """Stop the worker; its job goes on at the next start."""
        with self._changing:
            self._closed, self._wanted = True, False
            if self._process is not None:
                self._process.terminate()
        if not self.wait(10) and self._process is not None:
            self._process.kill()


LOCK = "evaluation"


def work_on_jobs(settings: Settings) -> None:
    """Work on all jobs of the store, one after the other; returns at once when another process does so."""
    if settings.service.job_priority == "idle" and sys.platform != "win32":
        # Only when nobody else wants the processor: idle scheduling where the system has it, else nice 19.
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        with contextlib.suppress(OSError):
            os.nice(19)
    parent = os.getppid()
    settings = settings.model_copy(update={"embedding": settings.embedding.model_copy(update={"threads": 1})})
    ledger = open_database(settings.store, settings.ledger_server, writable=True)
    with ledger, ledger.lock_alone(LOCK) as alone:
        evaluations = Evaluations(ledger)
        if not alone or evaluations.next_job() is None:
            return
        with open_resources(settings) as resources:
            while os.getppid() == parent and (job := evaluations.next_job()) is not None:
                try:
                    run_job(job, evaluations, resources, alone=lambda: os.getppid() != parent)
                except JobStoppedError:
                    return
                except Exception as error:
                    log.exception("evaluation job %s failed", job.job_id)
                    evaluations.finish(job.id, "failed", error=why_failed(error))
