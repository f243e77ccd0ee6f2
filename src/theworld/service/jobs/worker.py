"""The process that works on evaluation jobs: of lowest priority, one a store, there while there are jobs."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import sys
import threading
import time
from multiprocessing import connection
from multiprocessing.process import BaseProcess

from theworld.errors import TheWorldError
from theworld.graph import open_resources
from theworld.service.jobs.evaluate import JobStoppedError, run_job
from theworld.settings import Settings
from theworld.stores.ledger.evaluations import Evaluations
from theworld.stores.ledger.service_ledger import ServiceLedger

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
        context, process = multiprocessing.get_context("spawn"), None
        while True:
            with self._changing:
                if process is not None:
                    process.join()
                wanted, self._wanted, self._following = self._wanted, False, False
                self._changing.notify_all()
                if not wanted:
                    return
                process = context.Process(
                    target=work_on_jobs, args=(self._settings,), name="evaluation-worker", daemon=True
                )
                process.start()
                self._process, self._following = process, True
            connection.wait([process.sentinel])

    def wait(self, timeout_s: float) -> bool:
        """Wait until the worker has nothing more to do; False when that took too long."""
        with self._changing:
            return self._changing.wait_for(lambda: not self._following, timeout_s)

    def close(self) -> None:
        """Stop the worker; its job goes on at the next start."""
        with self._changing:
            self._closed, self._wanted = True, False
            if not self._following or self._process is None:
                return
            self._process.terminate()
        if not self.wait(10):
            self._process.kill()


LOCK = "evaluation"
LINGER_S = 3.0
"""How long the process waits for another job, so that opening the store is paid for once."""


def work_on_jobs(settings: Settings) -> None:
    """Work on all jobs of the store, one after the other; returns at once when another process does so."""
    if settings.service.job_priority == "idle":
        lower_priority()
    parent = os.getppid()
    settings = settings.model_copy(update={"embedding": settings.embedding.model_copy(update={"threads": 1})})
    with ServiceLedger.of(settings) as ledger, ledger.lock_alone(LOCK) as alone:
        if alone:
            _work(settings, Evaluations(ledger), parent)


def _work(settings: Settings, evaluations: Evaluations, parent: int) -> None:
    if evaluations.next_job() is None:
        return
    with open_resources(settings) as resources:
        idle_since = time.monotonic()
        while time.monotonic() - idle_since < LINGER_S and os.getppid() == parent:
            job = evaluations.next_job()
            if job is None:
                time.sleep(0.1)
                continue
            try:
                run_job(job, evaluations, resources, alone=lambda: os.getppid() != parent)
            except JobStoppedError:
                return
            except Exception as error:
                log.exception("evaluation job %s failed", job.job_id)
                evaluations.finish(job.row, "failed", error=type(error).__name__)
            idle_since = time.monotonic()


def lower_priority() -> None:
    """Run only when nobody else wants the processor: idle scheduling where the system has it, else nice 19."""
    if sys.platform == "win32":
        return
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with contextlib.suppress(OSError):
        os.nice(19)
