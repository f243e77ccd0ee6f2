"""A ledger that hangs costs no question its deadline: answers come from what is known, and say who did not answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.faulty_proxy import FaultyProxy
from services.postgres_ledger import PATIENT_S, drop_schema, settings_for
from theworld.graph import build_graph, open_resources
from theworld.settings import Settings
from theworld.stores.moving import move_ledger

pytestmark = pytest.mark.slow
DEADLINE_MS = 8000
QUESTIONS = ("Who was the commander of Apollo 11?", "鲁迅出生在哪里？")


def test_every_question_is_answered_within_its_deadline(
    copy_of_demo: Callable[[], Path], postgres_url: str, ledger: str
) -> None:
    store, near, proxy = copy_of_demo(), settings_for(postgres_url, ledger), FaultyProxy(postgres_url)
    move_ledger(Settings(store=store, ledger=near))
    # Each call would wait for far longer than the deadline, and so many failures that no breaker helps.
    far = settings_for(f"{postgres_url.rpartition(':')[0]}:{proxy.port}/{postgres_url.rpartition('/')[2]}", ledger)
    far = far.model_copy(update={"timeout_s": PATIENT_S, "failures": 100})
    with open_resources(Settings(store=store, ledger=far, retrieval={"deadline_ms": DEADLINE_MS})) as resources:
        graph = build_graph(resources)

        def ask(question: str) -> tuple[dict[str, Any], float]:
            begun = time.perf_counter()
            output: dict[str, Any] = graph.invoke({"question": question})
            return output, (time.perf_counter() - begun) * 1000

        for question in QUESTIONS:
            ask(question)
        proxy.delay_s = 2 * PATIENT_S
        for question in (*QUESTIONS, ""):
            if not question:  # no note is in memory any more
                resources.store._notes.forget()
            output, elapsed_ms = ask(question or QUESTIONS[0])
            assert output["answer"]
            assert elapsed_ms < DEADLINE_MS
            named = {one.stage: one.reason for one in output["degradations"]}
            assert f"127.0.0.1:{proxy.port}" in named["receive_question"]
        assert f"127.0.0.1:{proxy.port}" in named["fuse_candidates"]
        proxy.heal()
        proxy.cut()
        healed = time.monotonic()
        while ask(QUESTIONS[0])[0]["degradations"]:
            assert time.monotonic() - healed < PATIENT_S
            time.sleep(0.05)
    proxy.close()
    drop_schema(near)
