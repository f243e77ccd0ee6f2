"""The contract of every reranker: order kept on failure, partial results only when they cover the top, said which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from theworld.deadline import Deadline
from theworld.state import Candidate, ScoreScale

Outcome = Literal["complete", "partial", "timeout", "error"]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One candidate as the reranker put it."""

    note_id: str
    score: float
    """The reranker's own score; never increases down the list."""
    relevance: float
    """The same as a relevance in [0, 1]."""
    covered: float | None = None
    """How much of the query this note and all before it cover, in [0, 1]; None where the reranker cannot tell."""


@dataclass(frozen=True, slots=True)
class Reranking:
    """What a reranker made of the candidates."""

    ranked: tuple[Ranked, ...]
    """Best first; empty on timeout and error."""
    outcome: Outcome
    """`partial`: the deadline cut it short, but at least the top K were scored."""
    reason: str = ""
    """Why it is not complete; empty when it is."""


class Reranker(Protocol):
    """Orders candidates by how well they answer a query."""

    @property
    def name(self) -> str:
        """Name and version, logged with every score."""

    @property
    def scale(self) -> ScoreScale:
        """The scale its scores are on."""

    def rerank(
        self, query: str, candidates: Sequence[Candidate], *, top_k: int, tenant: str, deadline: Deadline
    ) -> Reranking:
        """Return an order of the candidates, which have no mentions yet. Never raises: failures are an outcome."""
