"""How sure an answer is: the signs by hand, and laws that hold for any weights.

`python tests/answers/test_sureness.py` prints the golden probabilities anew, after the weights have been fitted.
"""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.answers.sureness import (
    FEWEST_NOTES,
    LIKELY,
    SHOWN,
    SIGNS,
    SURE,
    USUAL,
    USUAL_NOTES,
    WEIGHTS,
    probability,
    searched_notes,
    signs,
    sureness_of,
)
from theworld.questions import read_question
from theworld.state import Candidate, ChannelHit, ChannelResult, Sureness

LISTS = {
    "good": {"dense": [0.9, 0.5, 0.45], "sparse": [9.0, 4.0, 3.0], "covered": [0.8, 0.5, 0.4]},
    "poor": {"dense": [0.31, 0.3, 0.3], "sparse": [1.0, 0.5, 0.0], "covered": [0.1, 0.1, 0.1]},
}
GOLDEN = {
    ("good", "en"): 0.837516,
    ("good", "zh"): 0.955617,
    ("poor", "en"): 0.019041,
    ("poor", "zh"): 0.042494,
    ("good", "across"): 0.942676,
    ("poor", "across"): 0.053962,
}
ASKED = {"en": read_question("what is it"), "zh": read_question("这是什么"), "across": read_question("what is it")}
NOTES = {"dense": ChannelResult(channel="dense", hits=[(f"n#{n}", 0.5) for n in range(99)], mean=0.3, deviation=0.1)}
"""What meaning found among many notes."""


def candidates(
    dense: list[float], sparse: list[float], covered: list[float], language: str = "en", text: str = ""
) -> list[Candidate]:
    """Notes with the scores of two channels; one that is below 0 is none."""
    ranked = []
    for n, scores in enumerate(zip(dense, sparse, strict=True)):
        hits = {
            name: ChannelHit(rank=n + 1, score=score)
            for name, score in zip(("dense", "sparse"), scores, strict=True)
            if score >= 0
        }
        written = "zh" if language == "across" else language
        given = {"note_id": f"d#{n}", "document_id": "d", "language": written, "channels": hits, "text": text}
        ranked.append(Candidate.model_validate(given | {"covered": covered[n]}))
    return ranked


def golden() -> dict[tuple[str, str], float]:
    return {
        (kind, language): round(probability(candidates(**LISTS[kind], language=language), ASKED[language], NOTES), 6)
        for kind, language in GOLDEN
    }


def test_golden_probabilities() -> None:
    assert golden() == GOLDEN, "after a new fit: run this file"


@pytest.mark.parametrize("language", WEIGHTS)
def test_what_was_found_well_is_surer(language: str) -> None:
    good, poor = (
        probability(candidates(**LISTS[kind], language=language), ASKED[language], NOTES) for kind in ("good", "poor")
    )
    assert good > poor


def test_signs_by_hand() -> None:
    named = dict(zip(SIGNS, signs(candidates(**LISTS["good"]), ASKED["en"], NOTES), strict=True))
    assert named.pop("meaning") == pytest.approx((0.9 - 0.3) / 0.1)
    assert named == {"always": 1.0, "words": math.log(10.0), "coverage": 0.8, "unknown names": 0.0}


def test_coverage_says_nothing_across_languages() -> None:
    """Between two languages neither words nor their vectors are near enough to cover anything."""
    assert signs(candidates(**LISTS["poor"], language="zh"), ASKED["en"], NOTES)[3] == USUAL["coverage"]
    assert signs(candidates(**LISTS["poor"], language="zh"), ASKED["zh"], NOTES)[3] == LISTS["poor"]["covered"][0]
    both = candidates(**LISTS["poor"], language="zh") + candidates(**LISTS["poor"])
    assert signs(both, ASKED["en"], NOTES)[3] == LISTS["poor"]["covered"][0], "own notes would have the words"


def test_what_is_not_known_has_its_usual_value() -> None:
    unheard = candidates(dense=[-1, -1], sparse=[-1, -1], covered=[0.5, 0.4])
    usual = (1.0, USUAL["words"], USUAL["meaning"], 0.5, 0.0)
    assert signs(unheard, ASKED["en"], {}) == usual
    assert signs(unheard, ASKED["en"], {"sparse": ChannelResult(channel="sparse")})[1] == 0.0, "no word was found"
    elsewhere = [one.model_copy(update={"covered": None}) for one in unheard]
    assert signs(elsewhere, ASKED["en"], {})[3] == USUAL["coverage"]
    few = {"dense": NOTES["dense"].model_copy(update={"searched": FEWEST_NOTES - 1})}
    assert signs(candidates(**LISTS["good"]), ASKED["en"], few)[2] == USUAL["meaning"]


