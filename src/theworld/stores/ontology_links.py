"""Which elements of the ontology the notes name: a projection that lives in the ledger and follows its changes.

A note refers to an element when one of the element's names stands in its title or text; of overlapping names the
longest counts. Without an ontology there is nothing to do, and it costs one small query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from theworld.stores.graph_weights import mixed, note_parts
from theworld.stores.ledger import Ledger
from theworld.stores.ledger.graph_rows import GraphNodeRecord, NodeKey, NoteLink
from theworld.stores.ledger.graph_tables import TenantLinks
from theworld.stores.protocols import NoteChange
from theworld.text.phrases import PhraseTable, longest

PREFERRED, SYNONYM = 1.0, 0.9
"""Strength of the rule that a name stands for its element."""
_UNREAD = -1
"""Version of the graph whose names are known before any are."""


class OntologyLinks:
    """Keeps the edges from notes to elements, and all weights, up to date."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._tables: dict[str, _Names] = {}
        self._version = _UNREAD
        self._from = 0

    @property
    def applied(self) -> int:
        """Sequence number of the last change the links have seen; the ledger's own where there is no ontology."""
        applied = self._ledger.graph.applied()
        self._from = applied or 0
        return self._ledger.sequence() if applied is None else applied

    def apply(self, changes: Iterable[NoteChange], upto: int) -> None:
        """Link the notes of these changes; the weights are computed with the last of them."""
        self._read_names()
        by_tenant: dict[str, list[NoteChange]] = {}
        for change in changes:
            if change.tenant in self._tables:
                by_tenant.setdefault(change.tenant, []).append(change)
        linked = {tenant: self._tables[tenant].links(some) for tenant, some in by_tenant.items()}
        weigh = upto >= self._ledger.sequence()
        written = self._ledger.graph.apply(linked, after=self._from, upto=upto, version=self._version, weigh=weigh)
        self._version = _UNREAD if written is None else written

    def _read_names(self) -> None:
        graph = self._ledger.graph
        version = graph.version()
        if version != self._version:
            self._tables = {tenant: _Names(graph.elements(tenant)) for tenant in graph.tenants()}
            self._version = version

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
    """The names of one tenant's elements."""

    def __init__(self, elements: Sequence[GraphNodeRecord]) -> None:
        self._confidence: dict[NodeKey, float] = {}
        phrases: list[tuple[str, tuple[NodeKey, float]]] = []
        for element in elements:
            key = (element.kind, element.key)
            self._confidence[key] = float(element.properties.get("confidence", 1.0))
            for names, rule in (("preferred", PREFERRED), ("synonyms", SYNONYM)):
                phrases += [(name, (key, rule)) for name in element.properties.get(names, ())]
        self._table = PhraseTable(phrases)

    def links(self, changes: Sequence[NoteChange]) -> TenantLinks:
        """Return the notes of the changes and what those that are still there name."""
        links = [link for change in changes if change.note is not None for link in self._of(change)]
        return TenantLinks([change.note_id for change in changes], links)

    def _of(self, change: NoteChange) -> Iterable[NoteLink]:
        text = change.note.text if change.note is not None else ""
        places: Counter[NodeKey] = Counter()
        rules: dict[NodeKey, float] = {}
        for found in longest(self._table.find(f"{change.title}\n{text}")):
            for key in dict.fromkeys(key for key, _ in found.payloads):
                places[key] += 1
            for key, rule in found.payloads:
                rules[key] = max(rules.get(key, 0.0), rule)
        for key, count in places.items():
            parts = note_parts(count, rules[key], self._confidence[key])
            yield NoteLink(change.note_id, key, mixed(parts), parts)
