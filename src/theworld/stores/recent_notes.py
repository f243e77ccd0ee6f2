"""Notes read from the ledger, kept in memory until something is written."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.stores.ledger import Ledger
from theworld.stores.records import StoredNote

_KEPT = 20_000


class RecentNotes:
    """Reads each note once; thread-safe, since the table is only ever replaced or added to."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._notes: dict[tuple[str, str], StoredNote] = {}

    def read(self, ids: Sequence[str], tenant: str) -> list[StoredNote]:
        """Return notes in the order asked for, unknown ones left out."""
        kept = self._notes
        missing = [id_ for id_ in ids if (tenant, id_) not in kept]
        if missing:
            found = self._ledger.notes(missing, tenant=tenant)
            if len(kept) + len(found) > _KEPT:
                self._notes = kept = {key: kept[key] for id_ in ids if (key := (tenant, id_)) in kept}
            kept.update(((tenant, id_), note) for id_, note in found.items())
        return [kept[tenant, id_] for id_ in ids if (tenant, id_) in kept]

    def kept(self, ids: Sequence[str], tenant: str) -> list[StoredNote]:
        """Return those that are in memory."""
        kept = self._notes
        return [kept[tenant, id_] for id_ in ids if (tenant, id_) in kept]

    def forget(self) -> None:
        """Read all of them again when they are asked for."""
        self._notes = {}
