"""Reranking by a cross-encoder that reads the question and the evidence together."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.deadline import Deadline
from theworld.models.cross_encoder_model import CrossEncoder
from theworld.nodes.rerank_candidates.bridge_text import evidence_texts
from theworld.nodes.rerank_candidates.contract import Reranking
from theworld.nodes.rerank_candidates.micro_batches import distinct, rerank_in_batches, sigmoid
from theworld.state import Candidate, ScoreScale
from theworld.stores.protocols import GraphStore

MICRO_BATCH = 8
"""Pairs scored between two looks at the clock."""


class CrossEncoderReranker:
    """One (question, evidence) pair at a time; evidence is the bridge note and the note where there is a bridge."""

    def __init__(
        self, model: CrossEncoder, graph: GraphStore, *, temperature: float = 1.0, batch_size: int = MICRO_BATCH
    ) -> None:
        self._model, self._graph = model, graph
        self._temperature, self._batch_size = temperature, batch_size

    @property
    def name(self) -> str:
        """The model's name."""
        return f"cross-encoder-{self._model.name}"

    @property
    def scale(self) -> ScoreScale:
        """Relevance in [0, 1]: the sigmoid of the logit over the temperature; a probability only if that was fitted."""
        return "unit"

    def warm(self) -> None:
        """Load the weights now, so that no request pays for it; ModelError when they cannot be loaded."""
        self._model.logits("warm up", ["warm up"])

    def rerank(
        self, query: str, candidates: Sequence[Candidate], *, top_k: int, tenant: str, deadline: Deadline
    ) -> Reranking:
        """Return the candidates by relevance, as many as could be scored in time."""

        def score(texts: Sequence[str]) -> list[float]:
            return [sigmoid(float(logit), self._temperature) for logit in self._model.logits(query, texts)]

        try:
            notes = distinct(candidates)
            texts = evidence_texts(notes, self._graph, tenant)
        except Exception as error:  # the contract: failures are an outcome
            return Reranking((), "error", f"failed, the fused order is kept: {type(error).__name__}: {error}")
        return rerank_in_batches(notes, texts, score, top_k=top_k, deadline=deadline, batch_size=self._batch_size)
