"""The graph of one tenant as arrays: what lies on disk, and what is read of it without making an object for each note.

Notes, entities, documents, texts and filter terms are numbered in the order of their ids, so that the same content
gives the same arrays, sums and ties however it was written. A *list of lists* is two arrays: where each list starts,
(n + 1,), and the values of all.

    notes.* documents.* keys.* texts.* terms.*   tables of strings: ids of notes and documents, entity keys, titles and
                                                 surfaces, filter terms (see theworld.stores.array_folder)
    document, title            (notes,) number of each note's document, and of its title among the texts
    name.*, mention.*          (key, text) of each note's names and mentions, as they were written
    term.*                     filter terms of each note
    label                      (entities,) number of each entity's label among the texts
    titled.*, mentioned.*      entities of each note: its document's names, and what else it mentions
    titles.*, mentions.*       notes of each entity: those it is the name of, and the others that mention it
    walk.*                     edges of the random walk, see theworld.stores.graph.pagerank
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import IntArray
from theworld.state import MentionType
from theworld.stores.array_folder import Arrays, Rows, StringTable, places_of, starts_of, string_arrays
from theworld.stores.graph.pagerank import Floats, RankingParameters
from theworld.stores.protocols import NoteChange
from theworld.stores.records import filter_terms
from theworld.text import entity_key

_UNLINKING: frozenset[MentionType] = frozenset({"number", "quantity"})
"""Two notes that hold the same number say nothing about each other."""


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of numbers by number."""

    starts: Rows
    values: IntArray

    def __getitem__(self, number: int) -> list[int]:
        found: list[int] = self.array(number).tolist()
        return found

    def array(self, number: int) -> IntArray:
        """Return one list as a view."""
        return self.values[self.starts[number] : self.starts[number + 1]]


@dataclass(frozen=True, slots=True)
class NoteFacts:
    """What the graph knows of one note."""

    document_id: str
    title: str
    names: tuple[tuple[str, str], ...]
    """(entity key, name) of the document's title and aliases."""
    mentions: tuple[tuple[str, str], ...]
    """(entity key, surface) of the note's mentions."""
    terms: frozenset[str]
    """Filter terms."""


def note_facts(change: NoteChange) -> NoteFacts | None:
    """Return what the graph knows of a changed note; None for a removed one."""
    if change.note is None:
        return None
    names = [(entity_key(name), name) for name in (change.title, *change.aliases)]
    mentions = [
        (mention.key or entity_key(mention.surface), mention.surface)
        for mention in change.note.mentions
        if mention.titled or mention.type not in _UNLINKING
    ]
    return NoteFacts(
        document_id=change.document_id,
        title=change.title,
        names=tuple((key, name) for key, name in names if key),
        mentions=tuple((key, surface) for key, surface in mentions if key),
        terms=filter_terms(change.metadata, change.document_id),
    )


def by_row(rows: Rows, columns: Rows, weights: Floats, size: int) -> tuple[Rows, Rows, Floats]:
    """Return the edges of a square matrix in order: where those of each row begin (size + 1,), columns and weights.

    The weights of one that is there twice are added.
    """
    edges, places = np.unique(rows * size + columns, return_inverse=True)
    summed = np.bincount(places, weights=weights, minlength=len(edges)).astype(np.float64)
    return np.searchsorted(edges, np.arange(size + 1) * size), edges % size, summed


def derived(arrays: Arrays, parameters: RankingParameters) -> dict[str, NDArray[Any]]:
    """Return the arrays that follow from `name.*` and `mention.*`; see above."""
    notes, entities = len(arrays["name.starts"]) - 1, len(arrays["keys.offsets"]) - 1
    # The distinct pairs of note and entity, each as one number, ascending.
    names, mentions = (
        np.unique(np.repeat(np.arange(notes), np.diff(arrays[f"{name}.starts"])) * entities + arrays[f"{name}.keys"])
        for name in ("name", "mention")
    )
    mentions = np.setdiff1d(mentions, names, assume_unique=True)
    found: dict[str, NDArray[Any]] = {"label": labels(arrays, entities)}
    for by_note, by_entity, pairs in (("titled", "titles", names), ("mentioned", "mentions", mentions)):
        note, entity = np.divmod(pairs, max(entities, 1))
        order = np.argsort(entity, kind="stable")
        for name, owners, values, size in (
            (by_note, note, entity, notes),
            (by_entity, entity[order], note[order], entities),
        ):
            found[f"{name}.starts"] = np.searchsorted(owners, np.arange(size + 1)).astype(np.int64)
            found[f"{name}.values"] = values.astype(np.int32)
    return found | walk_arrays(found, parameters)


def labels(arrays: Arrays, entities: int) -> IntArray:
    """Return for each entity its title, else its commonest surface; ties go to the first in order of text, (n,)."""
    key, text = arrays["mention.keys"].astype(np.int64), arrays["mention.texts"]
    size = max(len(arrays["texts.offsets"]) - 1, 1)
    distinct, counts = np.unique(key * size + text, return_counts=True)
    key, text = np.divmod(distinct, size)
    best = np.lexsort((text, -counts, key))
    found = np.full(entities, size, np.int32)
    # Written from the last to the first, so that the best of each entity stays.
    found[key[best[::-1]]] = text[best[::-1]]
    titles = np.full(entities, size, np.int32)
    np.minimum.at(titles, arrays["name.keys"], arrays["name.texts"])
    return np.where(titles < size, titles, found)


