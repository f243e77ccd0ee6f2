"""What every reranker must do: an order of what was given, on time, or the reason why there is none."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol

import pytest

from theworld.deadline import Deadline
from theworld.ranking import Reranker, Reranking
from theworld.state import Candidate
from theworld.stores.records import StoredNote
from theworld.testing.conformance.documents import TENANT

TEXTS: dict[str, tuple[str, str]] = {
    "curie#0": ("Marie Curie", "Marie Curie discovered radium and polonium in Paris."),
    "apollo#0": ("Apollo 11", "Neil Armstrong was the commander of Apollo 11."),
    "library#0": ("天一阁", "天一阁是范钦主持建造的藏书楼，位于宁波。"),
    "luxun#0": ("鲁迅", "鲁迅出生于浙江绍兴，是著名的作家。"),
}
"""Note id -> title and text of the notes that answer QUESTIONS."""
QUESTIONS = [
    ("Who discovered radium?", "curie#0"),
    ("Who was the commander of Apollo 11?", "apollo#0"),
    ("天一阁是谁主持建造的？", "library#0"),
    ("鲁迅出生在哪里？", "luxun#0"),
]
QUESTION = QUESTIONS[0][0]
DELAY_S = 0.1
"""How long one micro-batch takes in the tests of the deadline."""
SLACK_S = 0.4
"""What a busy machine may add."""
UNHURRIED_MS = 60_000


def candidate(note_id: str, title: str = "", text: str = "", **changes: object) -> Candidate:
    """Return a candidate as fusion makes it."""
    language = "zh" if any("\u4e00" <= letter <= "\u9fff" for letter in text) else "en"
    made = Candidate(note_id=note_id, document_id=note_id.partition("#")[0], title=title, text=text, language=language)
    return made.model_copy(update=changes)


def candidates(count: int) -> list[Candidate]:
    """Return `count` candidates in fused order; the last four of the first ten are the notes of TEXTS."""
    fillers = [candidate(f"filler{i:03d}#0", f"Filler {i}", f"Nothing but rain on day {i}.") for i in range(count)]
    answers = [candidate(note_id, title, text) for note_id, (title, text) in TEXTS.items()]
    return (fillers[:6] + answers + fillers[6:])[:count]


class NoNotes:
    """A ledger without notes: the candidates are given."""

    def notes(self, note_ids: Sequence[str], **_: object) -> list[StoredNote]:
        """Return none."""
        return []

    remembered = notes


class MakeReranker(Protocol):
    """Makes the reranker under test over a store that holds `candidates(...)`, or over none."""

    def __call__(self, *, delay_s: float = 0.0, error: str = "") -> Reranker:
        """Return it; each micro-batch takes `delay_s` longer, or its engine fails with the words of `error`."""


class RerankerConformance:
    """Subclass it, give the fixture `make` (see MakeReranker) and say how large a micro-batch is."""

    micro_batch = 8
    """Candidates scored between two looks at the clock."""

    @pytest.fixture
    def make(self) -> MakeReranker:
        """Return what makes the reranker; to be given by the subclass."""
        raise TypeError("a conformance suite needs the fixture `make`")

    def threads(self) -> set[threading.Thread]:
        """Return the threads that run now; leave out those that are not the reranker's, such as a test server's."""
        return set(threading.enumerate())

    @pytest.fixture
    def reranker(self, make: MakeReranker) -> Reranker:
        """Return a reranker in order."""
        return make()

    @pytest.fixture
    def slow(self, make: MakeReranker) -> Iterator[Reranker]:
        """Return a reranker whose micro-batches take DELAY_S; afterwards no thread of its last request is left."""
        reranker = make(delay_s=DELAY_S)
        ask(reranker, candidates(1))
        with self.leaving_no_thread():
            yield reranker

    @contextmanager
    def leaving_no_thread(self) -> Iterator[None]:
        """Check that one micro-batch later no thread runs that did not run before."""
        before = self.threads()
        yield
        time.sleep(DELAY_S)
        assert self.threads() <= before, "a thread outlives its request by more than one micro-batch"

    def test_it_has_a_name(self, reranker: Reranker) -> None:
        assert reranker.name

    @pytest.mark.parametrize(("question", "note_id"), QUESTIONS)
    def test_the_note_that_answers_comes_first(self, reranker: Reranker, question: str, note_id: str) -> None:
        given = candidates(25)
        found = ask(reranker, given, question)
        assert_complete(found, given)
        assert found.ranked[0].note_id == note_id

    def test_the_same_question_gets_the_same_order_from_every_thread(self, reranker: Reranker) -> None:
        given = candidates(25)
        once = ask(reranker, given)
        with ThreadPoolExecutor(4) as pool:
            assert all(found == once for found in pool.map(lambda _: ask(reranker, given), range(8)))

    def test_nothing_in_nothing_out(self, reranker: Reranker) -> None:
        assert ask(reranker, []) == Reranking((), "complete")

    def test_one_candidate(self, reranker: Reranker) -> None:
        given = candidates(7)[6:]
        assert_complete(ask(reranker, given), given)
        assert_complete(ask(reranker, given, top_k=1), given)

    def test_equal_notes_are_all_kept_in_their_order(self, reranker: Reranker) -> None:
        given = [candidate(f"copy{i}#0", "Marie Curie", TEXTS["curie#0"][1]) for i in range(5)]
        found = ask(reranker, given)
        assert_complete(found, given)
        assert [ranked.note_id for ranked in found.ranked] == [note.note_id for note in given]

    def test_a_note_given_twice_comes_back_once(self, reranker: Reranker) -> None:
        given = candidates(12)
        assert_complete(ask(reranker, [*given, *given[::-1]]), given)

    @pytest.mark.parametrize(
        "text", ["", " \n", "radium " * 60_000, "镭" * 200_000, "x" * 300_000, "half \ud800 a letter", "\x00\u202e🙂"]
    )
    def test_any_text_can_be_scored(self, reranker: Reranker, text: str) -> None:
        given = [*candidates(8), candidate("odd#0", text[:100], text), candidate("odd#1", "", text)]
        assert_complete(ask(reranker, given), given)

    @pytest.mark.parametrize("question", ["", "?", "镭", "radium " * 1000, "half \ud800 a letter"])
    def test_any_question_can_be_asked(self, reranker: Reranker, question: str) -> None:
        given = candidates(12)
        assert_complete(ask(reranker, given, question), given)

    def test_a_deadline_already_gone_leaves_the_fused_order(self, reranker: Reranker) -> None:
        found = reranker.rerank(
            QUESTION, candidates(5), top_k=5, tenant=TENANT, deadline=Deadline(time.perf_counter() - 9, 10)
        )
        assert (found.ranked, found.outcome) == ((), "timeout")
        assert "0 of 5" in found.reason

    def test_out_of_time_with_the_top_scored_is_partial(self, slow: Reranker) -> None:
        given = candidates(6 * self.micro_batch)
        found = self.hurried(slow, given, top_k=self.micro_batch)
        assert found.outcome == "partial"
        assert "out of time" in found.reason
        assert_ordered(found)
        scored = {ranked.note_id for ranked in found.ranked}
        assert {note.note_id for note in given[: self.micro_batch]} <= scored < {note.note_id for note in given}

    def test_out_of_time_before_the_top_is_scored_leaves_the_fused_order(self, slow: Reranker) -> None:
        found = self.hurried(slow, candidates(6 * self.micro_batch), top_k=6 * self.micro_batch)
        assert (found.ranked, found.outcome) == ((), "timeout")
        assert f"of {6 * self.micro_batch}" in found.reason

    def test_a_failing_engine_is_an_outcome_that_names_it(self, make: MakeReranker) -> None:
        found = ask(make(error="the engine is on strike"), candidates(30))
        assert (found.ranked, found.outcome) == ((), "error")
        assert "the engine is on strike" in found.reason

    @staticmethod
    def hurried(reranker: Reranker, given: Sequence[Candidate], *, top_k: int) -> Reranking:
        """Ask with time for some of six micro-batches; it must end on time, give or take one of them."""
        begun = time.perf_counter()
        deadline = Deadline(begun, 3.5 * DELAY_S * 1000)
        found = reranker.rerank(QUESTION, given, top_k=top_k, tenant=TENANT, deadline=deadline)
        assert time.perf_counter() - begun < deadline.budget_ms / 1000 + DELAY_S + SLACK_S
        return found


def ask(
    reranker: Reranker, given: Sequence[Candidate], question: str = QUESTION, *, top_k: int | None = None
) -> Reranking:
    """Rerank without haste."""
    deadline = Deadline.after(UNHURRIED_MS)
    return reranker.rerank(question, given, top_k=top_k or max(len(given), 1), tenant=TENANT, deadline=deadline)


def assert_complete(found: Reranking, given: Sequence[Candidate]) -> None:
    """Every candidate is there once, in an order that its scores bear out."""
    assert (found.outcome, found.reason) == ("complete", "")
    assert sorted(ranked.note_id for ranked in found.ranked) == sorted(note.note_id for note in given)
    assert_ordered(found)


def assert_ordered(found: Reranking) -> None:
    """Scores are finite and never increase, relevances lie in [0, 1]."""
    assert all(math.isfinite(ranked.score) and 0.0 <= ranked.relevance <= 1.0 for ranked in found.ranked)
    assert all(a.score >= b.score and a.relevance >= b.relevance for a, b in itertools.pairwise(found.ranked))
