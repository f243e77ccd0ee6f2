"""Stand-ins for models that take their time asleep, and which any process can make: it imports nothing else."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from typing import Any

from theworld.models.protocols import Embedded
from theworld.models.registry import Models
from theworld.testing import FakeEmbedder, FakeTagger

NOTE_S = 0.006


class SlowEmbedder(FakeEmbedder):
    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        time.sleep(NOTE_S * len(texts))
        return super().embed_passages(texts)

    @cache  # noqa: B019 - of few words, in a process that soon ends
    def _row(self, word: str) -> Any:
        return super()._row(word)


def slow_models() -> Models:
    """Return them, so that another process makes the same."""
    taggers = {"en": FakeTagger({"Ada Lovelace": "person"}), "zh": FakeTagger({"宁波": "place"})}
    embedders = {"en": SlowEmbedder(name="slow-en"), "zh": SlowEmbedder(name="slow-zh")}
    return Models(dict(embedders), dict(taggers), origin=slow_models)
