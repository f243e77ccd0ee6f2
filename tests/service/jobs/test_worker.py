"""The process of evaluation jobs: one at a time, and another one for what comes in while it is about to end."""

from __future__ import annotations

import pytest

from service_cases import wait_until
from service_process import START_S
from theworld.service import evaluation_jobs
from theworld.settings import Settings
from worker_models import leave_slowly

pytestmark = pytest.mark.slow  # processes are started


def test_what_comes_in_while_the_worker_ends_is_another_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation_jobs, "work_on_jobs", leave_slowly)
    began = tmp_path / "began"
    launcher = evaluation_jobs.JobLauncher(Settings(store=began))
    launcher.start()
    wait_until(began.exists)
    launcher.start()
    launcher.start()
    assert launcher.wait(START_S)
    assert began.read_text().splitlines() == ["began"] * 2
    launcher.start()
    launcher.start()
    launcher.close()
    launcher.start()
    assert launcher.wait(START_S)
    assert len(began.read_text().splitlines()) <= 3, "nothing is started after the end"
