"""The suite must find what breaks the contract."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from theworld.ranking import Ranked, Reranking
from theworld.testing.conformance.rerankers import DELAY_S, QUESTIONS, RerankerConformance, candidates


class Pretending:
    """Knows the answers by heart and orders everything at once; `change` then breaks one thing."""

    name, scale = "pretending", "unit"

    def __init__(self, change: Callable[[Reranking], Reranking], takes_s: float = 0.0) -> None:
        self._change, self._takes_s = change, takes_s

    def rerank(self, query, candidates, *, top_k, tenant, deadline):
        time.sleep(self._takes_s)
        answer = dict(QUESTIONS).get(query)
        notes = dict.fromkeys(sorted((c.note_id for c in candidates), key=lambda note_id: note_id != answer))
        ranked = tuple(Ranked(note_id, 1 / rank, 1 / rank) for rank, note_id in enumerate(notes, start=1))
        return self._change(Reranking(ranked, "complete"))


SUITE = RerankerConformance()


def test_an_honest_one_passes():
    honest = Pretending(lambda found: found)
    SUITE.test_it_has_a_name_and_a_scale(honest)
    SUITE.test_the_note_that_answers_comes_first(honest, *QUESTIONS[0])
    SUITE.test_the_same_question_gets_the_same_order_from_every_thread(honest)
    SUITE.test_nothing_in_nothing_out(honest)
    SUITE.test_one_candidate(honest)
    SUITE.test_equal_notes_are_all_kept_in_their_order(honest)
    SUITE.test_a_note_given_twice_comes_back_once(honest)
    SUITE.test_any_text_can_be_scored(honest, "")
    SUITE.test_any_question_can_be_asked(honest, "")


def drop_one(found):
    return Reranking(found.ranked[:-1], "complete")


def double_one(found):
    return Reranking((*found.ranked, found.ranked[-1]), "complete")


def worst_first(found):
    return Reranking(found.ranked[::-1], "complete")


def no_number(found):
    return Reranking(tuple(Ranked(r.note_id, float("nan"), r.relevance) for r in found.ranked), "complete")


def above_one(found):
    return Reranking(tuple(Ranked(r.note_id, r.score, 1.5) for r in found.ranked), "complete")


def unfounded_reason(found):
    return Reranking(found.ranked, "complete", "who knows")


@pytest.mark.parametrize("change", [drop_one, double_one, worst_first, no_number, above_one, unfounded_reason])
def test_each_breach_is_found(change):
    with pytest.raises(AssertionError):
        SUITE.test_any_question_can_be_asked(Pretending(change), "")


@pytest.mark.slow
def test_one_that_ignores_the_clock_is_found():
    with pytest.raises(AssertionError):
        SUITE.test_a_deadline_already_gone_leaves_the_fused_order(Pretending(lambda found: found))
    with pytest.raises(AssertionError):
        SUITE.hurried(Pretending(lambda found: found, takes_s=3.5 * DELAY_S + 1.0), candidates(3), top_k=3)


def test_one_that_raises_or_hides_its_failure_is_found():
    with pytest.raises(AssertionError):
        SUITE.test_a_failing_engine_is_an_outcome_that_names_it(lambda **_: Pretending(lambda found: found))
    with pytest.raises(ZeroDivisionError):
        SUITE.test_one_candidate(Pretending(lambda found: 1 / 0))


def test_one_that_keeps_a_thread_is_found():
    release = threading.Event()
    thread = threading.Thread(target=release.wait, args=(5,))
    with pytest.raises(AssertionError, match="outlives"), SUITE.leaving_no_thread():
        thread.start()
    release.set()
    thread.join()
    with SUITE.leaving_no_thread():
        pass
