"""How far the graph channel leads, decided by what it brought and not by one constant.

Where notes are joined by the names they share, a walk from the question's names and best notes ends on few notes of
many documents: it concentrates, and finds second hops that no other channel sees. In manuals and handbooks, whose notes
share headings and product names, it spreads over whole documents and adds nothing to words and vectors. So the graph's
share of the weight is a logistic function of two signs of its list:

- log of its effective number of notes, exp(entropy of the scores): low where the walk concentrates;
- share of different documents among its first ten: 1 where notes are linked across documents.

Weights were fitted by how much the graph's list beats the other two on each question (nDCG@10);
`benchmarks/fit_evidence.py` fits them and judges each set with weights fitted on the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from theworld.ranking.fusion import Ranking

WEIGHTS = (8.09, -4.71, 6.22)
"""Of 1, of the log of the effective number of notes, and of the share of documents among the first ten."""
DEPTH = 50
"""Notes of the graph's list that are looked at."""
FIRST = 10
SHARING = ("sparse", "dense")
"""Channels that have what the graph leaves."""


def graph_share(hits: Ranking) -> float:
    """Return the share in [0, 1] of the weight that the graph channel's list earns; 0 for an empty one."""
    found = signs(hits)
    return 1 / (1 + math.exp(-sum(w * s for w, s in zip(WEIGHTS, found, strict=True)))) if found else 0.0


def signs(hits: Ranking) -> tuple[float, float, float] | None:
    """Return the signs that the share is a function of, None where the list has no positive score."""
    scores = [score for _, score in hits[:DEPTH] if score > 0]
    best = max(scores, default=0.0)
    if not best or not math.isfinite(best):
        return None
    total = math.fsum(score / best for score in scores)
    shares = (score / best / total for score in scores)
    entropy = -math.fsum(share * math.log(share) for share in shares if share)
    first = [note_id.rpartition("#")[0] for note_id, _ in hits[:FIRST]]
    return 1.0, entropy, len(set(first)) / len(first)


def channel_weights(
    planned: Mapping[str, float], rankings: Mapping[str, Ranking], recognised: float = 0.0
) -> dict[str, float]:
    """Return the weights by which the channels' lists are fused: the planned ones, shared by what the graph brought.

    The graph's counts times its share, words' and meaning's times the rest; the ontology's times the share of the
    question that it recognises. Where only the graph or none of it was asked, or it has no weight, their plan stands.
    """
    weights = {channel: planned.get(channel, 1.0) for channel in rankings}
    if "ontology" in weights and len(weights) > 1:
        weights["ontology"] *= recognised
    others = [channel for channel in SHARING if rankings.get(channel)]
    if "graph" not in rankings or not others or not weights["graph"]:
        return weights
    share = graph_share(rankings["graph"])
    shares = {"graph": share, **dict.fromkeys(SHARING, 1 - share)}
    return {channel: weight * shares.get(channel, 1.0) for channel, weight in weights.items()}
