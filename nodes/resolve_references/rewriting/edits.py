"""What the rewriting rules of both languages share: their result, and edits of a text by offsets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from theworld.nodes.resolve_references.detection import Detected, Kind
from theworld.nodes.resolve_references.matching import Span
from theworld.state import ReferenceScope, ReferenceType


@dataclass(frozen=True)
class Standalone:
    """What the rules made of a query."""

    query: str | None = None
    """The rewritten query, None where the query stands alone already."""
    references: tuple[Detected, ...] = ()
    """The dependent expressions found."""
    antecedents: tuple[str, ...] = ()
    """What they stand for."""
    sources: tuple[int, ...] = ()
    """Indexes of the messages the antecedents come from."""
    options: tuple[str, ...] = ()
    """Equally good antecedents, best first; more than one is ambiguous."""
    reason: str = ""
    """Which rule decided."""


class Edit(NamedTuple):
    """A replacement of text[start:end]."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits made; they must not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def dependent(span: Span, kind: Kind) -> Detected:
    """Return a pronoun or a continuation as a reference to the last turns."""
    reference = ReferenceType.CONTINUATION if kind == "continuation" else ReferenceType.REFERENTIAL
    return Detected(span, kind, reference, ReferenceScope.LAST_1_3_TURNS)
