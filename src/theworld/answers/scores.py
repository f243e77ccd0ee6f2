"""From rankings to the numbers that go on record with an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from theworld.answers import efsa
from theworld.answers.confidence import SIGNS
from theworld.answers.confidence import WEIGHTS as SIGN_WEIGHTS
from theworld.answers.efsa import EfsaTrace, EntityScore
from theworld.answers.spans import WEIGHTS, ScoredSpan, share_and_margin
from theworld.state import AnswerScores, Candidate, EntityEvidence, EvidencePart, SpanScore

ENTITIES = 5
"""Entities kept of EFSA's ranking, besides the answer's own."""


def answer_scores(
    ranking: Sequence[ScoredSpan],
    key: str,
    signs: Sequence[float],
    trace: EfsaTrace,
    evidence: Sequence[Candidate],
) -> AnswerScores:
    """Return what the best span's numbers follow from; `key` is its entity's for EFSA."""
    share, margin = share_and_margin(ranking)
    shown = [
        _entity(rank, entity, evidence)
        for rank, entity in enumerate(trace.ranking, start=1)
        if rank <= ENTITIES or entity.key == key
    ]
    return AnswerScores(
        weights=asdict(WEIGHTS),
        spans=tuple(
            SpanScore(
                text=span.text, note_id=evidence[span.note].note_id, features=asdict(span.features), score=span.score
            )
            for span in ranking[:2]
        ),
        span_scores=tuple(span.score for span in ranking),
        share=share,
        margin=margin,
        signs=dict(zip(SIGNS, signs, strict=True)),
        sign_weights=dict(zip(SIGNS, SIGN_WEIGHTS, strict=True)),
        efsa={
            "hop_decay": efsa.HOP_DECAY,
            "beta": efsa.COV_WEIGHT,
            "gamma": efsa.CONS_WEIGHT,
            "epsilon": efsa.DIVERSITY_REWARD,
            "most": efsa.MAX_FURTHER_DOCUMENTS,
        },
        entities=tuple(shown),
        ranked=len(trace.ranking),
    )


def _entity(rank: int, entity: EntityScore, evidence: Sequence[Candidate]) -> EntityEvidence:
    return EntityEvidence(
        rank=rank,
        key=entity.key,
        name=entity.name,
        score=entity.score,
        diversity=entity.diversity,
        documents=entity.documents,
        parts=tuple(
            EvidencePart(
                note_id=evidence[part.note].note_id,
                score=part.score,
                decay=part.decay,
                coverage=part.coverage,
                consistency=part.consistency,
                weight=part.weight,
            )
            for part in entity.contributions
        ),
    )
