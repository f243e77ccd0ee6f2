"""What is kept of a graph on a server, as long as it stays the same."""

from __future__ import annotations

from dataclasses import dataclass, field

from theworld.stores.graph.bounded_walk import BoundedWalk
from theworld.stores.graph.neighbourhood import EntityRow, NoteRow


@dataclass
class Fetched:
    """What is known of one tenant's graph at one moment; it only grows."""

    walk: BoundedWalk
    applied: int | None = None
    """How far the graph had come; None before it was asked."""
    notes: dict[str, NoteRow | None] = field(default_factory=dict)
    """By id; None for a note that the server does not know."""
    entities: dict[str, EntityRow | None] = field(default_factory=dict)
    """By key; None for an entity that the server does not know."""

    @property
    def size(self) -> int:
        """Number of rows held."""
        return len(self.notes) + len(self.entities) + self.walk.size
