"""Which elements of the ontology the notes name: a projection that lives in the ledger and follows its changes.

A note refers to an element when one of the element's names stands in its title or text; of overlapping names the
longest counts. Without an ontology there is nothing to do, and it costs one small query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from theworld.stores.ledger import Ledger
from theworld.stores.ledger.graph_tables import (
    NOTE,
    REFERS_TO,
    GraphEdgeRecord,
    GraphNodeRecord,
    NodeKey,
    mixed,
    note_parts,
)
from theworld.stores.protocols import NoteChange
from theworld.text.phrases import PhraseTable, longest

PREFERRED, SYNONYM = 1.0, 0.9
"""Strength of the rule that a name stands for its element."""
_UNREAD = -1
"""Version of the graph whose names are known before any are."""


@dataclass
class OntologyLinks:
    """Keeps the edges from notes to elements, and all weights, up to date."""

    _ledger: Ledger
    _tables: dict[str, _Names] = field(default_factory=dict)
    _version: int = _UNREAD
    _from: int = 0

    @property
    def applied(self) -> int:
        """Sequence number of the last change the links have seen; the ledger's own where there is no ontology."""
        applied = self._ledger.graph.applied()
        self._from = applied or 0
        return self._ledger.sequence() if applied is None else applied

    def apply(self, changes: Iterable[NoteChange], upto: int) -> None:
        """Link the notes of these changes; the weights are computed with the last of them."""
        graph = self._ledger.graph
        version = graph.version()
        if version != self._version:
            self._tables = {tenant: _Names(graph.elements(tenant)) for tenant in graph.tenants()}
            self._version = version
        linked: dict[str, dict[str, list[GraphEdgeRecord]]] = {}
        for change in changes:
            if change.tenant in self._tables:
                linked.setdefault(change.tenant, {})[change.note_id] = self._tables[change.tenant].links(change)
        weigh = upto >= self._ledger.sequence()
        written = graph.apply(linked, after=self._from, upto=upto, version=version, weigh=weigh)
        self._version = _UNREAD if written is None else written

    def refresh(self) -> None:
        """Nothing to do: the links are read from the ledger at every look."""

    def clear(self) -> None:
        """Forget all links."""
        if self._ledger.graph.applied() is not None:
            self._ledger.graph.clear_links()

    def close(self) -> None:
        """Release the names."""
        self._tables.clear()


class _Names:
    def __init__(self, elements: Sequence[GraphNodeRecord]) -> None:
        self._confidence: dict[NodeKey, float] = {}
        phrases: list[tuple[str, tuple[NodeKey, float]]] = []
        for element in elements:
            key = (element.kind, element.key)
            self._confidence[key] = float(element.properties.get("confidence", 1.0))
            for names, rule in (("preferred", PREFERRED), ("synonyms", SYNONYM)):
                phrases += [(name, (key, rule)) for name in element.properties.get(names, ())]
        self._table = PhraseTable(phrases)

    def links(self, change: NoteChange) -> list[GraphEdgeRecord]:
        """Return what the note of a change names; nothing when it was removed."""
        if change.note is None:
            return []
        places: Counter[NodeKey] = Counter()
        rules: dict[NodeKey, float] = {}
        for found in longest(self._table.find(f"{change.title}\n{change.note.text}")):
            places.update(list(dict.fromkeys(key for key, _ in found.payloads)))
            for key, rule in found.payloads:
                rules[key] = max(rules.get(key, 0.0), rule)
        parts = {key: note_parts(count, rules[key], self._confidence[key]) for key, count in places.items()}
        note = (NOTE, change.note_id)
        return [GraphEdgeRecord(note, key, REFERS_TO, mixed(some), some) for key, some in parts.items()]