def test_a_note_outside_a_list_counts_like_the_last_one_in_it() -> None:
    first_by_graph = candidates(dense=[-1, 0.9], sparse=[-1, 9.0], covered=[0.5, 0.4])
    words = ChannelResult(channel="sparse", hits=[("n#1", 9.0), ("n#2", 4.0)])
    seen = signs(first_by_graph, ASKED["en"], {**NOTES, "sparse": words})[1:3]
    assert seen == pytest.approx((math.log(5.0), (0.5 - 0.3) / 0.1))
    assert signs(first_by_graph, ASKED["en"], NOTES)[1] == 0.0


@pytest.mark.parametrize(
    ("question", "language", "text", "unknown"),
    [
        ("Does it run with MySQL?", "en", "It runs with SQLite.", 1.0),
        ("Does it run with MySQL?", "en", "It runs with MySQL 8.", 0.0),
        ("Does it run with MySQL?", "zh", "支持 SQLite。", 0.0),
        ("MySQL is slow. Why?", "en", "It runs.", 0.0),
        ("May I work on a Saturday in June?", "en", "It runs.", 0.0),
        ("怎么挂 PVC？", "zh", "用 Helm 部署。", 1.0),
        ("怎么用 helm 部署？", "zh", "用 Helm 部署。", 0.0),
        ("群晖 dsm6 怎么装？", "zh", "DSM 6 上这样安装。", 0.0),
        ("群晖 dsm6 怎么装？", "zh", "DSM 7 上这样安装。", 1.0),
        ("为什么很慢？", "zh", "用 Helm 部署。", 0.0),
        ("is inv-2026-0199 paid", "en", "INV-2026-0198, paid", 1.0),
        ("is inv-2026-0199 paid", "en", "INV-2026-0199, open", 0.0),
        ("max_size 默认多大", "zh", "MAX_SIZE 默认 8 MB。", 0.0),
        ("max_size 默认多大", "zh", "默认 8 MB。", 1.0),
        ("what was the fee in 2023", "en", "Fees from 2024 on: 40.", 1.0),
        ("what was the fee in 2024", "en", "Fees, from 2024-01-01: 40.", 0.0),
        ("2023学年保教费多少", "zh", "2024学年：900元。", 1.0),
        ("民國112年保教費多少", "zh", "2023年：900元。", 0.0),
        ("民國112年保教費多少", "zh", "民國112年：900元。", 0.0),
        ("Who ruled in 44 BC?", "en", "Caesar died in 44 BC.", 0.0),
    ],
)
def test_names_and_years_that_no_note_holds_make_unsure(
    question: str, language: str, text: str, unknown: float
) -> None:
    """At a sentence's beginning every word has a capital; among Chinese notes an English name has another form."""
    found = signs(candidates([0.9], [9.0], [0.8], language, text), read_question(question), NOTES)
    assert found[-1] == unknown


def test_the_name_of_a_document_says_its_year_and_where_it_lies_does_not() -> None:
    asked = read_question("what was the fee in 2023")
    [note] = candidates([0.9], [9.0], [0.8], "en", "The fee was 40.")
    for update, unknown in (({"document_id": "fees-2023.md"}, 0.0), ({"source": "/home/2023/fees.md"}, 1.0)):
        assert signs([note.model_copy(update=update)], asked, NOTES)[-1] == unknown


def test_a_year_is_looked_for_in_the_notes_that_are_shown() -> None:
    """Among all that was found some note has any year."""
    notes = [*candidates([0.9] * SHOWN, [9.0] * SHOWN, [0.8] * SHOWN, "en", "The fee in 2024 was 40.")]
    of_2023 = notes[0].model_copy(update={"text": "A party in 2023."})
    asked = read_question("what was the fee in 2023")
    assert signs([*notes, of_2023], asked, NOTES)[-1] == 1.0
    assert signs([*notes[1:], of_2023], asked, NOTES)[-1] == 0.0


@pytest.mark.parametrize(("asked", "language"), [("zh", "en"), ("en", "zh")])
def test_nothing_is_known_between_two_languages_among_few_notes(asked: str, language: str) -> None:
    few = {"dense": NOTES["dense"].model_copy(update={"searched": FEWEST_NOTES - 1})}
    found = candidates([0.9, 0.4], [9.0, 1.0], [0.8, 0.4], language)
    assert sureness_of(probability(found, ASKED[asked], few)) == "unsure"
    assert probability(found, ASKED[language], few) > LIKELY, "words say it in one language"


