"""Whether anything of one tenant is ever shown to another: random operations under names made to confuse.

assert leaks_of_sparse(MySparse(...), operations=10_000, seed=1) == []
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import numpy as np

from theworld.stores.protocols import DenseStore, GraphStore, NoteChange, Projection, SparseStore
from theworld.stores.records import Filters
from theworld.testing.conformance.documents import embedded, feed, gone, put
from theworld.text import entity_key

HOSTILE = (
    "default",
    "Default",
    "default ",
    "*",
    "tenant:*",
    '" OR 1=1 --',
    '"}},{"match_all":{}}',
    "') RETURN n //",
    "}) MATCH (n) DETACH DELETE n //",
    "'; DROP TABLE note; --",
    "$uids",
    "../other",
    "租户",
    "x" * 2000,
    "\ud800",
    "\u202edefault",
)
"""Tenants, filters and texts that mean something to a server that reads them as more than values."""
WRITABLE = [one for one in HOSTILE if one.isprintable()]
"""Those that the ledger would take."""
_OWN = "secret"
_SPACE = "space"
_DIMENSION = 8


def _direction(number: int) -> list[float]:
    """Return where the vectors of a tenant's notes point: the tenants around it point there too, a little."""
    return [1.0 if place == number % _DIMENSION else 0.1 * (number // _DIMENSION) for place in range(_DIMENSION)]


def _filters(chance: random.Random) -> Filters:
    some: Filters = {"kind": chance.choice(HOSTILE)}
    key: Filters = {chance.choice(HOSTILE): ["x", "default"]}
    return chance.choice([{}, {}, some, key, {"document_id": f"doc{chance.randrange(12)}"}])


def _run(
    store: Projection, operations: int, seed: int, look: Callable[[random.Random, str], Iterable[str]]
) -> list[str]:
    """Return what was wrong; `look` asks something for a tenant and returns the notes shown."""
    chance = random.Random(seed)
    owners: dict[str, set[str]] = {tenant: set() for tenant in HOSTILE}
    found: list[str] = []
    for _ in range(0, operations, 100):
        batch: list[NoteChange] = []
        for _ in range(20):
            number = chance.randrange(len(WRITABLE))
            tenant, note_id = WRITABLE[number], f"doc{chance.randrange(12)}#0"
            if chance.random() < 0.2:
                batch.append(gone(note_id, tenant=tenant))
                owners[tenant].discard(note_id)
                continue
            change = put(
                note_id,
                f"{_OWN}{number} shared words {chance.choice(WRITABLE)}",
                title=f"Owner {number}",
                tenant=tenant,
                metadata={"kind": chance.choice(WRITABLE)},
                names=["Shared Name", f"Secret {number}"],
                vectors={_SPACE: embedded(*_direction(number), tokens={number: _direction(number)})},
            )
            batch.append(change)
            owners[tenant].add(note_id)
        feed(store, *batch)
        for _ in range(80):
            tenant = chance.choice(HOSTILE)
            shown = set(look(chance, tenant))
            found += [f"{tenant!r} was shown {note!r}" for note in sorted(shown - owners[tenant])]
    return found


def leaks_of_sparse(store: SparseStore, *, operations: int, seed: int) -> list[str]:
    """Return what was shown of other tenants in so many random writes and searches; nothing is as it must be."""

    def look(chance: random.Random, tenant: str) -> list[str]:
        other = chance.randrange(len(WRITABLE))
        query = chance.choice([f"{_OWN}{other}", "shared words", chance.choice(HOSTILE)])
        filters = _filters(chance)
        hits = store.search(query, tenant=tenant, filters=filters, limit=50)
        if query.startswith(_OWN) and hits and WRITABLE[other] != tenant:
            return [f"{hit.note_id} with the words of {other}" for hit in hits]
        return [hit.note_id for hit in hits]

    return _run(store, operations, seed, look)


def leaks_of_dense(store: DenseStore, *, operations: int, seed: int) -> list[str]:
    """Return what was shown of other tenants in so many random writes and searches; nothing is as it must be."""
    ids = [f"doc{number}#0" for number in range(12)]

    def look(chance: random.Random, tenant: str) -> list[str]:
        vector = np.array(_direction(chance.randrange(len(WRITABLE))), np.float32)
        asked = chance.randrange(4)
        if asked == 0:
            cosines = store.cosines(_SPACE, vector, ids, tenant)
            return [note for note, cosine in zip(ids, cosines, strict=True) if cosine > 0]
        if asked == 1:
            codes = dict(zip(ids, store.token_codes(_SPACE, ids, tenant), strict=True))
            mine = WRITABLE.index(tenant) if tenant in WRITABLE else -1
            foreign = [note for note, some in codes.items() if some is not None and some.ids.tolist() != [mine]]
            return [note for note, some in codes.items() if some is not None] + [f"tokens of {one}" for one in foreign]
        space = chance.choice([_SPACE, _SPACE, chance.choice(HOSTILE)])
        found = store.search(space, vector, tenant=tenant, filters=_filters(chance), limit=50)
        return [hit.note_id for hit in found.hits]

    return _run(store, operations, seed, look)


def leaks_of_graph(store: GraphStore, *, operations: int, seed: int) -> list[str]:
    """Return what was shown of other tenants in so many random writes and queries; nothing is as it must be."""

    def look(chance: random.Random, tenant: str) -> list[str]:
        other = chance.randrange(len(WRITABLE))
        secret = entity_key(f"Secret {other}")
        if WRITABLE[other] != tenant and store.entities([secret, *HOSTILE], tenant=tenant).get(secret):
            return [f"an entity of {other}"]
        notes, entities = {f"doc{chance.randrange(12)}#0": 1.0}, {secret: 1.0, entity_key("Shared Name"): 1.0}
        filters = _filters(chance)
        asked = chance.randrange(3)
        if asked == 0:
            hits = store.rank(notes=notes, entities=entities, tenant=tenant, filters=filters, limit=50)
            return [hit.note_id for hit in hits]
        ids = [f"doc{number}#0" for number in range(12)]
        if asked == 1:
            return [note for link in store.links(ids, tenant=tenant) for note in (link.source, link.target)]
        paths = store.paths(ids, notes=list(notes), entities=list(entities), tenant=tenant)
        told = {step.target for path in paths for step in path.steps if step.target.startswith("Owner")}
        mine = f"Owner {WRITABLE.index(tenant)}" if tenant in WRITABLE else ""
        return [path.note_id for path in paths] + sorted(told - {mine})

    return _run(store, operations, seed, look)
