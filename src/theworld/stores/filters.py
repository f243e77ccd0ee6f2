"""Metadata filters as every store understands them: a note passes when each key has one of the wanted values.

The key `document_id` is the id of the note's document, so that chosen documents can be searched alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from theworld.stores.records import Filters

DOCUMENT_ID = "document_id"
"""The key that stands for a document's own id; metadata of this name cannot be filtered by."""
_SEPARATOR = "="
_ESCAPED = str.maketrans({"\\": "\\\\", _SEPARATOR: f"\\{_SEPARATOR}"})


def read_filters(pairs: Iterable[str]) -> dict[str, str | list[str]]:
    """Return filters from `key=value` texts, a repeated key meaning any of its values; ValueError names a wrong one."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"{pair!r} is not of the form key=value.")
        found.setdefault(key.strip(), []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in found.items()}


def _term(key: str, value: object) -> str:
    """Return one term; booleans are `true` and `false`.

    A `=` of the key is escaped, so that the key `a=b` never meets `a` with a value `b=...`.
    """
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{str(key).translate(_ESCAPED)}{_SEPARATOR}{text}"


def filter_terms(metadata: Mapping[str, object] | None, document_id: str) -> frozenset[str]:
    """Return the terms `key=value` of a note's metadata, one for each value of a list, and that of its document."""
    return frozenset(
        _term(key, item)
        for key, value in {**(metadata or {}), DOCUMENT_ID: document_id}.items()
        for item in (value if isinstance(value, list | tuple | set) else [value])
        if item is not None
    )


def wanted_terms(filters: Filters) -> list[list[str]]:
    """Return for each filter the terms of which a note must have at least one, ordered by key."""
    return [
        [_term(key, item) for item in ([wanted] if isinstance(wanted, str) else wanted)]
        for key, wanted in sorted(filters.items())
    ]


def passes(terms: frozenset[str], wanted: list[list[str]]) -> bool:
    """Return whether a note with these terms passes."""
    return all(any(term in terms for term in some) for some in wanted)
