"""Fit the deterministic judge's weights on mentions with candidates, and say what they are worth on unseen documents.

    python benchmarks/fit_entities.py MENTIONS.jsonl            cross-validation only
    python benchmarks/fit_entities.py MENTIONS.jsonl --write    replaces src/theworld/entities/data/weights.json

Each line: {"bench", "doc", "mention", "context", "gold": "Q...", "candidates": [{"id", "label", "description"}]}.

Every mention is used twice: with its candidates, and without the right one, when "none of these" is right. A
conditional logit over candidates and "none" is fitted with L2 and with the sign each feature must have (`SIGNS`). The
strength of L2 is chosen in an inner cross-validation,
Platt scaling and threshold on the outcomes of the other folds; a document is never in training and test. As 231
mentions have but 101 entries, figures are also given with all mentions of an entry held out together. The threshold
gives "none" to `NIL_SHARE` of the mentions without their entry. Calibration counts these as `ABSENT` of all mentions.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from quality_measures.calibration import calibration_error
from scipy.optimize import minimize

from theworld.entities.judge import Calibration, features_of
from theworld.entities.judging import types_of
from theworld.entities.mention import MentionInText
from theworld.evaluation.datasets import read_lines
from theworld.models.taggers import SpacyTagger

Array = NDArray[np.float64]

TARGET = Path(__file__).resolve().parents[1] / "src" / "theworld" / "entities" / "data" / "weights.json"
SIGNS = {"lacks_head": -1, "common": -1}
"""Features that may only speak against a candidate; the others may only speak for it."""
NAMES = "name close description popularity case topic common lacks_head refers office team type namesake".split()
STRENGTHS = (4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
LEAST_SPREAD = 0.05
FOLDS, INNER_FOLDS, SEEDS = 5, 4, (0, 1, 2, 3, 4)
NIL_SHARE = 0.72
FRONTIER = (0.5, 0.6, 0.7, 0.8, 0.9)
ABSENT = 0.2
BY_HAND = {
    "apposed": {"weight": 2.0, "why": "too rare among the mentions fitted on"},
    "class_noun": {"weight": -2.0, "why": "right in none of 34 cases fitted on, which the penalty of size hides"},
    "page": {"weight": -4.0, "why": "no such entries among the candidates fitted on"},
}


@dataclass(frozen=True)
class Case:
    """One mention with one list of candidates."""

    group: str
    """The document; all its mentions are in one fold."""
    entity: str
    """The right entry."""
    table: Array
    """Shape (candidates, features), as NAMES."""
    gold: int
    """Index of the right candidate, -1 for none."""


@dataclass(frozen=True)
class Outcome:
    """What the judge would choose for a case of a fold it was not fitted on."""

    fold: int
    present: bool
    right: bool
    probability: float


def read_cases(path: Path) -> list[Case]:
    """Return two cases a mention: with and without its entry. Its type is what the graph's tagger says in its text."""
    rows = [json.loads(line) for _, line in read_lines(path)]
    cases = []
    for row, tagged in zip(rows, SpacyTagger().tag([row["context"] for row in rows]), strict=True):
        hint = types_of(tagged).get(row["mention"])
        mention = MentionInText.find(row["mention"], row["context"], row.get("mention_offset"))
        without = [item for item in row["candidates"] if item["id"] != row["gold"]]
        for candidates in (row["candidates"], without):
            features = [asdict(features_of(mention, candidate, hint)) for candidate in candidates]
            gold = next((i for i, item in enumerate(candidates) if item["id"] == row["gold"]), -1)
            table = np.array([[item[name] for name in NAMES] for item in features])
            cases.append(Case(f"{row['bench']}/{row['doc']}", row["gold"], table, gold))
    return cases


def probabilities(fitted: Array, table: Array) -> Array:
    """Return P(candidate), shape (candidates,); what is missing to 1 is none."""
    scores = np.concatenate([fitted[:1], table @ fitted[1:]])
    parts = np.exp(scores - scores.max())
    return np.asarray(parts[1:] / parts.sum())


