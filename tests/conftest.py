"""What several folders of tests share: a store over the bundled corpus, made once per session with the real models."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from theworld.graph import Resources, open_resources
from theworld.settings import Settings

# How long an example takes, or takes to be made, says how busy the machine is.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give a slow test, which waits for other processes, two more tries; each one is printed with its test's name.

    With `-p no:rerunfailures` there is one try, to see which tests depend on how busy the machine is.
    """
    if not config.pluginmanager.hasplugin("rerunfailures"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=2))


@pytest.fixture(scope="session")
def demo_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds the demo corpus."""
    from theworld.demo import corpus_dir
    from theworld.ingestion import ingest
    from theworld.models.bundle import load_models
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
    with open_resources(Settings(store=demo_store, retrieval={"deadline_ms": 60_000})) as opened:
        yield opened
