"""Haystack: a retriever component. Needs haystack-ai (the extra `haystack`)."""

from __future__ import annotations

from typing import Any

from theworld.errors import SettingsError
from theworld.integrations.passages import PassageSearch
from theworld.packages import install_command
from theworld.state import Context

try:
    from haystack import Document, component
except ImportError as error:
    raise SettingsError(
        "haystack-ai is not installed", where=__name__, remedy=f"Install it: {install_command('haystack')}"
    ) from error


def _plain(filters: dict[str, Any]) -> dict[str, Any]:
    """Return Haystack's filters as name -> value or values; SettingsError for what is more than equal, in and AND."""
    operator = filters.get("operator")
    if operator == "AND":
        return {name: value for part in filters["conditions"] for name, value in _plain(part).items()}
    if operator in {"==", "in"}:
        return {filters["field"].removeprefix("meta."): filters["value"]}
    if operator is not None:
        raise SettingsError(f"{operator!r} is not known", where="filters", remedy="Use ==, in and AND.")
    return filters


@component
class TheWorldRetriever:
    """The passages of a store as Haystack documents; metadata as in `passages`.

    Pipelines with it can be saved, as everything it takes is plain, and loaded with
    `Pipeline.loads(text, allowed_modules=["theworld.integrations.haystack"])`.
    """

    def __init__(
        self,
        store: str,
        top_k: int = 10,
        tenant: str = "default",
        filters: dict[str, str | list[str]] | None = None,
    ) -> None:
        """Take the store's folder, how many passages to return, whose they are, and metadata that must match."""
        self.store, self.top_k, self.tenant, self.filters = store, top_k, tenant, filters or {}
        self._search = PassageSearch(store, Context(tenant=tenant, filters=self.filters))

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, top_k: int | None = None, filters: dict[str, Any] | None = None
    ) -> dict[str, list[Document]]:
        """Return `{"documents": [...]}`, best first; `filters`, as here or as Haystack writes them, add to the own."""
        found = self._search.find(query, self.top_k if top_k is None else top_k, _plain(filters or {}))
        return {
            "documents": [
                Document(id=passage.id, content=passage.text, score=passage.score, meta=passage.metadata)
                for passage in found
            ]
        }
