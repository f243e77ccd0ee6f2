"""What a node does without is noted, unless the caller is strict."""

from __future__ import annotations

import pytest
from langgraph.errors import GraphBubbleUp

from theworld.degrading import degrading
from theworld.errors import EngineUnavailableError, ModelError, RetrievalUnavailableError
from theworld.state import Context, Degradation

GONE = EngineUnavailableError("it is gone", where="ledger")


def degraded(error: BaseException, *, strict: bool = False, **options: type[Exception]) -> list[Degradation]:
    noted: list[Degradation] = []
    with degrading("stage", Context(strict=strict), noted, "left out", **options):
        raise error
    return noted


@pytest.mark.parametrize(("error", "said"), [(ValueError("no"), "ValueError: no"), (GONE, "ledger: it is gone")])
def test_a_failure_is_noted_with_what_it_says(error: Exception, said: str) -> None:
    (noted,) = degraded(error)
    assert (noted.stage, noted.reason) == ("stage", f"left out: {said}")
    assert noted.elapsed_ms >= 0


@pytest.mark.parametrize("error", [GONE, ModelError("silent"), RetrievalUnavailableError("late")])
def test_a_strict_caller_gets_errors_that_say_what_is_unavailable_as_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        degraded(error, strict=True)
    assert raised.value is error


def test_a_strict_caller_gets_any_other_failure_as_one_of_the_stage() -> None:
    with pytest.raises(RetrievalUnavailableError, match=r"stage: left out: ValueError: no.*without `strict`") as raised:
        degraded(ValueError("no"), strict=True)
    assert isinstance(raised.value.__cause__, ValueError)


@pytest.mark.parametrize("error", [GraphBubbleUp(), KeyboardInterrupt(), KeyError("k")])
def test_what_is_not_to_be_caught_passes(error: BaseException) -> None:
    catching = ValueError if isinstance(error, KeyError) else Exception
    with pytest.raises(type(error)):
        degraded(error, catching=catching)


def test_the_failure_is_at_hand_afterwards() -> None:
    error = ValueError("no")
    with degrading("stage", Context(), [], lambda failure: f"not this: {failure}") as block:
        raise error
    assert block.error is error
    with degrading("stage", Context(), [], "left out") as block:
        pass
    assert block.error is None