@pytest.mark.parametrize(("asked", "language"), [("zh", "en"), ("en", "zh")])
def test_words_say_nothing_across_languages(asked: str, language: str) -> None:
    few, many = ([score, 0.0] for score in (0.5, 30.0))
    said = {
        probability(candidates([0.5, 0.4], sparse, [0.5, 0.4], language), ASKED[asked], NOTES) for sparse in (few, many)
    }
    assert len(said) == 1


def test_a_language_without_weights_has_those_of_english() -> None:
    good = [candidates(**LISTS["good"], language=language) for language in ("de", "en")]
    assert probability(good[0], ASKED["en"], NOTES) == probability(good[1], ASKED["en"], NOTES)


def test_nothing_found_is_no_evidence() -> None:
    assert probability([], ASKED["en"], NOTES) == 0.0


def test_how_sure_it_is_does_not_depend_on_the_size_of_the_store() -> None:
    """BM25 grows with the rarity of a word, and the best of all cosines with their number."""
    seen = {}
    for notes in (FEWEST_NOTES, USUAL_NOTES, 10**6):
        score, cosine = 2.0 * math.log1p((notes - 0.5) / 1.5), 0.3 + 0.1 * math.sqrt(2 * math.log(notes))
        found = {"dense": NOTES["dense"].model_copy(update={"searched": notes})}
        seen[notes] = probability(candidates([cosine], [score], [0.5]), ASKED["en"], found)
    assert seen[FEWEST_NOTES] == pytest.approx(seen[USUAL_NOTES]) == pytest.approx(seen[10**6])
    alone = candidates([0.5], [0.2], [0.5])
    one = {"dense": ChannelResult(channel="dense", searched=1)}
    assert probability(alone, ASKED["en"], {}) < probability(alone, ASKED["en"], one)


@pytest.mark.parametrize(
    ("searched", "filtered", "notes"), [(0, 0, USUAL_NOTES), (3, 0, 3), (3, 1, 3), (5_000, 1, USUAL_NOTES)]
)
def test_notes_are_counted_where_all_of_them_were_searched(searched: int, filtered: int, notes: int) -> None:
    found = ChannelResult(channel="dense", searched=searched)
    assert searched_notes({"dense": found}, filtered=bool(filtered)) == notes
    assert searched_notes({}, filtered=False) == USUAL_NOTES


def test_the_words_for_a_probability() -> None:
    said = [sureness_of(at) for at in (0.0, LIKELY - 1e-9, LIKELY, SURE - 1e-9, SURE, 1.0)]
    assert said == ["unsure", "unsure", "likely", "likely", "sure", "sure"]
    assert 0 < LIKELY < SURE < 1
    assert set(said) == set(get_args(Sureness)) - {"none"}


SCORE = st.floats(0, 1)


@given(
    st.lists(st.tuples(SCORE, st.floats(0, 60), SCORE), min_size=1, max_size=6),
    st.tuples(SCORE, st.floats(0, 20), SCORE),
    st.sampled_from(sorted(WEIGHTS)),
)
def test_monotone(scores: list[tuple[float, float, float]], more: tuple[float, float, float], language: str) -> None:
    """Better scores of the best note never make an answer less sure; the same ones give the same."""
    dense, sparse, covered = (list(column) for column in zip(*scores, strict=True))

    def asked() -> float:
        return probability(candidates(dense, sparse, covered, language), ASKED[language], NOTES)

    before = asked()
    assert 0.0 <= before <= 1.0
    assert before == asked()
    dense[0], sparse[0], covered[0] = dense[0] + more[0], sparse[0] + more[1], min(1.0, covered[0] + more[2])
    assert asked() >= before


@pytest.mark.parametrize("language", WEIGHTS)
def test_no_sign_is_turned_around(language: str) -> None:
    """A fit on few questions may turn a sign around; then the sign is not worth having."""
    assert len(WEIGHTS[language]) == len(SIGNS)
    assert all(weight >= 0 for weight in WEIGHTS[language][1:-1])
    assert WEIGHTS[language][-1] <= 0


if __name__ == "__main__":
    for kind, language in [(kind, language) for kind in LISTS for language in WEIGHTS]:
        found = probability(candidates(**LISTS[kind], language=language), ASKED[language], NOTES)
        print(f'    ("{kind}", "{language}"): {round(found, 6)},')
