"""Scoring one candidate at a time, in micro-batches, with a look at the clock between them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from theworld.deadline import Deadline, DeadlineExceededError
from theworld.nodes.rerank_candidates.contract import Outcome, Ranked, Reranking
from theworld.state import Candidate

Score = Callable[[Sequence[str]], Sequence[float]]
"""Returns one relevance in [0, 1] a text; DeadlineExceededError when it would end too late."""


def sigmoid(logit: float, temperature: float) -> float:
    """Return 1 / (1 + exp(-logit / temperature)); NaN stays NaN."""
    return 0.5 * (1.0 + math.tanh(0.5 * logit / temperature))


def distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return each note once, where it stood first."""
    return list({candidate.note_id: candidate for candidate in reversed(candidates)}.values())[::-1]


def rerank_in_batches(
    candidates: Sequence[Candidate],
    texts: Sequence[str],
    score: Score,
    *,
    top_k: int,
    deadline: Deadline,
    batch_size: int,
) -> Reranking:
    """Return the candidates by relevance; equal ones keep their order.

    No batch is begun that would not end in time if it took as long as the one before. What is scored is kept when it
    covers the first `top_k` candidates, whatever ended the scoring; the reason says which.
    """
    relevances: list[float] = []
    ended, took = "", 0.0
    failure: Outcome = "timeout"
    while len(relevances) < len(candidates) and not ended:
        if deadline.remaining_ms() <= took:
            ended = "out of time"
            break
        batch = texts[len(relevances) : len(relevances) + batch_size]
        begun = time.perf_counter()
        try:
            relevances += checked_scores(score(batch), len(batch))
        except DeadlineExceededError:
            ended = "out of time"
        except Exception as error:  # the contract: failures are an outcome
            ended, failure = f"failed: {type(error).__name__}: {error}", "error"
        took = (time.perf_counter() - begun) * 1000
    return _concluded(candidates, relevances, ended, failure, top_k)


def _concluded(
    candidates: Sequence[Candidate], relevances: Sequence[float], ended: str, failure: Outcome, top_k: int
) -> Reranking:
    scored, asked = len(relevances), len(candidates)
    if scored < min(top_k, asked):
        reason = f"{ended} after {scored} of {asked} candidates, {min(top_k, asked)} needed; the fused order is kept"
        return Reranking((), failure, reason)
    order = sorted(range(scored), key=lambda i: (-relevances[i], i))
    ranked = tuple(Ranked(candidates[i].note_id, relevances[i], relevances[i]) for i in order)
    if not ended:
        return Reranking(ranked, "complete")
    return Reranking(ranked, "partial", f"{ended} after {scored} of {asked}; the others follow in fused order")


def checked_scores(scores: Sequence[float], expected: int) -> list[float]:
    """Return the scores as floats; ValueError when they are not one relevance in [0, 1] for each text."""
    if len(scores) != expected:
        raise ValueError(f"{len(scores)} scores for {expected} texts")
    found = [float(score) for score in scores]
    wrong = next((score for score in found if not 0.0 <= score <= 1.0), None)
    if wrong is not None:
        raise ValueError(f"a score of {wrong} is no relevance in [0, 1]")
    return found
