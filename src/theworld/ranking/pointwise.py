"""Reranking one note at a time, in micro-batches with a look at the clock between them; here by a cross-encoder.

A note reached over a bridge is read together with the note it came from. By itself such a note looks irrelevant to the
question: scoring each note alone by token similarity took recall@5 on two-hop questions (2Wiki) from 94 to 71.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from theworld.deadline import Deadline, DeadlineExceededError
from theworld.models.cross_encoder_model import CrossEncoder
from theworld.ranking.contract import Outcome, Ranked, Reranking
from theworld.state import Candidate
from theworld.stores.protocols import GraphStore
from theworld.text import entity_key, fold, split_sentences

Score = Callable[[Sequence[str]], Sequence[float]]
"""Returns one relevance in [0, 1] a text; DeadlineExceededError when it would end too late."""


def sigmoid(logit: float) -> float:
    """Return 1 / (1 + exp(-logit)); NaN stays NaN."""
    return 0.5 * (1.0 + math.tanh(0.5 * logit))


def distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return each note once, where it stood first."""
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        first.setdefault(candidate.note_id, candidate)
    return list(first.values())


def rerank_in_batches(
    candidates: Sequence[Candidate],
    score: Score,
    graph: GraphStore,
    *,
    tenant: str,
    top_k: int,
    deadline: Deadline,
    batch_size: int,
) -> Reranking:
    """Return the candidates by relevance, each read with its bridge note; equal ones keep their order.

    No batch is begun that would not end in time if it took as long as the one before. What is scored is kept when it
    covers the first `top_k` candidates, whatever ended the scoring; the reason says which.
    """
    try:
        notes = distinct(candidates)
        texts = evidence_texts(notes, graph, tenant)
    except Exception as error:  # the contract: failures are an outcome
        return Reranking((), "error", f"failed, the fused order is kept: {type(error).__name__}: {error}")
    relevances: list[float] = []
    ended, took, asked = "", 0.0, len(notes)
    failure: Outcome = "timeout"
    while len(relevances) < asked and not ended:
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
    scored, needed = len(relevances), min(top_k, asked)
    if scored < needed:
        reason = f"{ended} after {scored} of {asked} candidates, {needed} needed; the fused order is kept"
        return Reranking((), failure, reason)
    order = sorted(range(scored), key=lambda i: (-relevances[i], i))
    ranked = tuple(Ranked(notes[i].note_id, relevances[i], relevances[i]) for i in order)
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


LinkedOver = dict[tuple[str, str], set[str]]
"""(Note id, entity key) -> the notes joined to it by that entity."""
LONGEST_BRIDGE = {"en": 600, "zh": 250}
"""Characters of a bridge note; of a longer one, the sentences that name the bridge, so that the note itself fits."""


def evidence_texts(candidates: Sequence[Candidate], graph: GraphStore, tenant: str) -> list[str]:
    """Return for each candidate its title and text, with its bridge note before it when it has one."""
    if not any(c.hop > 1 and c.bridge for c in candidates):
        return [passage(c) for c in candidates]
    linked: LinkedOver = {}
    for link in graph.links([c.note_id for c in candidates], tenant=tenant):
        for here, there in ((link.source, link.target), (link.target, link.source)):
            linked.setdefault((here, entity_key(link.via)), set()).add(there)
    return [_with_bridge(c, candidates, linked) for c in candidates]


def passage(candidate: Candidate) -> str:
    """Return title and text of a candidate."""
    return f"{candidate.title}\n{candidate.text}" if candidate.title else candidate.text


def _with_bridge(candidate: Candidate, candidates: Sequence[Candidate], linked: LinkedOver) -> str:
    """Return a candidate's text after that of the best one from which it was reached, of fewer hops, if there is one.

    The graph's links over the bridge entity count first; where it has none, the titles of the candidates.
    """
    if candidate.hop <= 1 or not candidate.bridge:
        return passage(candidate)
    key = entity_key(candidate.bridge)
    neighbours = linked.get((candidate.note_id, key), set())
    nearer = [c for c in candidates if c.hop < candidate.hop and c.note_id != candidate.note_id]
    by_link = (c for c in nearer if c.note_id in neighbours)
    by_title = (c for c in nearer if entity_key(c.title) == key)
    bridge = next(by_link, None) or next(by_title, None)
    if bridge is None:
        return passage(candidate)
    text, limit = bridge.text, LONGEST_BRIDGE["zh" if bridge.language == "zh" else "en"]
    if len(text) > limit:
        name = fold(candidate.bridge)
        naming = " ".join(s.text for s in split_sentences(text) if name in fold(s.text))
        text = (naming or text)[:limit]
    return f"{passage(bridge.model_copy(update={'text': text}))}\n{passage(candidate)}"


MICRO_BATCH = 8
"""Pairs scored between two looks at the clock."""


class CrossEncoderReranker:
    """One (question, evidence) pair at a time; evidence is the bridge note and the note where there is a bridge."""

    def __init__(self, model: CrossEncoder, graph: GraphStore, *, batch_size: int = MICRO_BATCH) -> None:
        self._model, self._graph = model, graph
        self._batch_size = batch_size

    @property
    def name(self) -> str:
        """The model's name."""
        return f"cross-encoder-{self._model.name}"

    def warm(self) -> None:
        """Load the weights now, so that no request pays for it; ModelError when they cannot be loaded."""
        self._model.logits("warm up", ["warm up"])

    def rerank(
        self, query: str, candidates: Sequence[Candidate], *, top_k: int, tenant: str, deadline: Deadline
    ) -> Reranking:
        """Return the candidates by relevance, as many as could be scored in time."""

        def score(texts: Sequence[str]) -> list[float]:
            return [sigmoid(float(logit)) for logit in self._model.logits(query, texts)]

        return rerank_in_batches(
            candidates, score, self._graph, tenant=tenant, top_k=top_k, deadline=deadline, batch_size=self._batch_size
        )
