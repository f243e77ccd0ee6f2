"""What an entity answer's numbers were computed from, so that each of them can be computed again."""

from __future__ import annotations

from pydantic import Field

from theworld.state.candidates import Value


class EvidencePart(Value):
    """What one note gave to one entity: weight = score * decay * (1 + beta * coverage + gamma * consistency)."""

    note_id: str = Field(description="The note")
    score: float = Field(description="Its final score, in [0, 1]")
    decay: float = Field(description="Hop decay ** (hop - 1)")
    coverage: float = Field(description="Share of the path's entities that it has")
    consistency: int = Field(description="1 if its text names any of them")
    weight: float = Field(description="Their product")


class EntityEvidence(Value):
    """One entity's place in EFSA: score = sum of the parts' weights * diversity."""

    rank: int = Field(ge=1, description="From 1")
    key: str = Field(description="Identity key")
    name: str = Field(description="Name as first written")
    score: float = Field(description="All evidence for it")
    diversity: float = Field(description="1 + epsilon * min(documents - 1, most)")
    documents: int = Field(description="Documents that name it")
    parts: tuple[EvidencePart, ...] = Field(description="By note, in the order of the evidence")


class AnswerScores(Value):
    """Numbers behind an entity answer by EFSA: share = best / sum of all scores, margin = (best - second) / best."""

    share: float = Field(description="The answer's share of all evidence")
    margin: float = Field(description="Its margin to the runner-up; 1 without one")
    efsa: dict[str, float] = Field(description="EFSA's constants: hop_decay, beta, gamma, epsilon, most")
    entities: tuple[EntityEvidence, ...] = Field(description="EFSA's first entities, the answer first")
    ranked: int = Field(description="Entities that EFSA ranked")
