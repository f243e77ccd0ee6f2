"""What chosen notes leave open of the question is asked of the names that lead on; what stands out then is lifted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from theworld.deadline import Deadline
from theworld.models.protocols import Embedded
from theworld.questions import read_question
from theworld.ranking.second_hop import HOPS, LEAST_MS, NAMES, Floats, SecondHop, Space, joined_by, rest_of
from theworld.text.tokens import tokens

QUESTION = "Where was the architect of Casa Bloc born?"
BLOC, SERT, PORT, GAUDI = "Casa Bloc is by the architect Sert", "Sert was born in Barcelona", "the port", "Gaudi"


def embed(text: str) -> Floats:
    """A bag of words: one dimension for each of those that the notes of these tests hold."""
    words = tokens(f"{BLOC} {SERT} {PORT} {GAUDI}")
    vector = np.array([float(word in tokens(text)) for word in words], dtype=np.float32)
    unit: Floats = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return unit


class Asked:
    """A space over notes given as texts, which counts what is asked."""

    def __init__(self, notes: Sequence[str], without: frozenset[int] = frozenset()) -> None:
        self.notes, self.asked = notes, list[str]()
        self.vectors = np.stack([embed(note) for note in notes])
        self.covered: Floats | None = None
        """What the token vectors of each note cover of any query; None: what its vector says."""
        self.space = Space(self.embed, self.similarities, set(range(len(notes))) - without)

    def embed(self, text: str) -> Embedded:
        self.asked.append(text)
        return Embedded(embed(text))

    def similarities(self, queries: Sequence[Embedded], chosen: Sequence[int]) -> Floats:
        cosines = np.stack([self.vectors[list(chosen)] @ query.vector for query in queries])
        covered = cosines if self.covered is None else np.tile(self.covered[list(chosen)], (len(queries), 1))
        return np.stack([cosines, covered])

    def hop(self, links: Sequence[tuple[int, int, str]], *, left_ms: float = 60_000) -> SecondHop:
        return SecondHop(read_question(QUESTION), self.notes, joined_by(links), [self.space], Deadline.after(left_ms))


def gains(count: int, *chosen: int) -> Floats:
    return np.array([-np.inf if i in chosen else 1.0 - i / 10 for i in range(count)], dtype=np.float32)


def test_what_is_left_of_the_question_is_asked_of_a_name() -> None:
    asked = Asked([BLOC, SERT, PORT, GAUDI])
    hop = asked.hop([(0, 1, "Sert"), (0, 2, "port")])
    lift = hop.after(0, gains(4, 0))
    assert sorted(asked.asked) == ["Sert Where was the of born?", "port Where was the of born?"]
    assert lift[1] > 1
    assert lift[0] == lift[3] == 0
    assert hop.reached(1) == (2, "Sert")
    assert hop.reached(3) == (1, None)
    assert hop.hops[0].counts == {"names": 2, "lifted": 2}
    assert hop.hops[0].notes == ("Sert", "port")


def test_a_note_that_no_link_joins_is_lifted_but_not_reached_over_a_name() -> None:
    hop = Asked([BLOC, PORT, SERT]).hop([(0, 1, "Sert")])
    assert hop.after(0, gains(3, 0))[2] > 0
    assert hop.reached(2) == (1, None)


def test_only_notes_of_the_space_are_lifted() -> None:
    hop = Asked([BLOC, SERT, PORT, GAUDI], without=frozenset({1})).hop([(0, 1, "Sert")])
    assert hop.after(0, gains(4, 0))[1] == 0


def test_vectors_and_token_vectors_lift_alike() -> None:
    asked = Asked([BLOC, SERT, SERT, PORT])
    by_vectors = asked.hop([(0, 1, "Sert")]).after(0, gains(4, 0))
    assert by_vectors[1] == by_vectors[2] > by_vectors[3] == 0
    asked.covered = np.array([0.0, 0.0, 0.5, 0.5], dtype=np.float32)
    by_both = asked.hop([(0, 1, "Sert")]).after(0, gains(4, 0))
    assert by_both[2] == pytest.approx(by_vectors[2])  # as far ahead of the others in the one as in the other
    assert by_both[1] == by_both[3] == 0


def test_equal_notes_are_not_lifted() -> None:
    assert not Asked([BLOC, PORT, PORT]).hop([(0, 1, "Sert")]).after(0, gains(3, 0)).any()


def test_the_names_that_lead_to_the_best_are_asked() -> None:
    hop = Asked([BLOC] * 9).hop([(0, j, f"name {j}") for j in range(1, 9)])
    hop.after(0, gains(9, 0))
    assert hop.hops[0].notes == tuple(f"name {j}" for j in range(1, NAMES + 1))


def test_no_name_is_asked_twice_and_no_more_than_the_first_choices_are_followed() -> None:
    asked = Asked([BLOC, SERT, PORT, GAUDI])
    hop = asked.hop([(0, 1, "Sert"), (1, 2, "Sert"), (1, 2, "port"), (2, 3, "Gaudi")])
    hop.after(0, gains(4, 0))
    hop.after(1, gains(4, 0, 1))
    assert [trace.notes for trace in hop.hops] == [("Sert",), ("port",)]
    assert asked.asked[1] == "port Where was the of ?"
    assert len(hop.hops) == HOPS
    assert not hop.after(2, gains(4, 0, 1, 2)).any()
    assert hop.reached(1) == (2, "Sert")
    assert hop.reached(2) == (3, "port")


@pytest.mark.parametrize(("links", "left_ms"), [([], 60_000), ([(0, 1, "Sert")], LEAST_MS / 2)])
def test_nothing_is_asked_without_links_or_time(links: list[tuple[int, int, str]], left_ms: float) -> None:
    asked = Asked([BLOC, SERT])
    hop = asked.hop(links, left_ms=left_ms)
    assert not hop.after(0, gains(2, 0)).any()
    assert not asked.asked
    assert not hop.hops
    assert hop.out_of_time is bool(links)


@pytest.mark.parametrize(
    ("question", "note", "rest"),
    [
        (QUESTION, BLOC, "Where was the of born?"),
        (QUESTION, "nothing of it", QUESTION),
        ("How old is Anna's house?", "the houses of Anna", "How old is ?"),
        ("卡萨布洛克的建筑师出生在哪里？", "卡萨布洛克由建筑师塞特设计", "的 出生在哪里？"),
        ("GTX 1080 的显存有多大？", "GTX 1080 显卡", "的显存有多大？"),
    ],
)
def test_words_that_notes_hold_are_left_out(question: str, note: str, rest: str) -> None:
    assert rest_of(read_question(question), frozenset(tokens(note))) == rest


def test_links_join_both_ways_and_never_a_note_to_itself() -> None:
    assert joined_by([(0, 1, "a"), (1, 0, "a"), (2, 2, "a"), (1, 2, "b")]) == {
        0: {"a": [1]},
        1: {"a": [0], "b": [2]},
        2: {"b": [1]},
    }