def fit(tables: Sequence[tuple[Array, int]], strength: float) -> Array:
    """Return (none, weights) of the conditional logit with signs, and L2 on the weights in units of their spread."""
    stacked = np.vstack([table for table, _ in tables])
    spread = np.maximum(stacked.std(axis=0), LEAST_SPREAD)
    stacked = stacked / spread
    sizes = np.array([len(table) for table, _ in tables])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    owner = np.repeat(np.arange(len(sizes)), sizes)
    gold = np.array([index for _, index in tables])
    chosen = (starts + gold)[gold >= 0]

    def loss(point: Array) -> tuple[float, Array]:
        scores = stacked @ point[1:]
        highest = np.maximum(np.maximum.reduceat(scores, starts), point[0])
        parts, none = np.exp(scores - highest[owner]), np.exp(point[0] - highest)
        total = np.add.reduceat(parts, starts) + none
        stated = np.full(len(sizes), point[0])
        stated[gold >= 0] = scores[chosen]
        value = -(stated - highest - np.log(total)).sum() + strength * (point[1:] ** 2).sum() / 2
        slope = stacked.T @ (parts / total[owner]) - stacked[chosen].sum(0) + strength * point[1:]
        return float(value), np.concatenate([[(none / total).sum() - (gold < 0).sum()], slope])

    bounds = [(None, None)] + [(None, 0) if SIGNS.get(name) == -1 else (0, None) for name in NAMES]
    start = np.zeros(len(NAMES) + 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return np.concatenate([found[:1], found[1:] / spread])


def fit_cases(cases: Sequence[Case]) -> Array:
    """Fit with the strength that suits the cases."""
    tables = [(case.table, case.gold) for case in cases]
    return fit(tables, best_strength(tables, folds_of(cases, INNER_FOLDS, 7)))


def folds_of(cases: Sequence[Case], count: int, seed: int, by: str = "group") -> list[int]:
    """Return the fold of every case; a document (or the mentions of an entry, `by` "entity") is in one fold."""
    groups = sorted({getattr(case, by) for case in cases})
    random.Random(seed).shuffle(groups)
    fold = {group: place % count for place, group in enumerate(groups)}
    return [fold[getattr(case, by)] for case in cases]


def best_strength(tables: Sequence[tuple[Array, int]], folds: Sequence[int]) -> float:
    """Return the greatest strength of L2 that chooses as well in unseen documents as the best one, within one standard
    error of their difference over the inner folds (the one-standard-error rule of Breiman et al. 1984).

    The measure is the frontier's mean. Likelihood would ask for weights so large that they fit the features' noise.
    """
    rights = {strength: _rightness(tables, folds, strength) for strength in STRENGTHS}
    best = rights[max(STRENGTHS, key=lambda strength: rights[strength].mean())]
    losses = {strength: best - found for strength, found in rights.items()}
    return max(s for s, loss in losses.items() if loss.mean() <= loss.std(ddof=1) / math.sqrt(len(loss)) + 1e-12)


def _rightness(tables: Sequence[tuple[Array, int]], folds: Sequence[int], strength: float) -> Array:
    """Return the mean of the frontier in every inner fold, judged by weights of the others; shape (INNER_FOLDS,)."""
    outcomes = []
    for held in range(INNER_FOLDS):
        point = fit([known for known, fold in zip(tables, folds, strict=True) if fold != held], strength)
        for (table, gold), fold in zip(tables, folds, strict=True):
            if fold == held:
                found = probabilities(point, table)
                best = int(np.argmax(np.round(found, 9)))
                outcomes.append(Outcome(held, gold >= 0, best == gold, float(found[best])))
    absent = [o.probability for o in outcomes if not o.present]
    return np.array(
        [
            np.mean(list(accuracies([o for o in outcomes if o.present and o.fold == held], absent).values()))
            for held in range(INNER_FOLDS)
        ]
    )


def outcomes_of(cases: Sequence[Case], seed: int, by: str = "group") -> list[Outcome]:
    """Return the outcome of every case, judged by weights fitted on other documents (or other entries)."""
    found: list[Outcome | None] = [None] * len(cases)
    folds = folds_of(cases, FOLDS, seed, by)
    for held in range(FOLDS):
        train = [case for case, fold in zip(cases, folds, strict=True) if fold != held]
        fitted = fit_cases(train)
        for index, (case, fold) in enumerate(zip(cases, folds, strict=True)):
            if fold == held:
                stated = probabilities(fitted, case.table)
                best = int(np.argmax(np.round(stated, 9)))
                found[index] = Outcome(held, case.gold >= 0, best == case.gold, float(stated[best]))
    return [outcome for outcome in found if outcome is not None]


def calibrate(outcomes: Sequence[Outcome]) -> Calibration:
    """Return Platt scaling; mentions without their entry count as a share of `ABSENT`."""
    logits = np.array([np.log(o.probability / (1 - o.probability)) for o in outcomes])
    right = np.array([float(o.right and o.present) for o in outcomes])
    weight = np.array([1 - ABSENT if o.present else ABSENT for o in outcomes])

    def loss(point: Array) -> float:
        scores = point[0] * logits + point[1]
        return float((weight * (np.logaddexp(0, scores) - right * scores)).sum())

    slope, offset = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead").x
    return Calibration(float(slope), float(offset))


def threshold(outcomes: Sequence[Outcome]) -> float:
    """Return the probability below which `NIL_SHARE` of the mentions without their entry lie."""
    return float(np.quantile([o.probability for o in outcomes if not o.present], NIL_SHARE))


def accuracies(present: Sequence[Outcome], absent: Sequence[float]) -> dict[float, float]:
    """Return share of "none" without the entry -> accuracy, "none" allowed, at the threshold that gives that share."""
    limits = {share: np.quantile(absent, share) for share in FRONTIER}
    return {share: float(np.mean([o.right and o.probability >= x for o in present])) for share, x in limits.items()}


def frontier(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return the accuracies at all shares, by the names of figures."""
    found = accuracies([o for o in outcomes if o.present], [o.probability for o in outcomes if not o.present])
    return {f"accuracy at {share:.0%} none": accuracy for share, accuracy in found.items()}


def validate(cases: Sequence[Case], by: str = "group") -> dict[str, float]:
    """Return figures of documents (or entries) not fitted on, means over the seeds."""
    figures: dict[str, list[float]] = {}
    for seed in SEEDS:
        outcomes = outcomes_of(cases, seed, by)
        accepted: list[tuple[Outcome, float]] = []
        for held in range(FOLDS):
            others = [o for o in outcomes if o.fold != held]
            calibration, limit = calibrate(others), threshold(others)
            accepted += [
                (o, calibration.confidence(o.probability) if o.probability >= limit else -1.0)
                for o in outcomes
                if o.fold == held
            ]
        present = [(o, c) for o, c in accepted if o.present]
        absent = [c for o, c in accepted if not o.present]
        matched = [(c, o.right) for o, c in present if c >= 0]
        both = [*matched, *((c, False) for c in absent if c >= 0)]
        counts = [1 - ABSENT] * len(matched) + [ABSENT] * (len(both) - len(matched))
        for name, value in {
            "accuracy, none allowed": float(np.mean([o.right and c >= 0 for o, c in present])),
            "accuracy, none forbidden": float(np.mean([o.right for o, _ in present])),
            "none when the entry is removed": float(np.mean([c < 0 for c in absent])),
            "calibration error of matches": calibration_error(matched),
            f"the same, {ABSENT:.0%} without entry": calibration_error(both, weights=counts),
            **frontier(outcomes),
        }.items():
            figures.setdefault(name, []).append(float(value))
    return {name: round(float(np.mean(values)), 3) for name, values in figures.items()}


def stored(cases: Sequence[Case], figures: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Return the content of weights.json."""
    fitted = fit_cases(cases)
    outcomes = [outcome for seed in SEEDS for outcome in outcomes_of(cases, seed)]
    calibration = calibrate(outcomes)
    return {
        "provenance": {
            "made_by": "benchmarks/fit_entities.py",
            "fitted_on": f"{len(cases) // 2} English mentions with candidates of public entity-linking benchmarks "
            "(ELEVANT's collection, Apache-2.0), which are not part of this project",
            "method": "conditional logit with 'none', L2 by cross-validation on standardised features, signs fixed",
            "cross_validated": figures,
        },
        "scorer": {
            "none": round(float(fitted[0]), 3),
            "weights": {name: round(float(value), 3) for name, value in zip(NAMES, fitted[1:], strict=True)},
        },
        "by_hand": BY_HAND,
        "calibration": {"slope": round(calibration.slope, 3), "offset": round(calibration.offset, 3)},
        "min_confidence": round(calibration.confidence(threshold(outcomes)), 3),
    }


def main(say: Callable[[str], None] = print) -> None:
    """Cross-validate, and write the weights where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mentions", type=Path, help="file of mentions with candidates")
    parser.add_argument("--write", action="store_true", help=f"replace {TARGET.name}")
    arguments = parser.parse_args()
    cases = read_cases(arguments.mentions)
    figures = {
        "by document": validate(cases),
        "by entry": validate(cases, by="entity"),
    }
    for name, values in figures.items():
        say(f"{name}, not fitted on:")
        for measure, value in values.items():
            say(f"  {measure:32} {value:.3f}")
    if arguments.write:
        content = json.dumps(stored(cases, figures), ensure_ascii=False, indent=1)
        TARGET.write_text(content + "\n", encoding="utf-8")
        say(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
