"""A bound node is timed and counted, and cannot end the request unless asked to."""

import pytest
from langgraph.errors import GraphInterrupt
from langgraph.types import Overwrite

from theworld.errors import RetrievalUnavailableError
from theworld.graph.running import bind
from theworld.state import Candidate, Context, QueryState


class Runtime:
    def __init__(self, **choices):
        self.context = Context(**choices)


def give_two(state, runtime, *, size):
    """Give candidates."""
    return {"candidates": [Candidate(note_id=f"d#{i}", document_id="d") for i in range(size)]}


def fail(state, runtime):
    raise ValueError("the engine said no")


def ask(state, runtime):
    raise GraphInterrupt(())


def reset(state, runtime):
    return {"stages": Overwrite([])}


def test_dependencies_are_bound_and_the_trace_is_added():
    update = bind(give_two, size=2)(QueryState(), Runtime())
    (trace,) = update["stages"]
    assert (trace.stage, trace.counts) == ("give_two", {"candidates": 2})
    assert trace.elapsed_ms >= 0


def test_an_optional_node_that_raises_becomes_a_degradation():
    update = bind(fail)(QueryState(), Runtime())
    (degradation,) = update["degradations"]
    assert degradation.stage == "fail"
    assert "the engine said no" in degradation.reason


def test_strict_and_required_nodes_raise():
    with pytest.raises(RetrievalUnavailableError, match="said no"):
        bind(fail)(QueryState(), Runtime(strict=True))
    with pytest.raises(ValueError, match="said no"):
        bind(fail, optional=False)(QueryState(), Runtime())


def test_interrupts_pass():
    with pytest.raises(GraphInterrupt):
        bind(ask)(QueryState(), Runtime())


def test_the_first_node_resets_the_trace():
    update = bind(reset)(QueryState(), Runtime())
    assert isinstance(update["stages"], Overwrite)
    assert [trace.stage for trace in update["stages"].value] == ["reset"]
