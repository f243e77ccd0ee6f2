"""Ctrl-C is answered at once in every part of an ingestion, also within one very large file."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to a child"),
]
ANSWERED = 5.0
"""Seconds, on a busy machine; without an answer it would take minutes."""
MEGABYTES = 30

CHILD = """
import os, signal, sys, time
from pathlib import Path
from theworld.ingestion import IngestInterrupted, ingest
from theworld.models.registry import Models
from theworld.settings import Settings
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.testing import FakeEmbedder, FakeTagger

signal.signal(signal.SIGINT, signal.default_int_handler)

def tell(*words):  # in one write, which a signal does not break into
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
class Teller:
    def start(self, part, total): tell("start", part, total)
    def advance(self, part, steps): tell("advance", part, steps)
    def stopping(self): tell("stopping")

class SlowEmbedder(FakeEmbedder):
    def embed_passages(self, texts):
        time.sleep(0.005 * len(texts))
        return super().embed_passages(texts)

tagger, embedder = FakeTagger({}), SlowEmbedder(name="fake-en")
models = Models({"en": embedder, "zh": embedder}, {"en": tagger, "zh": tagger})
with KnowledgeStore.open(sys.argv[2], create=True) as store:
    try:
        ingest([Path(sys.argv[1])], store, models, Settings(), progress=Teller())
    except IngestInterrupted as stop:
        tell("stopped", stop.report.documents)
        sys.exit(130)
"""


@contextmanager
def ingesting(source: Path, store: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", CHILD, source, store], stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def stop(child: subprocess.Popen[str], at: str) -> tuple[list[str], float]:
    """Press Ctrl-C when a line begins with `at`; return the later lines without steps, and the seconds to the first."""
    assert child.stdout is not None
    lines = iter(child.stdout)
    assert any(line.startswith(at) for line in lines)
    pressed = time.monotonic()
    child.send_signal(signal.SIGINT)
    later = (line.strip() for line in lines if not line.startswith(("advance", "start")))
    first, answered = next(later), time.monotonic() - pressed
    return [first, *later], answered


def big_text(path: Path) -> Path:
    paragraph = "Ada was born in London. She knew the engine well, and wrote on it at length. " * 4 + "\n\n"
    path.write_text(paragraph * (MEGABYTES * 1_000_000 // len(paragraph)))
    return path


def big_corpus(path: Path) -> Path:
    with path.open("w") as file:
        for number in range(MEGABYTES * 2_000):
            file.write(json.dumps({"_id": str(number), "text": "Ada was born in London. " * 20}) + "\n")
    return path


@pytest.mark.parametrize("name", ["big.txt", "big.jsonl"])
def test_reading_one_large_file(tmp_path: Path, name: str) -> None:
    source = big_text(tmp_path / name) if name.endswith("txt") else big_corpus(tmp_path / name)
    with ingesting(source, tmp_path / "s") as child:
        lines, seconds = stop(child, "advance read")
        assert lines == ["stopping", "stopped 0"]
        assert seconds < ANSWERED
        assert child.wait(timeout=10) == 130


def test_making_the_notes_of_one_large_file(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("Ada was born in London, and knew the engine well.\n" * 60_000)
    with ingesting(source, tmp_path / "s") as child:
        lines, seconds = stop(child, "advance notes")
        assert lines[0] == "stopping"
        assert lines[-1] == "stopped 0"
        assert seconds < ANSWERED
        assert child.wait(timeout=10) == 130