def walk_arrays(arrays: Mapping[str, NDArray[Any]], parameters: RankingParameters) -> dict[str, NDArray[Any]]:
    """Return the random walk over notes (first) and entities: targets and probabilities of each node's edges.

    From a note to its titles and, by rarity, the entities it mentions (1 for a title of some document); from an
    entity to what it titles and, by rarity, to what mentions it. A node may lead nowhere.
    """
    titling, mentioning = np.diff(arrays["titles.starts"]), np.diff(arrays["mentions.starts"])
    named_by = titling + mentioning  # a hub, or what joins nothing, has no weight
    joining = np.array([parameters.joining(notes) for notes in range(parameters.most + 2)])
    shared = parameters.shared_weight * joining[np.minimum(named_by, parameters.most + 1)]
    offset, entities = len(arrays["titled.starts"]) - 1, len(titling)
    titled_notes, notes = (
        np.repeat(np.arange(offset), np.diff(arrays[f"{name}.starts"])) for name in ("titled", "mentioned")
    )
    titles, named = (arrays[f"{name}.values"].astype(np.int64) for name in ("titled", "mentioned"))
    source = np.concatenate([titled_notes, titles + offset, notes, named + offset])
    target = np.concatenate([titles + offset, titled_notes, named + offset, notes])
    own = np.full(len(titles), parameters.title_weight)
    to_named = np.where(titling[named] > 0, parameters.title_weight, shared[named])
    weight = np.concatenate([own, own, to_named, shared[named]])
    kept = weight > 0
    size = offset + entities
    starts, targets, weights = by_row(source[kept], target[kept], weight[kept], size)
    sums = np.add.reduceat(np.append(weights, 0.0), starts[:-1]) if len(weights) else np.ones(size)
    return {
        "walk.starts": starts,
        "walk.targets": targets.astype(np.int32),
        "walk.weights": weights / np.repeat(sums, np.diff(starts)),
    }


_REFERRING = {
    "documents": ("document",),
    "keys": ("name.keys", "mention.keys"),
    "texts": ("title", "name.texts", "mention.texts"),
    "terms": ("term.values",),
}
"""Tables, and the arrays of numbers into each."""
_LISTS = {"name": ("keys", "texts"), "mention": ("keys", "texts"), "term": ("values",)}
"""Lists by note, and the arrays that hold their values."""
_EACH = ("document", "title")
"""Arrays with one number for each note."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Some notes as they were written, numbered by their place in `notes`, with tables of their own."""

    notes: list[str]
    tables: Mapping[str, Sequence[str]]
    arrays: Mapping[str, NDArray[Any]]
    """Also the lengths of the lists by note, `name.lengths`."""


def joined(
    base: Arrays | None, changes: Mapping[str, NoteFacts | None], parameters: RankingParameters
) -> dict[str, NDArray[Any]]:
    """Return the arrays of a graph, from those before changes by note id; a change replaces what was known of it."""
    parts = [_gathered({note: facts for note, facts in changes.items() if facts is not None})]
    if base is not None:
        parts.insert(0, _kept(base, list(changes)))
    ids = [note for part in parts for note in part.notes]
    order = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
    arrays: dict[str, NDArray[Any]] = dict(string_arrays([ids[row] for row in order.tolist()], "notes"))
    for table, names in _REFERRING.items():
        numbers, used = _renumbered(table, names, parts)
        arrays |= numbers | string_arrays(used, table)
    arrays |= {name: arrays[name][order] for name in _EACH}
    for name, values in _LISTS.items():
        lengths = np.concatenate([part.arrays[f"{name}.lengths"] for part in parts])
        places = places_of(starts_of(lengths), order)
        arrays |= {f"{name}.{one}": arrays[f"{name}.{one}"][places] for one in values}
        arrays[f"{name}.starts"] = starts_of(lengths[order])
    return arrays | derived(arrays, parameters)


def _gathered(facts: Mapping[str, NoteFacts]) -> _Part:
    tables = {table: defaultdict[str, int](count().__next__) for table in _REFERRING}  # numbered as they are met
    documents, keys, texts, terms = tables.values()
    found: dict[str, list[int]] = {name: [] for names in _REFERRING.values() for name in names}
    found |= {f"{name}.lengths": [] for name in _LISTS}
    for one in facts.values():
        found["document"].append(documents[one.document_id])
        found["title"].append(texts[one.title])
        for name, pairs in (("name", one.names), ("mention", one.mentions)):
            found[f"{name}.keys"] += [keys[key] for key, _ in pairs]
            found[f"{name}.texts"] += [texts[text] for _, text in pairs]
            found[f"{name}.lengths"].append(len(pairs))
        found["term.values"] += [terms[term] for term in sorted(one.terms)]
        found["term.lengths"].append(len(one.terms))
    arrays = {name: np.array(values, np.int32) for name, values in found.items()}
    return _Part(list(facts), {table: list(numbers) for table, numbers in tables.items()}, arrays)


def _kept(base: Arrays, changed: Sequence[str]) -> _Part:
    """Return what is left of a graph when the changed notes are taken out."""
    ids = StringTable(base, "notes")
    alive = np.ones(len(ids), bool)
    rows = ids.find(changed)
    alive[rows[rows >= 0]] = False
    notes = np.flatnonzero(alive)
    arrays: dict[str, NDArray[Any]] = {name: base[name][notes] for name in _EACH}
    for name, values in _LISTS.items():
        starts = base[f"{name}.starts"]
        places = places_of(starts, notes)
        arrays[f"{name}.lengths"] = np.diff(starts)[notes]
        arrays |= {f"{name}.{one}": base[f"{name}.{one}"][places] for one in values}
    left = [note for note, kept in zip(ids, alive.tolist(), strict=True) if kept]
    return _Part(left, {table: list(StringTable(base, table)) for table in _REFERRING}, arrays)


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
