"""What was known and what has changed become the arrays of a new graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import IntArray
from theworld.stores.graph.columns import Columns, NoteFacts
from theworld.stores.graph.deriving import derived
from theworld.stores.graph.parameters import RankingParameters
from theworld.stores.string_table import Rows, places_of, starts_of, string_arrays

_TABLES = ("documents", "keys", "texts", "terms")
_REFERRING = {
    "documents": ("document",),
    "keys": ("name.keys", "mention.keys"),
    "texts": ("title", "name.texts", "mention.texts"),
    "terms": ("term.values",),
}
"""Arrays of numbers into each table."""
_LISTS = {"name": ("keys", "texts"), "mention": ("keys", "texts"), "term": ("values",)}
"""Lists by note, and the arrays that hold their values."""
_EACH = ("document", "title")
"""Arrays with one number for each note."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Some notes as they were written, numbered by their place in `notes`, with tables of their own."""

    notes: list[str]
    tables: Mapping[str, Sequence[str]]
    arrays: Mapping[str, IntArray]
    lengths: Mapping[str, Rows]
    """Lengths of the lists by note."""


def joined(
    base: Columns | None, changes: Mapping[str, NoteFacts | None], parameters: RankingParameters
) -> dict[str, NDArray[Any]]:
    """Return the arrays of a graph after changes, by note id; those of a note replace what was known of it."""
    parts = [_gathered({note: facts for note, facts in changes.items() if facts is not None})]
    if base is not None:
        parts.insert(0, _kept(base, list(changes)))
    arrays = _merged(parts)
    return arrays | derived(arrays, parameters)


class _Numbers(dict[str, int]):
    """Numbers strings as they are met."""

    def __missing__(self, string: str) -> int:
        self[string] = number = len(self)
        return number


def _gathered(facts: Mapping[str, NoteFacts]) -> _Part:
    tables = {table: _Numbers() for table in _TABLES}
    documents, keys, texts, terms = (tables[table] for table in _TABLES)
    found: dict[str, list[int]] = {name: [] for names in _REFERRING.values() for name in names}
    lengths: dict[str, list[int]] = {name: [] for name in _LISTS}
    for one in facts.values():
        found["document"].append(documents[one.document_id])
        found["title"].append(texts[one.title])
        for name, pairs in (("name", one.names), ("mention", one.mentions)):
            found[f"{name}.keys"] += [keys[key] for key, _ in pairs]
            found[f"{name}.texts"] += [texts[text] for _, text in pairs]
            lengths[name].append(len(pairs))
        found["term.values"] += [terms[term] for term in sorted(one.terms)]
        lengths["term"].append(len(one.terms))
    return _Part(
        list(facts),
        {table: list(numbers) for table, numbers in tables.items()},
        {name: np.array(values, np.int32) for name, values in found.items()},
        {name: np.array(some, np.int64) for name, some in lengths.items()},
    )


def _kept(base: Columns, changed: Sequence[str]) -> _Part:
    """Return what is left of a graph when the changed notes are taken out."""
    alive = np.ones(len(base.notes), bool)
    rows = base.notes.find(changed)
    alive[rows[rows >= 0]] = False
    notes = np.flatnonzero(alive)
    arrays: dict[str, IntArray] = {name: base.arrays[name][notes] for name in _EACH}
    lengths: dict[str, Rows] = {}
    for name, values in _LISTS.items():
        starts = base.arrays[f"{name}.starts"]
        places = places_of(starts, notes)
        lengths[name] = np.diff(starts)[notes]
        arrays |= {f"{name}.{one}": base.arrays[f"{name}.{one}"][places] for one in values}
    tables = {"documents": base.documents, "keys": base.keys, "texts": base.texts, "terms": base.terms}
    ids = [note for note, kept in zip(base.notes, alive.tolist(), strict=True) if kept]
    return _Part(ids, {name: list(table) for name, table in tables.items()}, arrays, lengths)


def _merged(parts: Sequence[_Part]) -> dict[str, NDArray[Any]]:
    ids = [note for part in parts for note in part.notes]
    order = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
    arrays: dict[str, NDArray[Any]] = dict(string_arrays([ids[row] for row in order.tolist()], "notes"))
    for table, names in _REFERRING.items():
        numbers, used = _renumbered(table, names, parts)
        arrays |= numbers | string_arrays(used, table)
    arrays |= {name: arrays[name][order] for name in _EACH}
    for name, values in _LISTS.items():
        lengths = np.concatenate([part.lengths[name] for part in parts])
        places = places_of(starts_of(lengths), order)
        arrays |= {f"{name}.{one}": arrays[f"{name}.{one}"][places] for one in values}
        arrays[f"{name}.starts"] = starts_of(lengths[order])
    return arrays


def _renumbered(table: str, names: Iterable[str], parts: Sequence[_Part]) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Return the arrays that refer to a table, numbered anew, and the strings that are still referred to, in order."""
    used = [np.unique(np.concatenate([part.arrays[name] for name in names])) for part in parts]
    strings = [[part.tables[table][i] for i in some.tolist()] for part, some in zip(parts, used, strict=True)]
    ordered = sorted({string for some in strings for string in some})
    number = {string: i for i, string in enumerate(ordered)}
    maps = []
    for part, some, its in zip(parts, used, strings, strict=True):
        to_new = np.zeros(len(part.tables[table]), np.int32)
        to_new[some] = [number[string] for string in its]
        maps.append(to_new)
    arrays = {
        name: np.concatenate([to_new[part.arrays[name]] for part, to_new in zip(parts, maps, strict=True)])
        for name in names
    }
    return arrays, ordered
