"""How a projection is fed from the ledger, whether it lies in the store's folder, in memory, or on a server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from theworld.errors import StoreError
from theworld.stores.ledger import Ledger, NoteParts
from theworld.stores.protocols import Projection


@runtime_checkable
class Settling(Protocol):
    """A projection that does part of its work once for all batches."""

    def settle(self) -> None:
        """Make what was applied last, and be found."""


@dataclass(frozen=True, slots=True)
class ProjectionFeeder:
    """A projection and what it wants of the ledger."""

    name: str
    projection: Projection
    parts: NoteParts
    batch: int
    durable: bool = True
    """False for a projection in memory, which every process builds for itself."""
    remote: bool = False
    """True for one on a server, which may be out of reach: it is then out of date, and catches up later."""

    @property
    def where(self) -> str:
        """The server, or the name of a projection that lies on none."""
        return str(getattr(self.projection, "where", self.name))

    @property
    def outdated(self) -> str:
        """What is wrong with a projection of another format that a reader found; empty when nothing is."""
        found: str = getattr(self.projection, "outdated", "")
        return found

    def feed(self, ledger: Ledger, last: int) -> Iterator[int]:
        """Apply batches until the projection has seen `last`; yield how far each went."""
        projection = self.projection
        if projection.applied > max(last, ledger.sequence()):
            # The ledger is older than what was derived from it: it was restored from a backup.
            projection.clear()
        while projection.applied < last:
            before = projection.applied
            changes, upto = ledger.changes(before, self.batch, self.parts)
            projection.apply(changes, upto)
            yield upto - before
        if isinstance(projection, Settling):
            projection.settle()

    def lag(self, last: int) -> int | None:
        """Return how many changes it has not seen; None when the server cannot be asked."""
        try:
            return last - self.projection.applied
        except StoreError:
            if not self.remote:
                raise
            return None
