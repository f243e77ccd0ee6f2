"""What can be tuned about the graph's ranking."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RankingParameters:
    """Weights and limits of personalised PageRank, links and paths."""

    restart: float = 0.15
    """Probability in (0, 1] of going back to the seeds at each step; a hop from note to note takes two steps."""
    title_weight: float = 1.0
    """Weight of an edge between an entity and what has it as its title, > 0."""
    shared_weight: float = 0.2
    """Weight, times the rarity, of an edge between an entity and a note that mentions it, > 0."""
    fewest: int = 2
    """An entity named by fewer notes joins nothing and is left out."""
    most: int = 50
    """An entity named by more notes is a hub: it is left out, or, when it is a title, leads only to what it titles."""
    whole: int = 400_000
    """Edges of a graph up to which it is solved as a whole, which is then faster and a hundred times as exact."""
    tolerance: float = 1e-6
    """Probability below which the walk is not followed further, > 0."""
    effort: int = 500_000
    """Edges followed, and eight times the nodes met, at which the walk ends, the most probable followed first."""

    def rarity(self, notes: int) -> float:
        """Return 1 / (1 + ln(df / 2)), the weight of an entity that `notes` notes name."""
        return 1.0 / (1.0 + math.log(max(notes, 2) / 2.0))

    def joining(self, notes: int) -> float:
        """Return the weight of a link over an entity that so many notes name; 0 for a hub or what joins nothing."""
        return self.rarity(notes) if self.fewest <= notes <= self.most else 0.0

    def weighing(self) -> str:
        """Return what the weights of edges depend on, which are written with a graph."""
        return f"{self.title_weight!r} {self.shared_weight!r} {self.fewest} {self.most}"
