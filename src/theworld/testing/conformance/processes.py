"""What other processes do to a store in tests: a writer to be killed, a reader that answers."""

from __future__ import annotations

import json
from multiprocessing.connection import Connection
from pathlib import Path

from theworld.stores.knowledge_store import KnowledgeStore
from theworld.testing.conformance.congruence import assert_congruent
from theworld.testing.conformance.documents import make_document


def write_batches(store: Path, log: Path, first: int, last: int) -> None:
    """Put, change and delete documents batch by batch, appending what was committed to the log, a JSON line each.

    A line is {"batch": number, "put": {document id: content hash, None when deleted}}. Batches are the same in every
    run, so that a run can be repeated from any batch.
    """
    with KnowledgeStore.open(store, create=True) as opened, log.open("a", encoding="utf-8") as file:
        for batch in range(first, last):
            documents = [make_document(number) for number in range(batch * 4, batch * 4 + 4)]
            documents += [make_document(number, version=batch) for number in range(0, batch * 4, 7)]
            opened.put(documents)
            file.write(json.dumps({"batch": batch, "put": {d.id: d.content_hash for d in documents}}) + "\n")
            file.flush()
            if batch % 5 == 4:
                gone = f"doc-{batch * 4:05d}"
                opened.delete([gone], tenant="default")
                file.write(json.dumps({"batch": batch, "put": {gone: None}}) + "\n")
                file.flush()
            if batch % 2:
                opened.catch_up()


def answer_with_counts(store: Path, line: Connection) -> None:
    """Open a store; for each True that comes, refresh, check, and answer with the number of notes; end with False."""
    with KnowledgeStore.open(store) as opened:
        while line.recv():
            opened.refresh()
            line.send(len(assert_congruent(opened)))
