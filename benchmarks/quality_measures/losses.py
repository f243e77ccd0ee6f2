"""Where a stage of retrieval finds less than one before it gave."""

from __future__ import annotations

from dataclasses import dataclass

from theworld.evaluation.retrieval import CHANNELS, RetrievalReport

LOSS_DEPTHS = (2, 5, 10)
"""Depths at which no stage may lose what it was given."""
FUSION_MAY_LOSE = 0.01
"""What fused lists may lie below the best channel, for what reranking then gains."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A stage that lies below one before it."""

    stage: str
    over: str
    metric: str
    points: float
    """By how much, a share > 0."""


def losses(report: RetrievalReport) -> list[Loss]:
    """Return where fusion lies more than a point below the best channel, or reranking below fusion or any channel."""
    found = []
    for stage, before, allowed in (("fused", CHANNELS, FUSION_MAY_LOSE), ("reranked", (*CHANNELS, "fused"), 0.0)):
        for metric in (f"recall@{depth}" for depth in LOSS_DEPTHS):
            means = {name: report.mean(name, metric) for name in before}
            over = max(means, key=means.__getitem__)
            points = means[over] - report.mean(stage, metric)
            if points > allowed + 1e-9:
                found.append(Loss(stage, over, metric, points))
    return found
