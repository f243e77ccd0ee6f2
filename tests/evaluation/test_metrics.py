"""Metrics of rankings and answers by hand and by other programs, and whether a difference is more than chance."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quality_measures.calibration import calibration_error

from theworld.evaluation.metrics import (
    all_at,
    contains,
    exact_match,
    f1,
    ndcg_at,
    paired_difference,
    percentile,
    recall_at,
    reciprocal_rank,
)

IDS = [f"d{i:02d}" for i in range(15)]
rankings = st.permutations(IDS).flatmap(lambda ids: st.integers(0, len(ids)).map(lambda n: ids[:n]))
grades = st.dictionaries(st.sampled_from(IDS), st.integers(1, 3), min_size=1, max_size=6)
texts = st.text(alphabet="abc the an 12,.-天地玄黃 ，。", max_size=20)


def test_known_values() -> None:
    ranking, gold = ["a", "x", "b", "y"], {"a", "b", "c"}
    assert recall_at(2, ranking, gold) == pytest.approx(1 / 3)
    assert recall_at(10, ranking, gold) == pytest.approx(2 / 3)
    assert all_at(10, ranking, gold) == 0.0
    assert all_at(3, ranking, {"a", "b"}) == 1.0
    assert reciprocal_rank(ranking, {"b"}) == pytest.approx(1 / 3)
    assert reciprocal_rank(ranking, {"z"}) == 0.0
    assert ndcg_at(10, ["x", "a"], {"a": 1}) == pytest.approx(0.6309297535714575)


def test_what_is_repeated_counts_once_and_a_grade_of_nothing_is_no_gold() -> None:
    ranking, graded = ["x", "x", "a", "a", "b"], {"a": 2, "b": 1, "x": 0}
    assert recall_at(2, ranking, graded) == 0.5
    assert reciprocal_rank(ranking, graded) == 0.5
    assert ndcg_at(5, ["a", "a", "b", "b"], graded) == 1.0
    assert ndcg_at(3, ranking, graded) == ndcg_at(3, ["x", "a", "b"], graded)
    with pytest.raises(ValueError, match="without gold"):
        ndcg_at(5, ["x"], {"x": 0})


def test_no_gold_is_refused() -> None:
    for metric in (recall_at, all_at, ndcg_at):
        with pytest.raises(ValueError, match="without gold"):
            metric(5, ["a"], {})
    with pytest.raises(ValueError, match="without gold"):
        reciprocal_rank(["a"], set())


@given(rankings, grades)
def test_agreement_with_ir_measures(ranking: list[str], gold: dict[str, int]) -> None:
    import ir_measures
    from ir_measures import RR, R, nDCG

    run = {"q": {document: float(-rank) for rank, document in enumerate(ranking)}}
    wanted = [R @ 2, R @ 5, R @ 10, RR, nDCG @ 10, nDCG @ 3]
    theirs = ir_measures.calc_aggregate(wanted, {"q": gold}, run if ranking else {"q": {"none": 0.0}})
    assert recall_at(2, ranking, gold) == pytest.approx(theirs[R @ 2])
    assert recall_at(5, ranking, gold) == pytest.approx(theirs[R @ 5])
    assert recall_at(10, ranking, gold) == pytest.approx(theirs[R @ 10])
    assert reciprocal_rank(ranking, gold) == pytest.approx(theirs[RR])
    assert ndcg_at(10, ranking, gold) == pytest.approx(theirs[nDCG @ 10])
    assert ndcg_at(3, ranking, gold) == pytest.approx(theirs[nDCG @ 3])


@given(rankings, grades, st.integers(1, 20))
def test_bounds_and_monotony(ranking: list[str], gold: dict[str, int], k: int) -> None:
    assert 0.0 <= recall_at(k, ranking, gold) <= recall_at(k + 1, ranking, gold) <= 1.0
    assert all_at(k, ranking, gold) <= recall_at(k, ranking, gold)
    assert 0.0 <= ndcg_at(k, ranking, gold) <= 1.0 + 1e-12
    ideal = sorted(gold, key=lambda document: -gold[document])
    assert ndcg_at(k, ideal, gold) == pytest.approx(1.0)
    assert all_at(len(gold), ideal, gold) == 1.0


@pytest.mark.parametrize(
    ("prediction", "gold", "em", "f", "holds"),
    [
        ("The Rush!", ["Rush"], 1, 1, 1),
        ("rush, the Canadian band", ["Rush"], 0, 0.5, 1),
        ("Rushmore", ["Rush"], 0, 0, 0),
        ("October 5, 1987", ["5 October 1987"], 0, 1, 0),
        ("yes", ["no", "yes"], 1, 1, 1),
        ("", ["Rush"], 0, 0, 0),
        ("the", ["a"], 1, 1, 1),
        ("歐洲", ["歐洲"], 1, 1, 1),
        ("在歐洲。", ["歐洲"], 0, 0.8, 1),
        ("１９世紀晚期", ["19世紀晚期"], 1, 1, 1),
        ("《紅樓夢》", ["紅樓夢"], 1, 1, 1),
        ("欧洲", ["歐洲"], 0, 0.5, 0),
        ("iPhone 手機", ["iphone手機"], 1, 1, 1),
        ("anything", [], 0, 0, 0),
    ],
)
def test_answers(prediction: str, gold: list[str], em: float, f: float, holds: float) -> None:
    assert exact_match(prediction, gold) == em
    assert f1(prediction, gold) == pytest.approx(f)
    assert contains(prediction, gold) == holds


def _official_squad_f1(prediction: str, gold: str) -> float:
    """The function of SQuAD's evaluate-v2.0.py, written out, as an independent witness."""
    import collections
    import re
    import string

    def normal(text: str) -> list[str]:
        kept = "".join(c for c in text.lower() if c not in set(string.punctuation))
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split()).split()

    gold_tokens, own_tokens = normal(gold), normal(prediction)
    same = sum((collections.Counter(gold_tokens) & collections.Counter(own_tokens)).values())
    if not gold_tokens or not own_tokens:
        return float(gold_tokens == own_tokens)
    if not same:
        return 0.0
    precision, recall = same / len(own_tokens), same / len(gold_tokens)
    return 2 * precision * recall / (precision + recall)


