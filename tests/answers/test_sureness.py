"""How sure an answer is: the signs by hand, and laws that hold for any weights.

`python tests/answers/test_sureness.py` prints the golden probabilities anew, after the weights have been fitted.
"""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.answers import probability, searched_notes, sureness_of
from theworld.answers.sureness import LIKELY, SIGNS, SURE, USUAL, WEIGHTS, signs
from theworld.state import Candidate, ChannelHit, ChannelResult, Context, QueryState, Sureness

LISTS = {
    "good": {"dense": [0.9, 0.5, 0.45], "sparse": [9.0, 4.0, 3.0], "final": [0.8, 0.5, 0.4]},
    "poor": {"dense": [0.31, 0.3, 0.3], "sparse": [1.0, 0.5, 0.0], "final": [0.1, 0.1, 0.1]},
}
GOLDEN = {
    ("good", "en"): 0.930386,
    ("good", "zh"): 0.502122,
    ("poor", "en"): 0.019841,
    ("poor", "zh"): 0.041318,
}


def candidates(dense: list[float], sparse: list[float], final: list[float], language: str = "en") -> list[Candidate]:
    """Notes with the scores of two channels; one that is below 0 is none."""
    ranked = []
    for n, scores in enumerate(zip(dense, sparse, strict=True)):
        hits = {
            name: ChannelHit(rank=n + 1, score=score)
            for name, score in zip(("dense", "sparse"), scores, strict=True)
            if score >= 0
        }
        given = {"note_id": f"d#{n}", "document_id": "d", "language": language, "channels": hits}
        ranked.append(Candidate.model_validate(given | {"final_score": final[n], "covered": final[n]}))
    return ranked


def golden() -> dict[tuple[str, str], float]:
    return {
        (kind, language): round(probability(candidates(**LISTS[kind], language=language), language), 6)
        for kind, language in GOLDEN
    }


def test_golden_probabilities() -> None:
    assert golden() == GOLDEN, "after a new fit: run this file"


@pytest.mark.parametrize("language", WEIGHTS)
def test_what_was_found_well_is_surer(language: str) -> None:
    good, poor = (probability(candidates(**LISTS[kind], language=language), language) for kind in ("good", "poor"))
    assert good > poor


def test_signs_by_hand() -> None:
    named = dict(zip(SIGNS, signs(candidates(**LISTS["good"]), "en"), strict=True))
    assert named == {"always": 1.0, "words": math.log(10.0), "relevance": 0.8}


def test_what_is_not_known_has_its_usual_value() -> None:
    unheard = candidates(dense=[0.2, 1.7], sparse=[-1, -1], final=[0.5, 0.4])
    assert signs(unheard, "en") == (1.0, USUAL["words"], 0.5)
    elsewhere = [one.model_copy(update={"covered": None}) for one in candidates(**LISTS["good"])]
    assert signs(elsewhere, "en") == (1.0, math.log(10.0), USUAL["relevance"])


@pytest.mark.parametrize(("asked", "language"), [("zh", "en"), ("en", "zh")])
def test_words_say_nothing_across_languages(asked: str, language: str) -> None:
    few, many = ([score, 0.0] for score in (0.5, 30.0))
    said = {probability(candidates([0.5, 0.4], sparse, [0.5, 0.4], language), asked) for sparse in (few, many)}
    assert len(said) == 1


def test_a_language_without_weights_has_those_of_english() -> None:
    good = [candidates(**LISTS["good"], language=language) for language in ("de", "en")]
    assert probability(good[0], "en") == probability(good[1], "en")


def test_nothing_found_is_no_evidence() -> None:
    assert probability([], "en") == 0.0


def test_few_notes_are_enough_where_they_share_the_words() -> None:
    """The same note alone, and among thirty that share nothing else with the question: BM25 is a tenth."""
    rarer = math.log1p(29.5 / 1.5) / math.log1p(0.5 / 1.5)
    alone, among = (candidates([0.5], [score], [0.5]) for score in (0.9, 0.9 * rarer))
    assert probability(alone, "en", 1) == pytest.approx(probability(among, "en", 30)) == probability(among, "en", 5000)
    assert probability(alone, "en", 30) < probability(alone, "en", 1)


@pytest.mark.parametrize(
    ("hits", "filters", "notes"), [(0, {}, 30), (3, {}, 3), (30, {}, 30), (400, {}, 30), (3, {"folder": "a"}, 30)]
)
def test_notes_are_counted_where_all_of_them_were_searched(hits: int, filters: dict[str, str], notes: int) -> None:
    found = ChannelResult(channel="dense", hits=[(f"d#{n}", 0.5) for n in range(hits)])
    state = QueryState(question="?", channel_results={"dense": found})
    assert searched_notes(state, Context(filters=filters)) == notes
    assert searched_notes(QueryState(question="?"), Context()) == 30


def test_the_words_for_a_probability() -> None:
    said = [sureness_of(at) for at in (0.0, LIKELY - 1e-9, LIKELY, SURE - 1e-9, SURE, 1.0)]
    assert said == ["unsure", "unsure", "likely", "likely", "sure", "sure"]
    assert 0 < LIKELY < SURE < 1
    assert set(said) == set(get_args(Sureness)) - {"none"}


SCORE = st.floats(0, 1)


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 60), SCORE), min_size=1, max_size=6),
    st.tuples(SCORE, st.floats(0, 20), SCORE),
    st.sampled_from(sorted(WEIGHTS)),
)
def test_monotone(scores: list[tuple[float, float, float]], more: tuple[float, float, float], language: str) -> None:
    """Better scores of the best note never make an answer less sure; the same ones give the same."""
    dense, sparse, final = (list(column) for column in zip(*scores, strict=True))
    sparse[0] = max(sparse[0], 0.0)  # a channel that found nothing counts as usual, not as 0
    before = probability(candidates(dense, sparse, final, language), language)
    assert 0.0 <= before <= 1.0
    assert before == probability(candidates(dense, sparse, final, language), language)
    dense[0], sparse[0] = max(dense[0], 0.0) + more[0], max(sparse[0], 0.0) + more[1]
    after = probability(candidates(dense, sparse, [min(1.0, final[0] + more[2]), *final[1:]], language), language)
    assert after >= before


@pytest.mark.parametrize("language", WEIGHTS)
def test_no_sign_speaks_against_an_answer(language: str) -> None:
    """A fit on few questions may turn a sign around; then the sign is not worth having."""
    assert len(WEIGHTS[language]) == len(SIGNS)
    assert all(weight >= 0 for weight in WEIGHTS[language][1:])


if __name__ == "__main__":
    for (kind, language), value in golden().items():
        print(f'    ("{kind}", "{language}"): {value},')
