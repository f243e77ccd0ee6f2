"""The deterministic judge: features of name, text, description and popularity, and the right to say "none".

A conditional logit over the candidates and "none", fitted by `benchmarks/fit_entities.py`. An embedder beside the
words, and the candidates of the text's other mentions, gained nothing on mentions not fitted on, and cost 40 ms a
question.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from theworld.entities.candidates import as_entry, readable
from theworld.entities.features import Features, features_of
from theworld.entities.mention import MentionInText
from theworld.entities.schema import REASON_NO_CANDIDATES, JudgedEntity, JudgeOutput
from theworld.state import ModelUsage


class Calibration(NamedTuple):
    """Platt scaling: confidence = sigmoid(slope * logit(probability) + offset)."""

    slope: float
    offset: float

    def confidence(self, probability: float) -> float:
        """Return how often a choice of this probability is right."""
        bounded = min(max(probability, 1e-9), 1 - 1e-9)
        return 1 / (1 + math.exp(-(self.slope * math.log(bounded / (1 - bounded)) + self.offset)))


class Weights(NamedTuple):
    """What was fitted, from `data/weights.json`, which says where it comes from."""

    none: float
    """Score of "none of these"."""
    features: Mapping[str, float]
    """Feature -> weight, those set by hand too; one that is left out weighs nothing."""
    calibration: Calibration
    min_confidence: float
    """Below this the judgement is "none of these"."""

    def probabilities(self, candidates: Sequence[Features]) -> list[float]:
        """Return P(candidate is meant) for each; what is missing to 1 is "none of these"."""
        scores = [math.fsum(w * getattr(one, name) for name, w in self.features.items()) for one in candidates]
        highest = max([self.none, *scores])
        parts = [math.exp(value - highest) for value in scores]
        total = math.fsum([math.exp(self.none - highest), *parts])
        return [part / total for part in parts]


@cache
def _weights() -> Weights:
    file = resources.files("theworld.entities").joinpath("data/weights.json")
    content = json.loads(file.read_text(encoding="utf-8"))
    by_hand = {name: float(entry["weight"]) for name, entry in content["by_hand"].items()}
    fitted = content["scorer"]
    calibration = Calibration(**content["calibration"])
    return Weights(fitted["none"], {**fitted["weights"], **by_hand}, calibration, content["min_confidence"])


class DeterministicJudge:
    """Judges without a language model: the same input gives the same judgement anywhere."""

    def __init__(self, *, min_confidence: float | None = None) -> None:
        self._weights = _weights()
        self._min_confidence = self._weights.min_confidence if min_confidence is None else min_confidence

    @property
    def usage(self) -> ModelUsage:
        """No language model is called."""
        return ModelUsage()

    def judge(
        self, entity: JudgedEntity, context: str, candidates: Sequence[Mapping[str, Any]], start: int | None = None
    ) -> JudgeOutput:
        """Return the best candidate, or that none fits, with the features that decided.

        `start` is where the mention stands in the text, where known; its first place otherwise.
        """
        candidates = list(filter(None, map(readable, candidates)))
        if not candidates:
            return JudgeOutput(entity=entity, reason=REASON_NO_CANDIDATES)
        mention = MentionInText.find(entity.label, context, start)
        features = features_of(mention, candidates, type_hint=entity.type_hint)
        probabilities = self._weights.probabilities(features)
        best = max(range(len(candidates)), key=lambda index: (round(probabilities[index], 9), -index))
        confidence = self._weights.calibration.confidence(probabilities[best])
        shown = [f"{name} {value:.2f}" for name, value in asdict(features[best]).items() if abs(value) >= 0.005]
        entry = f"{candidates[best].get('id')} {candidates[best].get('label') or ''}"
        reason = f"{entry}: {', '.join(shown)} (probability {probabilities[best]:.2f})"
        if confidence < self._min_confidence:
            return JudgeOutput(entity=entity, confidence=1.0 - confidence, reason=f"none fits; closest: {reason}")
        selection = as_entry(candidates[best])
        return JudgeOutput(entity=entity, matched=True, confidence=confidence, reason=reason, selection=selection)
