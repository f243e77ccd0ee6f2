"""What several folders of tests share: a store over the bundled corpus, made once per session with the real models.

Product modules are imported by the fixtures, so that a test that needs none of them starts at once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from theworld.graph import Resources


pytest.register_assert_rewrite("ledger_suite", "ledger_writers", "made_documents", "reranker_suite")


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Have hypothesis ignore how long an example takes, which says how busy the machine is; only where it is used.

    `make check` asks for fewer examples (EXAMPLES) than `make test`.
    """
    if isinstance(collector, pytest.Module) and "hypothesis" in collector.path.read_text("utf-8"):
        from hypothesis import HealthCheck, settings

        slow_is_fine, examples = [HealthCheck.too_slow], int(os.environ.get("EXAMPLES", "100"))
        settings.register_profile(
            "any machine", deadline=None, max_examples=examples, suppress_health_check=slow_is_fine
        )
        settings.load_profile("any machine")


class Done(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Runs a command of `theworld` with the arguments given, on a terminal that is not Chinese."""
    from theworld.cli.app import run

    monkeypatch.setenv("LC_ALL", "C.UTF-8")

    def call(*arguments: object) -> Done:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Done(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def demo_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds the demo corpus."""
    from theworld.demo import corpus_dir
    from theworld.ingestion import ingest
    from theworld.models.registry import load_models
    from theworld.settings import Settings
    from theworld.stores.knowledge_store import KnowledgeStore

    settings = Settings(store=tmp_path_factory.mktemp("demo") / "store")
    with KnowledgeStore.open(settings.store, create=True, read_only=False) as store:
        report = ingest([corpus_dir()], store, load_models(settings), settings)
    assert not report.failed
    return settings.store


@pytest.fixture(scope="session")
def copy_of_demo(demo_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes copies of the demo store: whatever writes (a service writes its request log) takes its own."""

    def copy() -> Path:
        folder = tmp_path_factory.mktemp("copy") / "store"
        shutil.copytree(demo_store, folder)
        return folder

    return copy


@pytest.fixture(scope="session")
def resources(demo_store: Path) -> Iterator[Resources]:
    """The default resources over the demo store, with time enough for a busy machine."""
    from theworld.graph import open_resources
    from theworld.settings import Settings

    with open_resources(Settings(store=demo_store, retrieval={"deadline_ms": 60_000})) as opened:
        yield opened
