from __future__ import annotations

import itertools

import pytest

from theworld.evaluation.metrics import paired_difference


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


def test_unpaired_values_are_refused() -> None:
    with pytest.raises(ValueError, match="same length"):
        paired_difference([1.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="at least 1"):
        paired_difference([], [])
