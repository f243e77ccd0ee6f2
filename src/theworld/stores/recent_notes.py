"""Notes read from the ledger, kept in memory until something is written."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.stores.ledger import Ledger
from theworld.stores.records import StoredNote

_KEPT = {False: 20_000, True: 2_000}
"""Notes kept without and with mentions, some twenty objects a note."""


class RecentNotes:
    """Reads each note once without and once with mentions; thread-safe: tables are only ever replaced or added to."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.forget()

    def read(self, ids: Sequence[str], tenant: str, *, mentions: bool) -> list[StoredNote]:
        """Return notes in the order asked for, unknown ones left out."""
        tables = self._notes
        kept = tables[mentions]
        missing = [id_ for id_ in ids if (tenant, id_) not in kept]
        if missing:
            found = self._ledger.notes(missing, tenant=tenant, mentions=mentions)
            if len(kept) + len(found) > _KEPT[mentions]:
                tables[mentions] = kept = {key: kept[key] for id_ in ids if (key := (tenant, id_)) in kept}
            kept.update(((tenant, id_), note) for id_, note in found.items())
        return [kept[tenant, id_] for id_ in ids if (tenant, id_) in kept]

    def kept(self, ids: Sequence[str], tenant: str, *, mentions: bool) -> list[StoredNote]:
        """Return those that are in memory."""
        kept = self._notes[mentions]
        return [kept[tenant, id_] for id_ in ids if (tenant, id_) in kept]

    def forget(self) -> None:
        """Read all of them again when they are asked for."""
        self._notes: dict[bool, dict[tuple[str, str], StoredNote]] = {False: {}, True: {}}
