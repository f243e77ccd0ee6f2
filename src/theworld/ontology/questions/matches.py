"""What was recognised in a question: elements, ranges and times, each with how sure that makes us."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from theworld.ontology.model import Ref
from theworld.ontology.questions.numbers import NumberConstraint
from theworld.text.time_ranges import TimeRange

MatchKind = Literal["label", "synonym", "inverse", "value", "overlap", "vector", "source_role", "target_role"]
"""How an element was recognised; by a role only within a description."""

SCORES: Mapping[MatchKind, float] = {"label": 1.0, "inverse": 1.0, "synonym": 0.9, "value": 0.9}
"""How sure a name found makes us; overlap and vectors bring their own, lower scores."""


@dataclass(frozen=True, slots=True)
class Match:
    """One element that the question speaks of."""

    ref: Ref
    kind: MatchKind
    score: float
    """In (0, 1]."""
    start: int = 0
    """Where it stands in the question; start == end for what was found without a place."""
    end: int = 0
    text: str = ""
    """The words of the question."""
    value: str = ""
    """Id of the enum value, for kind `value`."""


@dataclass(frozen=True, slots=True)
class Range:
    """A comparison with a number, and the attribute it most likely speaks of."""

    constraint: NumberConstraint
    attribute: Ref | None


@dataclass(frozen=True, slots=True)
class QueryMatches:
    """Everything recognised in one question."""

    matches: tuple[Match, ...] = ()
    """By place; of overlapping names the longest."""
    nested: tuple[Match, ...] = ()
    """Names inside longer ones: 交易 in 交易波动."""
    ranges: tuple[Range, ...] = ()
    times: tuple[TimeRange, ...] = ()
    uncovered: tuple[tuple[int, int], ...] = field(default=())
    """Places of the words that nothing was recognised in."""

    def of(self, kind: str) -> tuple[Match, ...]:
        """Return the matches of one kind of node; an enum value counts as its attribute."""
        return tuple(match for match in self.matches if match.ref.kind == kind)
