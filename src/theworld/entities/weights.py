"""The judge's fitted numbers, read from `data/weights.json`, which says where they come from.

`python benchmarks/fit_entities.py MENTIONS.jsonl --write` makes them again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from theworld.entities.features import Features


@dataclass(frozen=True, slots=True)
class Scorer:
    """A conditional logit over the candidates and "none of these"."""

    none: float
    """Score of "none of these"."""
    weights: Mapping[str, float]
    """Feature -> weight; one that is left out weighs nothing."""

    def score(self, features: Features) -> float:
        """Return the weighted sum of the features."""
        return math.fsum(weight * getattr(features, name) for name, weight in self.weights.items())

    def probabilities(self, features: Sequence[Features]) -> list[float]:
        """Return P(candidate is meant) for each; what is missing to 1 is "none of these"."""
        scores = [self.score(item) for item in features]
        highest = max([self.none, *scores])
        parts = [math.exp(value - highest) for value in scores]
        total = math.fsum([math.exp(self.none - highest), *parts])
        return [part / total for part in parts]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Platt scaling: confidence = sigmoid(slope * logit(probability) + offset)."""

    slope: float
    offset: float

    def confidence(self, probability: float) -> float:
        """Return how often a choice of this probability is right."""
        bounded = min(max(probability, 1e-9), 1 - 1e-9)
        return 1 / (1 + math.exp(-(self.slope * math.log(bounded / (1 - bounded)) + self.offset)))


@dataclass(frozen=True, slots=True)
class Weights:
    """Everything that was fitted."""

    scorer: Scorer
    calibration: Calibration
    min_confidence: float
    """Below this the judgement is "none of these"."""


@cache
def load_weights() -> Weights:
    """Return the fitted weights, those set by hand added."""
    file = resources.files("theworld.entities").joinpath("data/weights.json")
    content = json.loads(file.read_text(encoding="utf-8"))
    by_hand = {name: float(entry["weight"]) for name, entry in content["by_hand"].items()}
    return Weights(
        scorer=Scorer(content["scorer"]["none"], {**content["scorer"]["weights"], **by_hand}),
        calibration=Calibration(**content["calibration"]),
        min_confidence=content["min_confidence"],
    )
