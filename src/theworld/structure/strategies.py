"""Strategies added from outside: tried in the order of registration, after every built-in strategy has failed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any


@dataclass
class ExtractionStrategy:
    """A named way of making a model of a text.

    `func(text, model_class)` returns an instance, or raises anything at all when it cannot.
    """

    name: str
    """Shown as `plugin_<name>` in attempts and reports."""
    func: Callable[[str, Any], Any]
    """Text and wanted type to an instance."""


_lock = threading.Lock()
_registered: dict[str, ExtractionStrategy] = {}


def register_extraction_strategy(strategy: ExtractionStrategy) -> None:
    """Add a strategy behind those already registered; the same name again replaces the former in its place."""
    if not getattr(strategy, "name", "") or not callable(getattr(strategy, "func", None)):
        raise ValueError("a strategy needs a name and a callable func(text, model_class)")
    with _lock:
        _registered[strategy.name] = strategy


def unregister_extraction_strategy(name: str) -> None:
    """Remove a strategy; nothing happens when there is none of that name."""
    with _lock:
        _registered.pop(name, None)


def registered_strategies() -> tuple[ExtractionStrategy, ...]:
    """Return the registered strategies in order."""
    with _lock:
        return tuple(_registered.values())


def _yaml_fulltext(text: str, model_class: Any) -> Any:
    from theworld.structure.yaml_text import validate_yaml

    return validate_yaml(text, model_class)


if find_spec("yaml") is not None:
    register_extraction_strategy(ExtractionStrategy(name="yaml_fulltext", func=_yaml_fulltext))
