"""A disk that is full at any moment: a write says so by name, and with room again nothing is lost or doubled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from made_documents import assert_congruent, make_document
from theworld.stores.knowledge_store import KnowledgeStore

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot limit the size of a process's files"),
]
WRITES = """
import resource, sys
from theworld.errors import StoreError
from theworld.stores.knowledge_store import KnowledgeStore
from made_documents import make_document

path, size = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try:
    with KnowledgeStore.open(path, read_only=False) as store:
        store.put([make_document(number, version=2) for number in range(40)])
        store.delete(["doc-00003"], tenant="default")
except (StoreError, OSError) as error:
    sys.exit(f"told: {error}")
"""


def test_no_file_may_grow_beyond_a_size(tmp_path: Path) -> None:
    path, told = tmp_path / "store", 0
    found = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with KnowledgeStore.open(path, create=True) as store:
        store.put([make_document(number) for number in range(20)])
    for size in (200, 3_000, 30_000, 100_000, 300_000, 1_000_000):
        command = [sys.executable, "-c", WRITES, str(path), str(size)]
        done = subprocess.run(command, env=found, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or done.stderr.startswith("told: "), done.stderr
        told += done.returncode != 0
        with KnowledgeStore.open(path, read_only=False) as store:
            store.catch_up()
            assert_congruent(store)
            assert len(store.document_hashes("default")) in {20, 39, 40}
    assert told, "no size was small enough"
    with KnowledgeStore.open(path, read_only=False) as store:
        assert set(store.document_hashes("default")) >= {f"doc-{n:05d}" for n in range(40) if n != 3}
