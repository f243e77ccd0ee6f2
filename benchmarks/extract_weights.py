r"""Fit the weights of extractive answers on BEIR folders of one language, and print them for weights.yaml.

    theworld eval retrieval FOLDER        # makes the stores; their places are printed
    python benchmarks/extract_weights.py FOLDER=STORE [FOLDER=STORE ...]

Conditional logistic regression over all pairs of sentences of a question's evidence: the summed probability of the
pairs that hold the gold answer is maximised, every data set counting as 100 questions. The shares printed are out of
fold (four folds). Yes/no questions are left out. `--keep LANGUAGE` leaves the signals across notes the weights they
have in weights.yaml for that language, for sets that ask of one note each.

With `--confidence` only the weights of the confidence are fitted, by logistic regression over the sentences that the
weights of weights.yaml choose. Every question is asked twice: as it is, and with its gold documents hidden, when the
sentences seldom hold the answer; the latter count as `ABSENT` of all. Printed, out of fold and for the sets of
`--held`, on which nothing is fitted: the calibration error, beside that of the coverage alone, and for some least
confidences the share of hidden answers that are silent and of right answers that would be lost. The confidences of
weights.yaml are those of

    python benchmarks/extract_weights.py --confidence hotpotqa-train100=A 2wiki-train500=B musique-train100=C \
        --held hotpotqa-dev200=D
    python benchmarks/extract_weights.py --confidence drcd-zh-dev=E --every 2

with the folders' paths and, for A to E, the places of their stores.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from answers import states_of
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from theworld.evaluation.answers import answerable_queries
from theworld.evaluation.datasets import Query, load_dataset
from theworld.evaluation.metrics import calibration_error, contains
from theworld.nodes.answer_with_extract.confidence import SIGNS
from theworld.nodes.answer_with_extract.node import extract_answer
from theworld.nodes.answer_with_extract.options import read_options
from theworld.nodes.answer_with_extract.question_tokens import question_weights
from theworld.nodes.answer_with_extract.sentences import weights_for
from theworld.nodes.answer_with_extract.signals import PAIR_SIGNALS, SENTENCE_SIGNALS, Floats, read_signals
from theworld.settings import AnswerSettings
from theworld.state import QueryState

FOLDS = 4
L2 = 0.5
ABSENT = 0.25
"""Share of the questions that the documents do not answer, as the confidence assumes."""
LEAST = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
ACROSS_NOTES = ("bridged", "linked_", "compared", "both_compared")
"""Beginnings of the names of signals across notes."""


@dataclass(frozen=True)
class Example:
    """One question: signals of every pair, and which pairs hold the answer."""

    signals: Floats
    """Shape (pairs, signals)."""
    right: Floats
    """Shape (pairs,), 0 or 1."""


def examples(states: Iterable[tuple[Query, QueryState]]) -> list[Example]:
    """Return an example for every question that is not yes/no and has two sentences to choose from."""
    found = []
    for query, state in states:
        evidence = state.evidence[: AnswerSettings().evidence_notes]
        options = read_options(evidence)
        wanted = question_weights(state.query, state.candidates or evidence)
        if len(options) < 2 or not wanted or query.answers[0].casefold() in {"yes", "no"}:
            continue
        signals = read_signals(state.query, state.language, evidence, options, wanted)
        holds = np.array(
            [contains(f"{evidence[option.note].title}: {option.text}", query.answers) for option in options]
        )
        left, right = np.triu_indices(len(options), 1)
        rows = np.hstack([signals.sentence[left] + signals.sentence[right], signals.pair[:, left, right].T])
        found.append(Example(rows, np.maximum(holds[left], holds[right])))
    return found


def kept_weights(language: str | None) -> Floats:
    """Return the weights that are not fitted: those of signals across notes, NaN for all others."""
    names = [*SENTENCE_SIGNALS, *PAIR_SIGNALS]
    if language is None:
        return np.full(len(names), np.nan)
    known = weights_for(language)
    given = zip(names, np.concatenate([known.sentence, known.pair]), strict=True)
    return np.array([weight if name.startswith(ACROSS_NOTES) else np.nan for name, weight in given])


def fit(sets: Sequence[Sequence[Example]], kept: Floats) -> Floats:
    """Return the weights that make right pairs most probable; those in `kept` that are no NaN stay."""
    free = np.isnan(kept)
    every = [(item, 100 / len(items)) for items in sets for item in items if 0 < item.right.sum() < len(item.right)]

    def loss(fitted: Floats) -> tuple[float, Floats]:
        weights = np.where(free, fitted, kept)
        total, slope = L2 * float(fitted @ fitted), 2 * L2 * fitted
        for item, counts in every:
            scores = item.signals @ weights
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            mass = float(shares @ item.right)
            total -= counts * np.log(max(mass, 1e-300))
            slope -= counts * (shares * item.right / max(mass, 1e-300) - shares) @ item.signals
        return total, np.where(free, slope, 0.0)

    start = np.zeros(every[0][0].signals.shape[1])
    found: Floats = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 150}).x
    return np.where(free, found, kept)


def out_of_fold(sets: Sequence[Sequence[Example]], kept: Floats) -> list[float]:
    """Return, by set, the share of questions whose best pair holds the answer under weights fitted without them."""
    right: list[list[float]] = [[] for _ in sets]
    for fold in range(FOLDS):
        weights = fit([[item for number, item in enumerate(items) if number % FOLDS != fold] for items in sets], kept)
        for found, items in zip(right, sets, strict=True):
            found += [float(item.right[np.argmax(item.signals @ weights)]) for item in items[fold::FOLDS]]
    return [float(np.mean(found)) for found in right]


@dataclass(frozen=True)
class Extracts:
    """The extracts of one set, of questions whose answer is in the store and of such whose is hidden."""

    signs: Floats
    """Shape (n, signs)."""
    holds: Floats
    """1 where the sentences hold the answer, shape (n,)."""
    absent: Floats
    """1 where the gold documents were hidden, shape (n,)."""

    def only(self, chosen: NDArray[np.bool_]) -> Extracts:
        """Return some of them."""
        return Extracts(self.signs[chosen], self.holds[chosen], self.absent[chosen])

    @property
    def counts(self) -> Floats:
        """How much each counts: a set as 100 questions, hidden answers as `ABSENT` of it."""
        share = np.where(self.absent > 0, ABSENT, 1 - ABSENT)
        return 100 * share / np.where(self.absent > 0, self.absent.sum(), (1 - self.absent).sum())

    @property
    def folds(self) -> NDArray[np.int_]:
        """The fold of each; a question is in the same one with and without its answer."""
        return np.concatenate([np.arange(n) % FOLDS for n in (int((1 - self.absent).sum()), int(self.absent.sum()))])


def read_extracts(given: str, every: int) -> Extracts:
    """Return the extracts of every so many-th question of FOLDER=STORE, without yes/no ones and those without notes."""
    signs, holds, absent = [], [], []
    for hidden in (False, True):
        for query, state in _states(given, every, without_gold=hidden):
            evidence = state.evidence[: AnswerSettings().evidence_notes]
            extract = extract_answer(state.query, state.language, evidence, state.candidates)
            if extract.sentences and query.answers[0].casefold() not in {"yes", "no"}:
                text = "\n".join(f"{evidence[item.note].title}: {item.text}" for item in extract.sentences)
                signs.append(extract.signs)
                holds.append(contains(text, query.answers))
                absent.append(float(hidden))
    return Extracts(np.array(signs), np.array(holds), np.array(absent))


def fit_confidence(sets: Sequence[Extracts]) -> Floats:
    """Return the logistic regression's weights of the signs."""
    signs = np.vstack([one.signs for one in sets])
    holds = np.concatenate([one.holds for one in sets])
    counts = np.concatenate([one.counts for one in sets])

    def loss(weights: Floats) -> tuple[float, Floats]:
        odds = signs @ weights
        kept = np.append(0.0, weights[1:])
        total = counts @ (np.logaddexp(0.0, odds) - holds * odds) + L2 * float(kept @ kept)
        return float(total), (counts * (expit(odds) - holds)) @ signs + 2 * L2 * kept

    # Each sign speaks for an answer by its meaning: a negative weight would only tell the sets apart.
    bounds = [(None, None), *[(0.0, None)] * (signs.shape[1] - 1)]
    found: Floats = minimize(loss, np.zeros(signs.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x
    return found


def print_confidence(names: Sequence[str], sets: Sequence[Extracts], held: int) -> None:
    """Print what the confidences are worth, and the weights; the last `held` sets are not fitted on."""
    fitted = sets[: len(sets) - held]
    for number, (name, one) in enumerate(zip(names, sets, strict=True)):
        stated = np.zeros(len(one.holds))
        for fold in range(FOLDS):
            rest = [other.only(other.folds != fold) for other in fitted] if number < len(fitted) else fitted
            stated[one.folds == fold] = expit(one.signs[one.folds == fold] @ fit_confidence(rest))
        _print_set(name, one, stated, "out of fold" if number < len(fitted) else "not fitted on")
    rounded = {name: round(float(w), 2) for name, w in zip(SIGNS, fit_confidence(fitted), strict=True)}
    print(yaml.safe_dump({"confidence": rounded}, sort_keys=False))


def _print_set(name: str, one: Extracts, stated: Floats, kind: str) -> None:
    right, hidden = (one.absent == 0) & (one.holds > 0), one.absent > 0
    coverage = one.signs[:, list(SIGNS).index("coverage")]
    before, after = (
        calibration_error(list(zip(row.tolist(), one.holds > 0, strict=True)), weights=one.counts.tolist())
        for row in (coverage, stated)
    )
    print(
        f"{name} ({kind}): holds {one.holds[~hidden].mean():.3f}, with the gold hidden {one.holds[hidden].mean():.3f}; "
        f"calibration error {after:.3f} (of the coverage {before:.3f}); "
        f"median confidence {np.median(stated[~hidden]):.2f}, hidden {np.median(stated[hidden]):.2f}"
    )
    for least in LEAST:
        print(
            f"  at least {least:.2f}: {np.mean(stated[hidden] < least):.3f} of the hidden are silent, "
            f"{np.mean(stated[right] < least):.3f} of the right are lost"
        )


def as_yaml(weights: Floats) -> str:
    """Return the weights by name."""
    rounded = [round(float(weight), 2) for weight in weights]
    names = [*SENTENCE_SIGNALS, *PAIR_SIGNALS]
    table = dict(zip(names, rounded, strict=True))
    return yaml.safe_dump(
        {"sentence": {n: table[n] for n in SENTENCE_SIGNALS}, "pair": {n: table[n] for n in PAIR_SIGNALS}},
        sort_keys=False,
    )


def _states(given: str, every: int = 1, *, without_gold: bool = False) -> Iterable[tuple[Query, QueryState]]:
    folder, _, store = given.partition("=")
    queries = answerable_queries(load_dataset(Path(folder)))[::every]
    return states_of(queries, Path(store), without_gold=without_gold)


def main() -> None:
    """Print out-of-fold shares and weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="FOLDER=STORE")
    parser.add_argument("--keep", metavar="LANGUAGE", help="en or zh: leave the signals across notes as they are")
    parser.add_argument("--confidence", action="store_true", help="fit the confidence, not the choice")
    parser.add_argument("--held", nargs="*", default=[], metavar="FOLDER=STORE", help="sets on which nothing is fitted")
    parser.add_argument("--every", type=int, default=1, help="with --confidence: only every so many-th question")
    arguments = parser.parse_args()
    if arguments.confidence:
        every = [*arguments.sets, *arguments.held]
        names = [Path(one.partition("=")[0]).name for one in every]
        print_confidence(names, [read_extracts(one, arguments.every) for one in every], len(arguments.held))
        return
    names, sets, kept = [], [], kept_weights(arguments.keep)
    for given in arguments.sets:
        names.append(Path(given.partition("=")[0]).name)
        sets.append(examples(_states(given)))
    for name, share in zip(names, out_of_fold(sets, kept), strict=True):
        print(f"{name}: best pair holds the answer in {share:.3f} out of fold")
    print(as_yaml(fit(sets, kept)))


if __name__ == "__main__":
    main()
