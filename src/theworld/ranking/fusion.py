"""Fusion of the channels' ranked lists: points by channel are weighted, summed by note, ties ordered by note id.

`fuse` gives points by rank (weighted reciprocal rank fusion: Cormack, Clarke and Buettcher, SIGIR 2009), `fuse_minmax`
by the scores, made comparable within each list by its range: unlike ranks, scores say by how much one note beats the
next. What a channel does not list counts 0.

How far the graph channel leads is decided by what it brought and not by one constant. Where notes are joined by the
names they share, a walk from the question's names and best notes ends on few notes of many documents: it concentrates,
and finds second hops that no other channel sees. In manuals and handbooks, whose notes share headings and product
names, it spreads over whole documents and adds nothing to words and vectors. So the graph's share of the weight is a
logistic function of two signs of its list:

- log of its effective number of notes, exp(entropy of the scores): low where the walk concentrates; where few notes
  were found at all, every list is short, and that number is taken as a share of them;
- share of different documents among its first ten: 1 where notes are linked across documents.

Its weights were fitted by how much the graph's list beats the other two on each question (nDCG@10);
`benchmarks/fit_evidence.py` fits them and judges each set with weights fitted on the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from theworld.state import ChannelHit

Ranking = Sequence[tuple[str, float]]
"""(note id, score) of one channel, best first."""
RRF_K = 60
"""Ranks count from 1; the paper's constant, which its authors found hardly to matter."""
Points = Callable[[str, Ranking], Sequence[float]]
"""What each place of a channel's list is worth before its weight: channel, its distinct hits -> one number a hit."""


@dataclass(frozen=True, slots=True)
class Fused:
    """One note after fusion, with where every channel put it."""

    note_id: str
    score: float
    channels: dict[str, ChannelHit]


def combine(
    rankings: Mapping[str, Ranking],
    weights: Mapping[str, float] | None,
    points: Points,
    *,
    depths: Mapping[str, int] | None = None,
) -> list[Fused]:
    """Return the notes of all channels by the weighted sum of their points.

    A note repeated in one list counts at its best place. A channel without a weight counts 1; with weight 0, or beyond
    its depth in `depths`, a rank is kept as provenance and adds no score. The order of channels does not matter.
    Raises ValueError for a weight that is negative or no number, and what `points` raises.
    """
    weights, depths = weights or {}, depths or {}
    if not all(0 <= weight < float("inf") for weight in weights.values()):
        raise ValueError(f"weights must be finite numbers >= 0, got {dict(weights)}")
    scores: dict[str, float] = {}
    hits: dict[str, dict[str, ChannelHit]] = {}
    for channel in sorted(rankings):
        best: dict[str, float] = {}
        for note_id, score in rankings[channel]:
            best.setdefault(note_id, score)
        distinct = list(best.items())
        for rank, (note_id, score) in enumerate(distinct, start=1):
            hits.setdefault(note_id, {})[channel] = ChannelHit(rank=rank, score=score)
        weight, counted = weights.get(channel, 1.0), distinct[: depths.get(channel, len(distinct))]
        values = points(channel, counted) if weight and counted else ()
        for (note_id, _), value in zip(counted, values, strict=False):
            scores[note_id] = scores.get(note_id, 0.0) + weight * value
    order = sorted(hits, key=lambda note_id: (-scores.get(note_id, 0.0), note_id))
    return [Fused(note_id=note_id, score=scores.get(note_id, 0.0), channels=hits[note_id]) for note_id in order]


def fuse(
    rankings: Mapping[str, Ranking],
    weights: Mapping[str, float] | None = None,
    *,
    k: int = RRF_K,
    depths: Mapping[str, int] | None = None,
) -> list[Fused]:
    """Return the notes of all channels by the sum of weight / (k + rank); see `combine` for weights and depths.

    Raises ValueError for k < 1 or a negative weight.
    """
    if k < 1:
        raise ValueError(f"k must be >= 1, got k={k}")
    return combine(
        rankings, weights, lambda _, hits: [1 / (k + rank) for rank in range(1, len(hits) + 1)], depths=depths
    )


def fuse_minmax(
    rankings: Mapping[str, Ranking],
    weights: Mapping[str, float] | None = None,
    *,
    depths: Mapping[str, int] | None = None,
) -> list[Fused]:
    """Return the notes by the weighted sum of (score - least) / (greatest - least); 1 where all scores are the same.

    See `combine` for weights and depths; least and greatest are of what counts. Raises ValueError, with the channel
    and the note, for a score that is not finite.
    """
    return combine(rankings, weights, _points, depths=depths)


def _points(channel: str, hits: Ranking) -> list[float]:
    wrong = next((note for note, score in hits if not math.isfinite(score)), None)
    if wrong is not None:
        raise ValueError(f"the {channel} channel scored the note {wrong!r} with no finite number")
    # Divided by the greatest, no difference of what is finite can overflow.
    scale = max(abs(score) for _, score in hits) or 1.0
    return min_max([score / scale for _, score in hits])


def min_max(scores: Sequence[float]) -> list[float]:
    """Return scores scaled to [0, 1], the least to 0 and the greatest to 1."""
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) for score in scores] if high > low else [1.0] * len(scores)


SHARE_WEIGHTS = (8.09, -4.71, 6.22)
"""Of 1, of the log of the effective number of notes, and of the share of documents among the first ten."""
DEPTH = 50
"""Notes of the graph's list that are looked at."""
FIRST = 10
SHARING = ("sparse", "dense")
"""Channels that have what the graph leaves."""


def graph_share(hits: Ranking, found: int = DEPTH) -> float:
    """Return the share in [0, 1] of the weight that the graph channel's list earns; 0 for an empty one.

    `found` is how many notes all channels found.
    """
    seen = signs(hits, found)
    return 1 / (1 + math.exp(-sum(w * s for w, s in zip(SHARE_WEIGHTS, seen, strict=True)))) if seen else 0.0


def signs(hits: Ranking, found: int = DEPTH) -> tuple[float, float, float] | None:
    """Return the signs that the share is a function of, None where the list has no positive score."""
    scores = [score for _, score in hits[:DEPTH] if score > 0]
    best = max(scores, default=0.0)
    if not best or not math.isfinite(best):
        return None
    total = math.fsum(score / best for score in scores)
    shares = (score / best / total for score in scores)
    entropy = -math.fsum(share * math.log(share) for share in shares if share)
    entropy += math.log(DEPTH / max(min(found, DEPTH), 1))
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
    share = graph_share(rankings["graph"], len({note_id for hits in rankings.values() for note_id, _ in hits}))
    shares = {"graph": share, **dict.fromkeys(SHARING, 1 - share)}
    return {channel: weight * shares.get(channel, 1.0) for channel, weight in weights.items()}
