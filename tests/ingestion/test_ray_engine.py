"""Ingestion over Ray, on two simulated machines: the store that one process makes, whatever is killed on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from theworld.errors import ModelError, StoreError
from theworld.ingestion import IngestReport, ingest
from theworld.ingestion.engines import BATCH_NOTES
from theworld.ingestion.report import Interruption
from theworld.models.registry import load_models
from theworld.settings import IngestionSettings, Settings
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.testing import FakeTagger
from worker_models import changes, perilous_models

ray = pytest.importorskip("ray", reason="the extra `ray` is not installed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),  # of its own settings
    pytest.mark.skipif(sys.platform == "win32", reason="sends signals Windows has not"),
]
FILES = 30
"""Of 20 notes each, and so three batches."""
TESTS = str(Path(__file__).parents[1])


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two machines of one core, whose workers can import the models of the tests."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    paths = os.pathsep.join([TESTS, os.environ.get("PYTHONPATH", "")])
    ray.init(made.address, runtime_env={"env_vars": {"PYTHONPATH": paths}}, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def corpus(folder: Path) -> Path:
    """Three batches of short documents in both languages, one that a model fails on and one that kills it."""
    texts = [
        "宁波的天一阁。" if i % 5 == 0 else f"Ada Lovelace knew Title {i + 1:04}." + " More." * (i % 7)
        for i in range(3 * BATCH_NOTES)
    ]
    texts[17], texts[300] = "Some poison.", "A deadly text."
    rows = [{"_id": f"d{i:04}", "title": f"Title {i:04}", "text": text} for i, text in enumerate(texts)]
    (folder / "more.md").write_text("# More\n\nOf another file.\n", "utf-8")
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def run(path: Path | str, store: Path, engine: Any, **options: Any) -> IngestReport:
    settings = Settings(store=store, ingestion=IngestionSettings(processes=2))
    with KnowledgeStore.open(store, create=True) as opened:
        return ingest([path], opened, perilous_models(), settings, engine=engine, **options)


@pytest.mark.usefixtures("cluster")
def test_two_machines_make_what_one_process_makes(corpus: Path, tmp_path: Path) -> None:
    here, there = run(corpus, tmp_path / "here", "local"), run(corpus, tmp_path / "there", "ray")
    assert (there.documents, there.notes, there.processes) == (here.documents, here.notes, 2)
    assert changes(tmp_path / "there") == changes(tmp_path / "here")
    assert there.failed == here.failed
    assert [failure.reason.split()[0] for failure in there.failed] == ["a", "the"]
    again = run(corpus, tmp_path / "there", "ray")
    assert (again.documents, again.unchanged) == (0, here.documents)


class KillsWorkers(Interruption):
    """Kills the processes of all actors once, after the first notes."""

    def __init__(self) -> None:
        super().__init__()
        self.killed = 0

    def advance(self, part: str, steps: int) -> None:
        if part != "notes" or self.killed:
            return
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdigit() and b"ray::MapWorker" in (folder / "cmdline").read_bytes():
                    os.kill(int(folder.name), signal.SIGKILL)
                    self.killed += 1
            except OSError:
                continue


@pytest.mark.usefixtures("cluster")
def test_workers_that_are_killed_lose_and_double_nothing(corpus: Path, tmp_path: Path) -> None:
    progress = KillsWorkers()
    report = run(corpus, tmp_path / "killed", "ray", progress=progress)
    assert progress.killed
    run(corpus, tmp_path / "here", "local")
    assert changes(tmp_path / "killed") == changes(tmp_path / "here")
    assert report.documents == 3 * BATCH_NOTES - 1


def test_after_the_driver_is_killed_the_next_run_goes_on(folder: Path, tmp_path: Path) -> None:
    text = "\n\n".join(f"Ada Lovelace wrote note {i} of many." * 12 for i in range(40))
    for number in range(FILES):
        (folder / f"{number:02}.md").write_text(f"# File {number}\n\n{text}\n", "utf-8")
    store = tmp_path / "killed"
    command = [sys.executable, "-m", "theworld", "ingest", str(folder), "--store", str(store), "--engine", "ray"]
    with subprocess.Popen(command) as driver:
        try:
            written = _until_something_is_written(driver, store)
        finally:
            driver.kill()
    assert 0 < written < FILES
    settings = Settings(store=store)
    with KnowledgeStore.open(store, read_only=False) as opened:
        report = ingest([folder], opened, load_models(settings), settings)
    assert report.documents + report.unchanged == FILES
    assert report.unchanged >= written
    settings = Settings(store=tmp_path / "whole")
    with KnowledgeStore.open(settings.store, create=True) as opened:
        ingest([folder], opened, load_models(settings), settings)
    assert sorted(changes(store), key=str) == sorted(changes(settings.store), key=str)


def _until_something_is_written(driver: subprocess.Popen[bytes], store: Path) -> int:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and driver.poll() is None:
        time.sleep(0.1)
        with suppress(StoreError), KnowledgeStore.open(store) as opened:  # it may be being made just now
            if written := len(opened.document_hashes("default")):
                return written
    return 0


def test_models_put_in_by_hand_cannot_be_sent(corpus: Path, tmp_path: Path) -> None:
    settings = Settings(store=tmp_path / "store")
    models = load_models(settings)
    models.taggers["en"] = FakeTagger({})
    with KnowledgeStore.open(settings.store, create=True) as opened, pytest.raises(ModelError, match="`local`"):
        ingest([corpus], opened, models, settings, engine="ray")


def test_an_address_where_no_ray_is(corpus: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "theworld", "ingest", str(corpus), "--store", str(tmp_path / "store")]
    done = subprocess.run(
        [*command, "--engine", "ray", "--address", "127.0.0.1:1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "Ray cannot be reached at 127.0.0.1:1" in " ".join(done.stderr.split())
