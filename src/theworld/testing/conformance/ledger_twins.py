"""Whether two ledgers tell the same after the same random writes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from theworld.stores.ledger import Ledger
from theworld.testing.conformance.documents import make_document

TENANTS = ("default", "租户", "Other")


def assert_ledger_twins(one: Ledger, other: Ledger, *, rounds: int, seed: int) -> None:
    """Write the same to both, and compare everything that can be read from them."""
    chance = random.Random(seed)
    for _ in range(rounds):
        tenant, number = chance.choice(TENANTS), chance.randrange(9)
        documents = [make_document(chance.randrange(9), chance.randrange(3), tenant=tenant) for _ in range(4)]
        kind = chance.random()
        for ledger in (one, other):
            if kind < 0.6:
                ledger.put(documents)
            elif kind < 0.8:
                ledger.delete([f"doc-{number:05d}"], tenant=tenant)
            else:
                ledger.set_mentions(tenant, {f"doc-{number:05d}#0": documents[0].notes[0].mentions})
        assert everything(one) == everything(other)


def everything(ledger: Ledger) -> dict[str, Any]:
    """Return all that a ledger tells, as plain values in the order told."""
    changes, last = ledger.changes(0, 1_000_000)
    return {
        "sequence": (ledger.sequence(), last),
        "counts": ledger.counts(),
        "changes": [
            (c.sequence, c.tenant, c.note_id, c.document_id, c.title, c.aliases, c.metadata, _note(c.note))
            for c in changes
        ],
        "tenants": {
            tenant: (
                list(ledger.iter_notes(tenant)),
                ledger.titles(tenant),
                ledger.document_hashes(tenant),
                ledger.known_names(tenant),
            )
            for tenant in TENANTS
        },
        "spaces": [ledger.other_spaces(language, "space-en") for language in ("en", "zh")],
    }


def _note(note: Any) -> Any:
    if note is None:
        return None
    vectors = {space: embedded.vector.tobytes() for space, embedded in note.vectors.items()}
    codes = {space: (np.asarray(c.ids).tobytes(), c.codes.tobytes()) for space, c in note.codes.items()}
    return note.id, note.ordinal, note.text, note.mentions, vectors, codes
