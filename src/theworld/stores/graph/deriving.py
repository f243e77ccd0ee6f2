"""What follows from the notes as they were written: who names what, labels, and the edges of the random walk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import IntArray
from theworld.stores.array_folder import Arrays
from theworld.stores.graph.pagerank import Floats
from theworld.stores.graph.parameters import RankingParameters
from theworld.stores.string_table import Rows


def by_row(rows: Rows, columns: Rows, weights: Floats, size: int) -> tuple[Rows, Rows, Floats]:
    """Return the edges of a square matrix in order: where those of each row begin (size + 1,), columns and weights.

    The weights of one that is there twice are added.
    """
    edges, places = np.unique(rows * size + columns, return_inverse=True)
    summed = np.bincount(places, weights=weights, minlength=len(edges)).astype(np.float64)
    return np.searchsorted(edges, np.arange(size + 1) * size), edges % size, summed


def derived(arrays: Arrays, parameters: RankingParameters) -> dict[str, NDArray[Any]]:
    """Return the arrays that follow from `name.*` and `mention.*`; see theworld.stores.graph.columns."""
    notes, entities = len(arrays["name.starts"]) - 1, len(arrays["keys.offsets"]) - 1
    names, mentions = _pairs(arrays, "name", entities), _pairs(arrays, "mention", entities)
    mentions = np.setdiff1d(mentions, names, assume_unique=True)
    found: dict[str, NDArray[Any]] = {"label": labels(arrays, entities)}
    for by_note, by_entity, pairs in (("titled", "titles", names), ("mentioned", "mentions", mentions)):
        note, entity = np.divmod(pairs, max(entities, 1))
        found |= _lists(by_note, note, entity, notes)
        order = np.argsort(entity, kind="stable")
        found |= _lists(by_entity, entity[order], note[order], entities)
    return found | walk_arrays(found, parameters)


def _pairs(arrays: Arrays, name: str, entities: int) -> Rows:
    """Return the distinct (note, entity) pairs, each as one number, ascending."""
    starts = arrays[f"{name}.starts"]
    notes = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.unique(notes * entities + arrays[f"{name}.keys"])


def _lists(name: str, owners: Rows, values: Rows, count: int) -> dict[str, NDArray[Any]]:
    starts = np.searchsorted(owners, np.arange(count + 1))
    return {f"{name}.starts": starts.astype(np.int64), f"{name}.values": values.astype(np.int32)}


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


def rarities(named_by: Rows, parameters: RankingParameters) -> Floats:
    """Return the weight of a link over entities that so many notes name; 0 for a hub or what joins nothing, (n,)."""
    table = np.array([parameters.rarity(notes) for notes in range(parameters.most + 1)])
    joins = (parameters.fewest <= named_by) & (named_by <= parameters.most)
    return np.where(joins, table[np.minimum(named_by, parameters.most)], 0.0)


def walk_arrays(arrays: Mapping[str, NDArray[Any]], parameters: RankingParameters) -> dict[str, NDArray[Any]]:
    """Return the random walk over notes (first) and entities: targets and probabilities of each node's edges.

    From a note to its titles and, by rarity, the entities it mentions (1 for a title of some document); from an
    entity to what it titles and, by rarity, to what mentions it. A node may lead nowhere.
    """
    titling, mentioning = np.diff(arrays["titles.starts"]), np.diff(arrays["mentions.starts"])
    shared = parameters.shared_weight * rarities(titling + mentioning, parameters)
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
