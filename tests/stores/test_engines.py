"""Which projections lie on servers follows from the settings."""

from __future__ import annotations

from theworld.settings import Settings
from theworld.stores.projections import Engines


def test_each_section_of_the_settings_reaches_its_engine() -> None:
    settings = Settings.model_validate(
        {
            "sparse": {"url": "http://search:9200"},
            "dense": {"url": "http://vectors:6333", "api_key": "secret"},
            "graph": {"url": "bolt://graph:7687"},
        }
    )
    engines = Engines.of(settings)
    for name in ("sparse", "dense", "graph", "ledger"):
        section = getattr(settings, name)
        assert getattr(engines, name).model_dump(include=set(type(section).model_fields)) == section.model_dump()
    assert list(engines.remote()) == ["sparse", "dense", "graph"]
    assert Engines.of(Settings()).remote() == {}
    assert "secret" not in repr(engines)
