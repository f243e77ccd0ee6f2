"""Starts the process that works on evaluation jobs, when there is one to work on."""

from __future__ import annotations

import logging
import multiprocessing
import threading
from multiprocessing.process import BaseProcess

from theworld.errors import TheWorldError
from theworld.service.jobs.worker import work_on_jobs
from theworld.settings import Settings
from theworld.stores.ledger.evaluations import Evaluations

log = logging.getLogger(__name__)


class JobLauncher:
    """At most one worker process a service process; a lock in the store's folder keeps it one a store."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: BaseProcess | None = None
        self._starting = threading.Lock()
        self._closed = False

    def look(self, evaluations: Evaluations) -> None:
        """Start the worker when a job waits or was cut short; a failure to look is no failure of the service."""
        try:
            if evaluations.next_job() is not None:
                self.start()
        except TheWorldError as error:
            log.warning("evaluation jobs cannot be looked up: %s", error)

    def start(self) -> None:
        """Start the worker unless it runs."""
        with self._starting:
            if self._closed or (self._process is not None and self._process.is_alive()):
                return
            context = multiprocessing.get_context("spawn")
            self._process = context.Process(
                target=work_on_jobs, args=(self._settings,), name="evaluation-worker", daemon=True
            )
            self._process.start()

    def wait(self, timeout_s: float) -> bool:
        """Wait until the worker has nothing more to do; False when that took too long."""
        if self._process is not None:
            self._process.join(timeout_s)
            return not self._process.is_alive()
        return True

    def close(self) -> None:
        """Stop the worker; its job goes on at the next start."""
        with self._starting:
            self._closed = True
            process = self._process
        if process is not None and process.is_alive():
            process.terminate()
            process.join(10)
            if process.is_alive():
                process.kill()
