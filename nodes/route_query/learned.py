"""Strategy `learned-v1`: a small calibrated linear model over the same features and hashed character n-grams.

Its weights are data, made by `theworld router train`. It chooses among the paths that search; small talk is told by the
rules, and a path it is unsure of is widened like any other.
"""

from __future__ import annotations

import json
import zlib
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from theworld.errors import SettingsError
from theworld.nodes.route_query.features import SIGNAL_KINDS, Features
from theworld.nodes.route_query.rules import Rules
from theworld.nodes.route_query.strategies import Choice
from theworld.state import RoutePath
from theworld.text import fold

FloatArray = NDArray[np.float64]
PATHS: tuple[RoutePath, ...] = ("sql", "sparse", "dense", "graph", "hybrid")
BUCKETS = 256
"""Buckets of hashed n-grams."""
BUNDLED = "learned-v1.json"


def vector_of(query: str, features: Features) -> FloatArray:
    """Return the features of a query as numbers in about [0, 1], shape (width(),)."""
    view = features.database
    counts = [min(3, len(features.signals.get(kind, ()))) / 3 for kind in SIGNAL_KINDS]
    chosen = Rules().choose(query, features).path
    dense = [
        *counts,
        *(float(count > 0) for count in counts),
        features.literal,
        float(features.quoted),
        float(features.named),
        min(1.0, features.length / 60),
        float(features.language == "zh"),
        float(view.available),
        float(view.understood),
        min(3, view.fields) / 3,
        min(3, view.values) / 3,
        min(3, view.entities) / 3,
        min(2, view.relations) / 2,
        min(3, view.measures) / 3,
        float(view.periods > 0),
        view.unknown,
        *(float(path == chosen) for path in PATHS),
        1.0,
    ]
    return np.concatenate([np.asarray(dense), _grams(query)])


def width() -> int:
    """Return the length of a vector."""
    return 2 * len(SIGNAL_KINDS) + 14 + len(PATHS) + 1 + BUCKETS


def _grams(query: str) -> FloatArray:
    """Return the hashed character 2- and 3-grams of a query, of unit length times a half."""
    text = f" {' '.join(fold(query).split())} "
    found = np.zeros(BUCKETS)
    for size in (2, 3):
        for i in range(len(text) - size + 1):
            code = zlib.crc32(text[i : i + size].encode("utf-8", "replace"))
            found[code % BUCKETS] += 1.0 if code & 0x8000 else -1.0
    norm = float(np.linalg.norm(found))
    return found / norm / 2 if norm else found


class LearnedStrategy:
    """A multinomial logistic model; its weights come from a file."""

    def __init__(self, weights: FloatArray, temperature: float, name: str) -> None:
        if weights.shape != (len(PATHS), width()):
            raise SettingsError(
                f"weights of shape {weights.shape} do not fit, {(len(PATHS), width())} is expected",
                where="router.weights",
                remedy="Train them again with `theworld router train`.",
            )
        self.name = name
        self._weights, self._temperature = weights, temperature

    @classmethod
    def load(cls, file: Path | None = None) -> LearnedStrategy:
        """Return the strategy of a weights file, the bundled one by default; SettingsError when it is none."""
        try:
            text = file.read_text("utf-8") if file is not None else _bundled()
            data: dict[str, Any] = json.loads(text)
            weights = np.asarray(data["weights"], dtype=np.float64)
            return cls(weights, float(data["temperature"]), str(data["name"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SettingsError(
                f"no weights can be read: {type(error).__name__}: {error}",
                where=str(file or BUNDLED),
                remedy="Make them with `theworld router train`.",
            ) from error

    def probabilities(self, query: str, features: Features) -> FloatArray:
        """Return the calibrated probability of each path, in the order of PATHS."""
        scores = self._weights @ vector_of(query, features) / self._temperature
        exps = np.exp(scores - scores.max())
        return cast("FloatArray", exps / exps.sum())

    def choose(self, query: str, features: Features) -> Choice:
        """Return the most probable path, `sql` only with a database; small talk as the rules say."""
        ruled = self._rules.choose(query, features)
        if ruled.path == "none":
            return ruled
        probabilities = self.probabilities(query, features)
        allowed = [i for i, path in enumerate(PATHS) if path != "sql" or features.database.available]
        best = max(allowed, key=lambda i: (probabilities[i], -i))
        path = PATHS[best]
        intent = ruled.intent if path == ruled.path else _INTENT_OF.get(path, ruled.intent)
        said = f"learned: {path} {probabilities[best]:.2f}; the rules say {ruled.path}"
        return Choice(path, intent, float(probabilities[best]), (said, *ruled.reasons))

    @cached_property
    def _rules(self) -> Rules:
        return Rules()


_INTENT_OF: dict[str, Any] = {"sql": "statistics", "graph": "relation", "dense": "question", "sparse": "detail"}


def _bundled() -> str:
    return (files("theworld.nodes.route_query") / "data" / BUNDLED).read_text("utf-8")
