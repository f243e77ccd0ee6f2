"""What loads on first use is loaded before the first question, and a warm-up that fails stops nothing."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from theworld.graph import build_graph, open_resources
from theworld.graph.resources import WARM_UP_QUESTIONS, warm_up
from theworld.references import ReferenceResolver
from theworld.settings import Settings
from theworld.stores.token_codes import directions


class Asked:
    """Keeps what it is asked."""

    def __init__(self, error: Exception | None = None) -> None:
        self.questions: list[tuple[str, str, bool]] = []
        self._error = error

    def invoke(self, state: dict[str, str], *, context: Any) -> None:
        self.questions.append((state["question"], context.tenant, context.use_model))
        if self._error is not None:
            raise self._error


def holding(**tenants: dict[str, int]) -> Any:
    found = {name: {"notes": sum(notes.values()), "languages": notes} for name, notes in tenants.items()}
    return SimpleNamespace(store=SimpleNamespace(info=lambda: {"tenants": found}))


@pytest.mark.parametrize(
    ("tenants", "expected"),
    [
        ({}, []),
        ({"default": {"en": 2}}, ["default"]),
        ({"default": {"en": 2}, "other": {"en": 1, "zh": 2}}, ["other"]),
    ],
)
def test_it_asks_in_both_languages(tenants: dict[str, dict[str, int]], expected: list[str]) -> None:
    graph = Asked()
    warm_up(graph, holding(**tenants))
    assert graph.questions == [
        (question, tenant, False) for tenant in expected for question in WARM_UP_QUESTIONS.values()
    ]


@pytest.mark.slow
def test_opening_loads_what_the_first_question_needs(demo_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resolved: list[str] = []
    resolve = ReferenceResolver.resolve

    def counted(resolver: ReferenceResolver, query: str, *rest: Any, **options: Any) -> Any:
        resolved.append(query)
        return resolve(resolver, query, *rest, **options)

    monkeypatch.setattr(ReferenceResolver, "resolve", counted)
    directions.cache_clear()
    with open_resources(Settings(store=demo_store)) as resources:
        assert resolved == list(WARM_UP_QUESTIONS.values()), "the demo holds both languages"
        loaded = directions.cache_info().misses
        assert loaded > 0
        build_graph(resources).invoke({"question": "Who was the commander of Apollo 11?"})
        assert directions.cache_info().misses == loaded


def test_a_failure_is_logged_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    graph = Asked(ConnectionError("nobody there"))
    with caplog.at_level(logging.WARNING):
        warm_up(graph, holding(default={"en": 1, "zh": 1}))
    assert len(graph.questions) == 2
    assert "nobody there" in caplog.text
