"""Names that lead on from a chosen note are put behind the question, and what suits it better then is lifted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from theworld.deadline import Deadline
from theworld.models.protocols import Embedded, TokenVectors
from theworld.ranking.greedy_cover import coverage_of
from theworld.ranking.second_hop import HOPS, LEAST_MS, NAMES, SecondHop, Space, joined_by
from theworld.stores.token_codes import encode_tokens

WORDS = ["born", "architect", "Gaudi", "Sert", "port"]
QUESTION = "born architect"


def embed(text: str) -> Embedded:
    """One dimension a word, but "born" points to the last name behind it too: what a neighbour does to a token."""
    ids = [WORDS.index(word) for word in text.split() if word in WORDS]
    rows = np.eye(64, dtype=np.float32)[ids]
    names = [one for one in ids if one > 1]
    if names and 0 in ids:
        rows[ids.index(0)] += np.eye(64, dtype=np.float32)[names[-1]]
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    tokens = TokenVectors(np.array(ids, dtype=np.int32), np.rint(unit * 127).astype(np.int8))
    whole = rows.sum(axis=0)
    return Embedded((whole / np.linalg.norm(whole)).astype(np.float32), tokens)


class Asked:
    """A space over notes given as texts, which counts what is asked."""

    def __init__(self, notes: Sequence[str]) -> None:
        self.notes, self.questions = [embed(note) for note in notes], list[str]()

    def embed(self, text: str) -> Embedded:
        self.questions.append(text)
        return embed(text)

    def space(self) -> Space:
        vectors = np.stack([note.vector for note in self.notes])
        alone = vectors @ embed(QUESTION).vector
        codes = {i: encode_tokens(note.tokens) for i, note in enumerate(self.notes) if note.tokens is not None}
        covered = {i: np.zeros(2, dtype=np.float32) for i in codes}
        importance = np.full(2, 0.5, dtype=np.float32)
        return Space(
            self.embed, lambda v, js: vectors[list(js)] @ v, codes, dict(enumerate(alone)), importance, covered
        )

    def hop(self, links: Sequence[tuple[int, int, str]], *, left_ms: float = 60_000) -> SecondHop:
        def covered(cosines: np.ndarray) -> np.ndarray:
            return coverage_of(cosines, 0.38)

        return SecondHop(QUESTION, joined_by(links), [self.space()], covered, Deadline.after(left_ms))


def gains(count: int, *chosen: int) -> np.ndarray:
    return np.array([-np.inf if i in chosen else 1.0 - i / 10 for i in range(count)], dtype=np.float32)


def test_a_note_over_a_name_is_lifted_and_others_are_not() -> None:
    asked = Asked(["architect", "Gaudi", "Sert", "port"])
    hop = asked.hop([(0, 1, "Gaudi"), (0, 2, "Sert")])
    lift = hop.after(0, gains(4, 0))
    assert asked.questions == ["born architect Gaudi", "born architect Sert"]
    assert lift[1] > 0.3
    assert lift[2] > 0.3
    assert lift[0] == lift[3] == 0
    assert hop.reached(1) == (2, "Gaudi")
    assert hop.reached(3) == (1, None)
    assert hop.hops[0].counts == {"names": 2, "lifted": 2}
    assert hop.hops[0].notes == ("Gaudi", "Sert")


def test_a_name_lifts_only_what_it_joins() -> None:
    """The note on Sert does not profit from the question asked with Gaudi."""
    hop = Asked(["architect", "Gaudi", "Sert"]).hop([(0, 1, "Gaudi"), (0, 2, "Gaudi")])
    lift = hop.after(0, gains(3, 0))
    assert lift[1] > lift[2]


def test_the_names_that_lead_to_the_best_are_asked() -> None:
    asked = Asked(["architect"] * 9)
    hop = asked.hop([(0, j, f"name {j}") for j in range(1, 9)])
    hop.after(0, gains(9, 0))
    assert hop.hops[0].notes == tuple(f"name {j}" for j in range(1, NAMES + 1))


def test_no_name_is_asked_twice_and_no_more_than_the_first_choices_are_followed() -> None:
    asked = Asked(["architect", "Gaudi", "Sert", "port"])
    hop = asked.hop([(0, 1, "Gaudi"), (1, 2, "Gaudi"), (1, 2, "Sert"), (2, 3, "port")])
    hop.after(0, gains(4, 0))
    hop.after(1, gains(4, 0, 1))
    assert [trace.notes for trace in hop.hops] == [("Gaudi",), ("Sert",)]
    assert len(hop.hops) == HOPS
    assert not hop.after(2, gains(4, 0, 1, 2)).any()
    assert hop.reached(2) == (3, "Sert")


@pytest.mark.parametrize(("links", "left_ms"), [([], 60_000), ([(0, 1, "Gaudi")], LEAST_MS / 2)])
def test_nothing_is_asked_without_links_or_time(links: list[tuple[int, int, str]], left_ms: float) -> None:
    asked = Asked(["architect", "Gaudi"])
    hop = asked.hop(links, left_ms=left_ms)
    assert not hop.after(0, gains(2, 0)).any()
    assert not asked.questions
    assert not hop.hops
    assert hop.out_of_time is bool(links)


def test_links_join_both_ways_and_never_a_note_to_itself() -> None:
    assert joined_by([(0, 1, "a"), (1, 0, "a"), (2, 2, "a"), (1, 2, "b")]) == {
        0: {"a": [1]},
        1: {"a": [0], "b": [2]},
        2: {"b": [1]},
    }