@given(st.text(alphabet="abc the an 12,.-$", max_size=25), st.text(alphabet="abc the an 12,.-$", max_size=25))
def test_english_f1_is_squads(prediction: str, gold: str) -> None:
    assert f1(prediction, [gold]) == pytest.approx(_official_squad_f1(prediction, gold))


@given(texts, texts)
def test_answer_metrics_are_ordered(prediction: str, gold: str) -> None:
    em, f, holds = exact_match(prediction, [gold]), f1(prediction, [gold]), contains(prediction, [gold])
    assert em <= f <= 1.0
    assert em <= holds
    assert f1(gold, [prediction]) == pytest.approx(f)
    assert exact_match(prediction, [prediction]) == f1(prediction, [prediction]) == 1.0


def test_percentiles_are_nearest_rank() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([float(i) for i in range(1, 101)], 0.95) == 95.0
    assert percentile([7.0], 0.95) == 7.0


def test_calibration_error_is_the_mean_gap_of_the_bins() -> None:
    assert calibration_error([]) == 0.0
    assert calibration_error([(1.0, True), (0.0, False)]) == 0.0
    assert calibration_error([(0.75, True), (0.75, True), (0.75, True), (0.75, False)]) == 0.0
    assert calibration_error([(0.9, False), (0.1, True)]) == pytest.approx(0.9)
    assert calibration_error([(0.91, True), (0.99, False), (0.2, False)]) == pytest.approx((0.9 + 0.2) / 3)
    assert calibration_error([(0.9, True), (0.2, False)], weights=[1, 3]) == pytest.approx((0.1 + 0.6) / 4)
    with pytest.raises(ValueError, match="shorter"):
        calibration_error([(0.9, True), (0.2, False)], weights=[1])


def test_equal_systems_do_not_differ() -> None:
    same = [0.5, 1.0, 0.0, 1.0]
    found = paired_difference(same, same)
    assert (found.mean, found.low, found.high, found.p_value, found.n) == (0.0, 0.0, 0.0, 1.0, 4)


def test_small_samples_are_enumerated_exactly() -> None:
    first, second = [1.0, 0.9, 0.8, 0.4, 0.7, 0.6], [0.2, 0.5, 0.9, 0.3, 0.1, 0.2]
    differences = [a - b for a, b in zip(first, second, strict=True)]
    observed = abs(sum(differences))
    flips = list(itertools.product([1, -1], repeat=6))
    extreme = sum(abs(sum(s * d for s, d in zip(f, differences, strict=True))) >= observed - 1e-12 for f in flips)
    assert paired_difference(first, second).p_value == pytest.approx(extreme / len(flips))


def test_a_clear_gain_is_significant_and_its_interval_excludes_zero() -> None:
    second = [(i * 37 % 100) / 100 for i in range(100)]
    first = [value + 0.1 + (i * 13 % 7) / 100 for i, value in enumerate(second)]
    found = paired_difference(first, second)
    assert found.p_value < 0.001
    assert 0.1 < found.low < found.mean < found.high < 0.17


def test_noise_is_not_significant() -> None:
    first = [float(i % 2) for i in range(60)]
    second = [float((i // 2) % 2) for i in range(60)]
    found = paired_difference(first, second)
    assert found.p_value > 0.5
    assert found.low < 0 < found.high


def test_the_result_is_reproducible_and_antisymmetric() -> None:
    first, second = [0.1 * (i % 9) for i in range(40)], [0.1 * (i % 7) for i in range(40)]
    one, again, swapped = (
        paired_difference(first, second),
        paired_difference(first, second),
        paired_difference(second, first),
    )
    assert one == again
    assert swapped.mean == pytest.approx(-one.mean)
    assert swapped.p_value == pytest.approx(one.p_value, abs=0.02)


@pytest.mark.parametrize("second", [1.0, 0.0])
def test_one_question_has_neither_interval_nor_test(second: float) -> None:
    found = paired_difference([1.0], [second])
    assert (found.mean, found.low, found.high, found.p_value, found.n) == (1.0 - second, None, None, None, 1)


def test_unpaired_values_are_refused() -> None:
    with pytest.raises(ValueError, match="same length"):
        paired_difference([1.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="at least 1"):
        paired_difference([], [])
