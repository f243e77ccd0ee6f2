"""Many runs at once: each keeps its deadline, because a few run at a time and the others wait before theirs begins."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from theworld.graph import build_graph
from theworld.graph.running import RunLimit
from theworld.settings import Settings
from theworld.state import Context

QUESTIONS = (
    "Who was the commander of Apollo 11?",
    "In which city was the director of Metropolis born?",
    "天一阁是由谁主持建造的？",
)


class Runs:
    """Runs that hold a run within them, and how many of them were under way at once."""

    def __init__(self):
        self.limit, self.present, self.most, self.lock = RunLimit(2), 0, 0, threading.Lock()

    def change(self, by):
        with self.lock:
            self.present += by
            self.most = max(self.most, self.present)

    def parts(self, inner=True):
        self.change(inner)
        yield 1
        if inner:
            yield from self.limit.stream(self.parts(inner=False))
        time.sleep(0.01)
        yield 2
        self.change(-inner)

    async def aparts(self, inner=True):
        self.change(inner)
        yield 1
        if inner:
            async for part in self.limit.astream(self.aparts(inner=False)):
                yield part
        await asyncio.sleep(0.01)
        yield 2
        self.change(-inner)


async def test_a_loop_and_its_threads_each_have_their_turns():
    runs = Runs()

    async def run():
        return [part async for part in runs.limit.astream(runs.aparts())]

    assert await asyncio.gather(*(run() for _ in range(9))) == [[1, 1, 2, 2]] * 9
    assert (runs.present, runs.most) == (0, 2)


def test_threads_wait_for_each_other():
    runs = Runs()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: list(runs.limit.stream(runs.parts())), range(16))) == [[1, 1, 2, 2]] * 16
    assert (runs.present, runs.most) == (0, 2)


async def test_a_stream_left_half_read_gives_its_turn_back_and_does_not_open_the_way():
    """What its reader begins meanwhile is no part of the run, and the next runs are limited as before."""
    runs = Runs()
    left = [runs.limit.astream(runs.aparts()), runs.limit.astream(runs.aparts())]
    assert [await anext(stream) for stream in left] == [1, 1]
    third = asyncio.ensure_future(anext(runs.limit.astream(runs.aparts())))
    await asyncio.sleep(0.02)
    assert not third.done()
    for stream in left:
        await stream.aclose()
    assert await third == 1
    stream = runs.limit.stream(runs.parts())
    assert next(stream) == 1
    others = [runs.limit.stream(runs.parts()) for _ in range(2)]
    assert next(others[0]) == 1
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, others[1])
        time.sleep(0.02)
        assert not waiting.done()
        stream.close()
        assert waiting.result(5) == 1


async def test_streams_that_nobody_reads_do_not_hold_up_the_others_for_ever(monkeypatch):
    monkeypatch.setattr("theworld.graph.running.LONGEST_WAIT_S", 0.05)
    runs = Runs()
    left = [runs.limit.stream(runs.parts()) for _ in range(3)]
    assert [next(stream) for stream in left] == [1, 1, 1]
    others = [runs.limit.astream(runs.aparts()) for _ in range(3)]
    assert [await anext(stream) for stream in others] == [1, 1, 1]
    for stream in others:
        await stream.aclose()


@pytest.mark.slow
def test_a_hundred_gathered_runs_answer_as_each_alone_or_say_that_time_ran_out(resources):
    # Alone with time enough: on a busy machine the first run may itself lose a stage to the loading of its model.
    alone = {question: build_graph(resources).invoke({"question": question}) for question in QUESTIONS}
    graph = build_graph(dataclasses.replace(resources, settings=Settings(store=resources.settings.store)))

    async def all_at_once():
        asked = [QUESTIONS[place % len(QUESTIONS)] for place in range(100)]
        return list(zip(asked, await asyncio.gather(*(graph.ainvoke({"question": q}) for q in asked)), strict=True))

    assert not any(found["degradations"] for found in alone.values())
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
