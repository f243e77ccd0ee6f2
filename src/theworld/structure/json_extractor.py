"""Text to a validated object: the entry points, and the strategies added from outside; `search` does the work."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, TypeVar

from theworld.structure.errors import StructureParseError
from theworld.structure.reading.repairing import LibraryMissingError
from theworld.structure.search import Candidate, ExtractionStrategy, Search
from theworld.structure.targets import Target, target_of

T = TypeVar("T")


_registered: dict[str, ExtractionStrategy] = {}


def register_extraction_strategy(strategy: ExtractionStrategy) -> None:
    """Add a strategy, tried after the built-in and the earlier ones; the same name again replaces one in its place."""
    if not getattr(strategy, "name", "") or not callable(getattr(strategy, "func", None)):
        raise ValueError("a strategy needs a name and a callable func(text, model_class)")
    _registered[strategy.name] = strategy


def registered_strategies() -> tuple[ExtractionStrategy, ...]:
    """Return the registered strategies in order."""
    return tuple(_registered.values())


def unregister_extraction_strategy(name: str) -> None:
    """Remove a strategy; nothing happens when there is none of that name."""
    _registered.pop(name, None)


def _yaml_fulltext(text: str, model_class: Any) -> Any:
    from theworld.structure.yaml_text import validate_yaml

    return validate_yaml(text, model_class)


if find_spec("yaml") is not None:
    register_extraction_strategy(ExtractionStrategy("yaml_fulltext", _yaml_fulltext))


def extract_structured_data(text: str, model_class: type[T]) -> T:
    """Return the object of type `model_class` that the text contains. Raises StructureParseError."""
    result: T = search_text(text, target_of(model_class))[1].value
    return result


def search_text(text: str, target: Target) -> tuple[Search, Candidate]:
    """Search a text; raises StructureParseError with every attempt when nothing fits."""
    if not isinstance(text, str):
        raise StructureParseError(f"the content must be text, not {type(text).__name__}", (), text)
    search = Search(text, target, registered_strategies())
    found = search.run()
    if found is None:
        attempts = search.ordered_attempts()
        missing = next((str(error) for _, error in attempts if isinstance(error, LibraryMissingError)), "")
        raise StructureParseError(f"No strategy found a valid {target.name} in the content", attempts, text, missing)
    return search, found
