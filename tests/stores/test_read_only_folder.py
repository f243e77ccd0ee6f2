"""A store whose folder may not be written to: it is read all the same, and whoever wants to write is told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from made_documents import make_document
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.sparse import TantivySparse
from theworld.testing.conformance.documents import TENANT, feed, put

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="permissions of another kind")]

STORE = f"""
import sys
from pathlib import Path
from theworld.errors import StoreError
from theworld.stores.knowledge_store import KnowledgeStore

with KnowledgeStore.open(Path(sys.argv[1])) as store:
    print([hit.note_id for hit in store.sparse.search("paper", tenant={TENANT!r}, filters={{}}, limit=5)])
try:
    KnowledgeStore.open(Path(sys.argv[1]), read_only=False)
except StoreError as error:
    print(error)
"""

INDEX = f"""
import sys
from pathlib import Path
from theworld.stores.sparse import TantivySparse

reader = TantivySparse(Path(sys.argv[1]))
for _ in range(2):
    found = reader.search("word", tenant={TENANT!r}, filters={{}}, limit=9)
    print(reader.applied, *(hit.note_id for hit in found), flush=True)
    sys.stdin.readline()
    reader.refresh()
reader.close()
print(*Path(sys.argv[2]).glob("theworld-index-*"))
"""


@pytest.fixture
def bound_by_permissions() -> list[str]:
    """What to put before a command so that permissions hold for it, which they do not for root."""
    if os.geteuid() != 0:
        return []
    rights = "-dac_override,-dac_read_search"
    command = ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}"]
    if shutil.which("setpriv") is None or subprocess.run([*command, "true"], check=False).returncode:
        pytest.skip("run as root, without setpriv to give up root's rights to files")
    return command


@contextmanager
def frozen(folder: Path) -> Iterator[None]:
    everything = [folder, *folder.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        yield
    finally:
        for path in everything:
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_store_is_read_and_not_written(tmp_path: Path, bound_by_permissions: list[str]) -> None:
    with KnowledgeStore.open(tmp_path / "s", create=True) as store:
        store.put([make_document(0, tenant=TENANT)])
        store.catch_up()
        expected = [hit.note_id for hit in store.sparse.search("paper", tenant=TENANT, filters={}, limit=5)]
    with frozen(tmp_path / "s"):
        command = [*bound_by_permissions, sys.executable, "-c", STORE, str(tmp_path / "s")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found, refused = done.stdout.splitlines()
    assert found == str(expected)
    assert expected
    assert "cannot be written to" in refused


def test_a_reader_of_the_index_sees_what_another_commits(tmp_path: Path, bound_by_permissions: list[str]) -> None:
    index, temporary = tmp_path / "index", tmp_path / "temporary"
    index.mkdir()
    temporary.mkdir()
    writer = TantivySparse(index, writable=True)
    feed(writer, put("a#0", "word"))
    command = [*bound_by_permissions, sys.executable, "-c", INDEX, str(index), str(temporary)]
    environment = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        with frozen(index):
            assert reader.stdout.readline() == "1 a#0\n"
        feed(writer, put("b#0", "word"))
        with frozen(index):
            reader.stdin.write("\n")
            reader.stdin.flush()
            assert reader.stdout.readline() == "2 a#0 b#0\n"
            assert reader.communicate("\n")[0] == "\n", "links were left behind"
    writer.close()
