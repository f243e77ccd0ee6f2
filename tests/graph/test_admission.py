"""Many runs at once: each keeps its deadline, because a few run at a time and the others wait before theirs begins."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from theworld.graph import build_graph
from theworld.graph.admission import RunLimit
from theworld.settings import Settings
from theworld.state import Context

QUESTIONS = (
    "Who was the commander of Apollo 11?",
    "In which city was the director of Metropolis born?",
    "天一阁是由谁主持建造的？",
)


async def test_a_loop_and_its_threads_each_have_their_turns():
    limit, present, most = RunLimit(2), 0, 0

    async def run():
        nonlocal present, most
        async with limit.turn_of_loop():
            present += 1
            most = max(most, present)
            async with limit.turn_of_loop():  # within a run: no second turn is waited for
                await asyncio.sleep(0.01)
            present -= 1

    await asyncio.gather(*(run() for _ in range(9)))
    assert (present, most) == (0, 2)


def test_threads_wait_for_each_other():
    limit, lock, present, most = RunLimit(2), threading.Lock(), 0, 0

    def run(_place):
        nonlocal present, most
        with limit.turn():
            with lock:
                present += 1
                most = max(most, present)
            with limit.turn():
                time.sleep(0.02)
            with lock:
                present -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(16)))
    assert (present, most) == (0, 2)


@pytest.mark.slow
def test_a_hundred_gathered_runs_answer_as_each_alone_or_say_that_time_ran_out(resources):
    graph = build_graph(dataclasses.replace(resources, settings=Settings(store=resources.settings.store)))
    alone = {question: graph.invoke({"question": question}) for question in QUESTIONS}

    async def all_at_once():
        asked = [QUESTIONS[place % len(QUESTIONS)] for place in range(100)]
        return list(zip(asked, await asyncio.gather(*(graph.ainvoke({"question": q}) for q in asked)), strict=True))

    for question, found in asyncio.run(all_at_once()):
        if found["answer"] != alone[question]["answer"]:
            assert found["degradations"]
            assert "not enough evidence" not in found["answer"]


@pytest.mark.slow
@pytest.mark.parametrize(("question", "said"), [(QUESTIONS[0], "Time ran out"), (QUESTIONS[2], "时间不足")])
def test_a_missed_deadline_is_no_missing_evidence(resources, question, said):
    class Late:
        def __getattr__(self, name):
            return lambda *_args, **_options: threading.Event().wait(30)

    class Store:
        dense = graph = Late()

        def __getattr__(self, name):
            return getattr(resources.store, name)

    short = build_graph(dataclasses.replace(resources, store=Store()))
    found = short.invoke({"question": question + " zzzz"}, context=Context(deadline_ms=1500, use_model=False))
    if found["kind"] == "none":
        assert said in found["answer"]
    unknown = short.invoke({"question": "qqqq wwww eeee?"}, context=Context(deadline_ms=1500, language="en"))
    assert unknown["kind"] == "none"
    assert "Time ran out" in unknown["answer"]
