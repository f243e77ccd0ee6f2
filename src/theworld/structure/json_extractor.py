"""Text to a validated object: the entry points; theworld.structure.search does the work."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import ValidationError

from theworld.structure.errors import StructureParseError
from theworld.structure.fitting.targets import is_plain, target_of
from theworld.structure.report import ParseReport, Policy
from theworld.structure.search import Candidate, Search
from theworld.structure.strategies import ExtractionStrategy, register_extraction_strategy

__all__ = ["ExtractionStrategy", "extract_structured_data", "extract_with_report", "register_extraction_strategy"]

T = TypeVar("T")


def extract_structured_data(
    text: str,
    model_class: type[T],
    *,
    policy: Policy = "repair-syntax",
    strategies: list[ExtractionStrategy] | None = None,
) -> T:
    """Return the object of type `model_class` that the text contains.

    `strategies` replaces the registered plugin strategies for this call. Raises StructureParseError.
    """
    if isinstance(text, str) and is_plain(model_class):
        try:
            value: T = model_class.__pydantic_validator__.validate_json(text)  # type: ignore[attr-defined]
            return value
        except ValidationError:
            pass
    _, found = _search(text, model_class, policy, strategies)
    result: T = found.value
    return result


def extract_with_report(
    text: str, wanted: Any, *, policy: Policy = "repair-syntax", strategies: list[ExtractionStrategy] | None = None
) -> ParseReport[Any]:
    """Like `extract_structured_data`, with the report of what was done."""
    search, found = _search(text, wanted, policy, strategies)
    return search.report(found)


def _search(
    text: str, wanted: Any, policy: Policy, strategies: list[ExtractionStrategy] | None
) -> tuple[Search, Candidate]:
    """Search a text; raises StructureParseError with every attempt when nothing fits."""
    if not isinstance(text, str):
        raise StructureParseError(f"the content must be text, not {type(text).__name__}", (), text)
    search = Search(text, target_of(wanted), wanted, policy, strategies)
    found = search.run()
    if found is None:
        raise StructureParseError(
            f"No strategy found a valid {search.target.name} in the content", search.ordered_attempts(), text
        )
    return search, found
