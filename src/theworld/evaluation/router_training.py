"""Training of the router's linear model, and what a switch to it would have done, from labelled or logged requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from theworld.errors import IngestionError
from theworld.evaluation.datasets import read_lines
from theworld.nodes.route_query.learned import PATHS, LearnedStrategy
from theworld.state import RoutePath

FloatArray = NDArray[np.float64]
PENALTY = 0.01
"""L2 penalty per weight, on the mean log loss."""
FOLDS = 5


class Trained(NamedTuple):
    """A trained model and how well it did on questions it had not seen."""

    strategy: LearnedStrategy
    weights: FloatArray
    temperature: float
    cross_validated: float
    """Share of right paths over the folds."""


def train(vectors: FloatArray, labels: Sequence[RoutePath], *, name: str) -> Trained:
    """Return a multinomial logistic model of vectors, shape (n, width), its temperature fitted on held-out folds.

    Raises IngestionError for fewer vectors than folds.
    """
    if len(labels) < FOLDS:
        raise IngestionError(
            f"{len(labels)} questions are too few to train on, once a third is held back; at least {FOLDS} are needed.",
            where="router training",
            remedy="Label more questions, of every path you want it to take.",
        )
    targets = np.array([PATHS.index(label) for label in labels])
    folds = np.arange(len(targets)) % FOLDS
    scores = np.zeros((len(targets), len(PATHS)))
    for fold in range(FOLDS):
        weights = _fit(vectors[folds != fold], targets[folds != fold])
        scores[folds == fold] = vectors[folds == fold] @ weights.T
    found = minimize_scalar(lambda t: _loss(scores / t, targets), bounds=(0.2, 5.0), method="bounded")
    weights = np.round(_fit(vectors, targets), 3)
    temperature = round(float(found.x), 3)
    right = float((scores.argmax(axis=1) == targets).mean())
    return Trained(LearnedStrategy(weights, temperature, name), weights, temperature, right)


def save(trained: Trained, file: Path) -> None:
    """Write the weights; a file that is there is replaced at once."""
    data = {
        "name": trained.strategy.name,
        "temperature": trained.temperature,
        "weights": trained.weights.tolist(),
    }
    unfinished = file.with_name(f"{file.name}.new")
    unfinished.write_text(json.dumps(data, separators=(",", ":")) + "\n", "utf-8")
    unfinished.replace(file)


def _fit(vectors: FloatArray, targets: NDArray[np.int64]) -> FloatArray:
    shape = (len(PATHS), vectors.shape[1])
    wanted = np.eye(len(PATHS))[targets]

    def cost(flat: FloatArray) -> tuple[float, FloatArray]:
        weights = flat.reshape(shape)
        scores = vectors @ weights.T
        gradient = (_softmax(scores) - wanted).T @ vectors / len(targets) + PENALTY * weights
        return _loss(scores, targets) + PENALTY / 2 * float((weights**2).sum()), gradient.ravel()

    found: Any = minimize(cost, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B")
    return cast("FloatArray", found.x.reshape(shape))


def _softmax(scores: FloatArray) -> FloatArray:
    exps = np.exp(scores - scores.max(axis=1, keepdims=True))
    return cast("FloatArray", exps / exps.sum(axis=1, keepdims=True))


def _loss(scores: FloatArray, targets: NDArray[np.int64]) -> float:
    shifted = scores - scores.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return float(-logs[np.arange(len(targets)), targets].mean())


class Logged(NamedTuple):
    """One logged request: which way it went, with what probability, and whether its answer was accepted."""

    question: str
    path: RoutePath
    success: bool
    propensity: float


class OffPolicy(NamedTuple):
    """What another strategy would have achieved on logged requests."""

    logged: float
    """Success of what was done."""
    estimate: float
    """Self-normalised inverse-propensity estimate of the other strategy's success."""
    error: float
    """Its standard error."""
    matched: int
    """Requests on which both agree: the estimate rests on these alone."""


def read_log(file: Path) -> list[Logged]:
    """Return the requests of a JSON-lines file with question, path, success and propensity (1 when missing).

    Raises IngestionError naming the line that is wrong, or when the file cannot be read.
    """
    form = 'One JSON object a line: {"question": ..., "path": ..., "success": true, "propensity": 0.9}.'
    found = []
    for number, line in read_lines(file, form):
        try:
            row = json.loads(line)
            item = Logged(str(row["question"]), row["path"], bool(row["success"]), float(row.get("propensity", 1.0)))
            if item.path not in get_args(RoutePath) or not 0 < item.propensity <= 1:
                raise ValueError("path or propensity out of range")
        except (ValueError, KeyError, TypeError) as error:
            raise IngestionError(
                f"line {number} is no logged request ({type(error).__name__}: {error})",
                where=str(file),
                remedy=form,
            ) from error
        found.append(item)
    return found


def off_policy(log: Sequence[Logged], choose: Callable[[str], RoutePath]) -> OffPolicy:
    """Return what a strategy would have achieved on the logged requests; all zero when they agree on none."""
    success = np.array([float(item.success) for item in log])
    agree = np.array([choose(item.question) == item.path for item in log], dtype=bool)
    weights = agree / np.array([item.propensity for item in log])
    if not log or not weights.sum():
        return OffPolicy(float(success.mean()) if log else 0.0, 0.0, 0.0, 0)
    estimate = float((weights * success).sum() / weights.sum())
    error = float(np.sqrt((weights**2 * (success - estimate) ** 2).sum()) / weights.sum())
    return OffPolicy(float(success.mean()), estimate, error, int(agree.sum()))
