"""How often each way of answering is right: the confidence that is shown with an entity answer.

`benchmarks/answers.py` counts right answers by method. The shares below are (right + 1) / (answered + 2) over
hotpotqa-dev200, hotpotqa-train100 and 2wiki-train500, so that few cases say little; a method never seen there keeps
what its number of steps suggests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from theworld.nodes.answer_with_entity.notes import sigmoid

CONFIDENCE: Mapping[str, float] = {
    "same country": 0.99,
    "order of birth": 0.91,
    "order of death": 0.93,
    "order of beginning": 0.93,
    "lifetime": 0.5,
    "amount": 0.78,
    "measure": 0.78,
    "statement": 0.78,
    "kind in common": 0.33,
    "chain of 1": 0.94,
    "chain of 2": 0.89,
    "chain of 3": 0.7,
    "deed": 0.8,
    "ontology fact": 0.85,
}
"""Method -> probability that its answer is right."""

SPAN = (-1.1, 0.56, 0.9)
"""A span is right with sigmoid(a + b * logit(share) + c * grounding); logistic regression on every second question of
drcd-zh-dev. Expected calibration error out of fold 0.08 (0.27 with the share alone)."""


def span_confidence(share: float, grounded: float) -> float:
    """Return the probability that a best span with this share of the softmax and this grounding is the answer."""
    odds = math.log(max(share, 1e-9) / max(1 - share, 1e-4))
    return sigmoid(SPAN[0] + SPAN[1] * odds + SPAN[2] * grounded)
