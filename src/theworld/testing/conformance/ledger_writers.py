"""Many writers at once on one ledger, and followers beside them: nothing is lost, doubled or skipped."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable

from theworld.stores.ledger import Ledger, NoteParts
from theworld.stores.protocols import NoteChange
from theworld.testing.conformance.documents import make_document

Make = Callable[..., Ledger]


class _Follower:
    """Applies changes as a projection does, while others write."""

    def __init__(self) -> None:
        self.applied = 0
        self.notes: dict[tuple[str, str], int] = {}
        self.numbers: list[int] = []

    def follow(self, ledger: Ledger, batch: int) -> None:
        last = ledger.sequence()
        while self.applied < last:
            changes, upto = ledger.changes(self.applied, batch, NoteParts(mentions=False, vectors=False))
            self._apply(changes)
            self.applied = upto

    def _apply(self, changes: list[NoteChange]) -> None:
        for change in changes:
            key = (change.tenant, change.note_id)
            self.numbers.append(change.sequence)
            if change.note is None:
                self.notes.pop(key, None)
            else:
                self.notes[key] = change.sequence


def write_side_by_side(make: Make, *, writers: int, rounds: int, tenants: int, seed: int) -> None:
    """Let writers put, change and delete the same documents at the same time; AssertionError for anything amiss.

    Each writer has a ledger of its own, as on a machine of its own. Two followers read on meanwhile.
    """
    stop, failures = threading.Event(), list[BaseException]()
    followers = [_Follower(), _Follower()]

    def run(work: Callable[[Ledger], None], *, writable: bool) -> None:
        try:
            with make(writable=writable) as ledger:
                work(ledger)
        except BaseException as error:
            failures.append(error)

    def write(number: int) -> Callable[[Ledger], None]:
        def work(ledger: Ledger) -> None:
            chance = random.Random(f"{seed} {number}")
            for _ in range(rounds):
                names = chance.sample([f"tenant {n}" for n in range(tenants)], k=min(2, tenants))
                some = [(chance.randrange(6), chance.randrange(4), chance.choice(names)) for _ in range(3)]
                ledger.put([make_document(n, version, tenant=name) for n, version, name in some])
                if chance.random() < 0.3:
                    ledger.delete([f"doc-{chance.randrange(6):05d}"], tenant=names[0])
                if chance.random() < 0.3:
                    ledger.set_mentions(names[-1], {"doc-00001#0": make_document(3).notes[0].mentions})

        return work

    def follow(follower: _Follower, batch: int) -> Callable[[Ledger], None]:
        def work(ledger: Ledger) -> None:
            while not stop.is_set():
                follower.follow(ledger, batch)
            follower.follow(ledger, batch)

        return work

    readers = [
        threading.Thread(target=run, args=(follow(follower, batch),), kwargs={"writable": False})
        for follower, batch in zip(followers, (1, 50), strict=True)
    ]
    workers = [threading.Thread(target=run, args=(write(n),), kwargs={"writable": True}) for n in range(writers)]
    for thread in (*readers, *workers):
        thread.start()
    for thread in workers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    if failures:
        raise failures[0]
    with make(writable=False) as ledger:
        _check(ledger, followers, [f"tenant {n}" for n in range(tenants)])


def _check(ledger: Ledger, followers: list[_Follower], tenants: list[str]) -> None:
    last = ledger.sequence()
    changes, _ = ledger.changes(0, last + 1, NoteParts(text=False, mentions=False, vectors=False))
    held = {(c.tenant, c.note_id): c.sequence for c in changes if c.note is not None}
    stored = [(tenant, note.id) for tenant in tenants for note in ledger.iter_notes(tenant)]
    assert sorted(stored) == sorted(held), "the changes do not tell what the ledger holds"
    assert len({c.sequence for c in changes}) == len(changes)
    for follower in followers:
        assert follower.applied == last
        assert follower.notes == held, "a follower skipped or kept a change"
        assert follower.numbers == sorted(set(follower.numbers)), "a change was told twice or out of order"
    for tenant in tenants:
        naming = Counter(
            key
            for note in ledger.iter_notes(tenant)
            for key in {mention.key for mention in note.mentions if mention.key is not None}
        )
        names = ledger.known_names(tenant)
        assert all(names[key][2] >= count for key, count in naming.items()), "an entity was lost"
        assert all(count for _, _, count in names.values()), "an entity that nothing names was left"
