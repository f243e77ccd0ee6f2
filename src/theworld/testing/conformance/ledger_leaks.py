"""Whether a ledger ever shows anything of one tenant to another, or to a reader of changes under a wrong name."""

from __future__ import annotations

import random
from dataclasses import replace

from theworld.errors import StoreError
from theworld.stores.ledger import Ledger
from theworld.stores.protocols import NoteChange
from theworld.testing.conformance.documents import make_document
from theworld.testing.conformance.leaks import HOSTILE

_DOCUMENTS = 12


def leaks_of_ledger(ledger: Ledger, *, operations: int, seed: int) -> list[str]:
    """Return what was shown of other tenants in so many random writes and reads; nothing is as it must be.

    Every note's text names its owner, and what is shown is compared with what that owner has.
    """
    chance = random.Random(seed)
    owned: dict[str, dict[str, str]] = {tenant: {} for tenant in HOSTILE}
    found: list[str] = []
    for _ in range(operations):
        tenant = chance.choice(HOSTILE)
        if chance.random() < 0.1:
            _write(ledger, chance, tenant, owned[tenant])
        else:
            found += _look(ledger, chance, tenant, owned[tenant])
    found += [f"{c.tenant!r} has {c.note_id}" for c in _held(ledger) if c.note_id not in owned[c.tenant]]
    return found


def _write(ledger: Ledger, chance: random.Random, tenant: str, mine: dict[str, str]) -> None:
    number = chance.randrange(_DOCUMENTS)
    if chance.random() < 0.3:
        ledger.delete([f"doc-{number:05d}", *chance.sample(HOSTILE, 2)], tenant=tenant)
        mine.pop(f"doc-{number:05d}#0", None)
        return
    plain = make_document(number, notes=1)
    secret = f"of {HOSTILE.index(tenant)}: {chance.random()}"
    note = replace(plain.notes[0], text=secret)
    try:
        ledger.put([replace(plain, tenant=tenant, title=secret, notes=(note,), content_hash=secret)])
    except StoreError:
        if tenant != "\ud800":
            raise
        return
    mine[note.id] = secret


def _look(ledger: Ledger, chance: random.Random, tenant: str, mine: dict[str, str]) -> list[str]:
    ids = [f"doc-{number:05d}#0" for number in range(_DOCUMENTS)]
    way = chance.randrange(5)
    if way == 0:
        shown = {id_: note.text for id_, note in ledger.notes([*ids, *HOSTILE], tenant=tenant).items()}
    elif way == 1:
        shown = {note.id: note.text for note in ledger.iter_notes(tenant)}
    elif way == 2:
        shown = {f"{id_}#0": title for id_, title, _ in ledger.titles(tenant)}
    elif way == 3:
        shown = {f"{id_}#0": said for id_, said in ledger.document_hashes(tenant).items()}
    else:
        own = set(mine.values())
        named = {label for label, _, _ in ledger.known_names(tenant).values() if label.startswith("of ")}
        return [f"{tenant!r} was shown the name {label!r}" for label in sorted(named - own)]
    wrong = {id_: text for id_, text in shown.items() if mine.get(id_) != text}
    missing = sorted(set(mine) - set(shown))
    return [f"{tenant!r} was shown {item}" for item in sorted(wrong.items())] + [f"{id_} is gone" for id_ in missing]


def _held(ledger: Ledger) -> list[NoteChange]:
    changes, _ = ledger.changes(0, 1_000_000)
    return [change for change in changes if change.note is not None]
