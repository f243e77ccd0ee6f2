"""A store in a temporary folder, and models that are instant: what is tested here is what lies around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from theworld.models.registry import Models
from theworld.settings import Settings
from theworld.state import MentionType
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.testing import FakeEmbedder, FakeTagger

TYPES: Mapping[str, MentionType] = {"Ada Lovelace": "person", "London": "place", "范钦": "person", "宁波": "place"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store=tmp_path / "test.store")


@pytest.fixture
def models() -> Models:
    tagger = FakeTagger(TYPES)
    english, chinese = FakeEmbedder(name="fake-en"), FakeEmbedder(name="fake-zh")
    return Models({"en": english, "zh": chinese}, {"en": tagger, "zh": tagger})


@pytest.fixture
def store(settings: Settings) -> Iterator[KnowledgeStore]:
    with KnowledgeStore.open(settings.store, create=True) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder for sources."""
    path = tmp_path / "sources"
    path.mkdir()
    return path
