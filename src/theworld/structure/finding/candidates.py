"""The valid objects found in one text, and how they are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from theworld.structure.fitting.targets import count_filled
from theworld.structure.report import LOSSY, Alternative, Repair

RANKS = ("direct_json", "markdown_", "braced_", "bracket_", "cleaned_json")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A validated object and how it came to be."""

    value: Any
    """The validated object."""
    strategy: str
    """Name of the strategy."""
    position: int = 0
    """Where in the text it begins."""
    repairs: tuple[Repair, ...] = ()
    """What was changed on the way."""
    truncated: bool = False
    """True when the text broke off inside."""
    source: Any = None
    """The plain data it was validated from."""
    inside: tuple[int, int] = (0, 0)
    """How deep in its fragment it lies, and its place among what lies there."""

    def rank(self) -> tuple[int, bool, int, int, int, int]:
        """Order candidates: fullest, whole, fewest losses, last; of those in one fragment outermost, then last."""
        lost = sum(repair.kind in LOSSY for repair in self.repairs)
        depth, place = self.inside
        return count_filled(self.value), not self.truncated, -lost, self.position, -depth, place


def alternatives(candidates: Sequence[Candidate], chosen: Candidate) -> Iterator[Alternative]:
    """Yield the candidates that were not chosen, best first."""
    if len(candidates) < 2:
        return
    rest = sorted((c for c in candidates if c is not chosen), key=Candidate.rank, reverse=True)
    filled = count_filled(chosen.value)
    for other in rest:
        count = count_filled(other.value)
        why = "fills fewer fields" if count < filled else "less complete, further inside, or earlier in the text"
        yield Alternative(other.strategy, other.value, count, why)


def strategy_rank(name: str) -> int:
    """Return the place of a strategy in the documented order, by its name."""
    if name.startswith("plugin_"):
        return len(RANKS) + 1
    exact = next((i for i, rank in enumerate(RANKS) if name.startswith(rank)), len(RANKS))
    return len(RANKS) if "_repaired" in name or "[" in name else exact
