"""Fit the confidence of short answers, and judge each set with what was fitted on the others.

    python benchmarks/fit_answers.py FOLDER=STORE [...] [--kept DIR]

- The weights of the spans' features (`theworld/answers/spans.py`): conditional logistic regression on the questions
  whose gold answer is among the spans, of the sets named in ONE_NOTE: questions over several notes are not for spans.
- The confidence (`theworld/answers/confidence.py`): one logistic function of its signs, every question with an answer
  a case, each set counting by the square root of its size. A set is judged with weights fitted on the others, those
  of one source (SOURCES) left out together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass

import numpy as np
from answer_states import Asked, arguments_of, states_of
from environment import environment
from numpy.typing import NDArray
from scipy.optimize import minimize

from theworld.answers.confidence import SIGNS, WEIGHTS
from theworld.answers.spans import SpanFeatures, rank_spans, span_words
from theworld.nodes.answer_with_entity import read_answer
from theworld.questions import read_question
from theworld.settings import AnswerSettings

Array = NDArray[np.float64]
ONE_NOTE = {"drcd-zh-dev"}
SOURCES = {
    "civic": "documents, English",
    "devguide": "documents, English",
    "howtocook": "documents, Chinese",
    "rocketmq": "documents, Chinese",
    "hotpotqa-dev200": "HotpotQA",
    "hotpotqa-train100": "HotpotQA",
}
SHOWN = AnswerSettings().min_confidence
RIDGE = 0.5


@dataclass(frozen=True)
class Case:
    """One answer."""

    source: str
    signs: tuple[float, ...]
    right: bool


def cases_of(name: str, asked: Sequence[Asked]) -> list[Case]:
    """Return the answers to the questions of a set, whatever their confidence."""
    found = []
    for one in asked:
        answer = read_answer(one.state, AnswerSettings())
        if answer is not None and answer.signs:
            found.append(Case(SOURCES.get(name, name), answer.signs, one.is_right(answer.text)))
    return found


def fit_confidence(cases: Sequence[Case]) -> Array:
    """Return the weights of the signs."""
    rows = np.array([case.signs for case in cases])
    right = np.array([case.right for case in cases], dtype=float)
    sizes = {case.source: sum(other.source == case.source for other in cases) for case in cases}
    counts = np.array([1 / math.sqrt(sizes[case.source]) for case in cases])
    counts *= len(cases) / counts.sum()

    def loss(weights: Array) -> tuple[float, Array]:
        odds = rows @ weights
        held = np.where(np.arange(len(weights)) > 0, RIDGE * weights, 0.0)
        value = counts @ (np.logaddexp(0, odds) - right * odds) + held @ weights / 2
        return float(value), rows.T @ (counts * (1 / (1 + np.exp(-odds)) - right)) + held

    return np.asarray(minimize(loss, np.zeros(rows.shape[1]), jac=True).x)


def judge(title: str, cases: Sequence[Case], weights: Array | Sequence[float]) -> None:
    """Print how many answers would be shown, and how many of those are right."""
    shown = [case for case in cases if 1 / (1 + math.exp(-float(np.dot(case.signs, weights)))) >= SHOWN]
    stated = [case for case in shown if case.signs[SIGNS.index("stated")]]
    right = sum(case.right for case in shown)
    print(
        f"  {title:20} {len(cases):4} answers, shown {len(shown):4}, right {right:4} "
        f"({right / max(1, len(shown)):.3f}); of facts stated {sum(case.right for case in stated)} of {len(stated)}"
    )


def fit_spans(asked: Sequence[Asked]) -> tuple[Array, int]:
    """Return the weights of the spans' features, and on how many questions they were fitted."""
    questions = []
    for one in asked:
        question, evidence = read_question(one.state.query, one.state.language), one.state.evidence
        ranking = rank_spans(question, span_words(question, evidence), evidence) if question.answer_type.types else []
        right = np.array([one.is_right(span.text) for span in ranking], dtype=float)
        if right.any():
            questions.append((np.array([astuple(span.features) for span in ranking]), right / right.sum()))

    def loss(weights: Array) -> tuple[float, Array]:
        value, gradient = float(weights @ weights) / 2, weights.copy()
        for rows, right in questions:
            scores = rows @ weights
            shares = np.exp(scores - np.logaddexp.reduce(scores))
            value -= float(np.log(right @ shares + 1e-12))
            gradient -= rows.T @ (right * shares / (right @ shares + 1e-12) - shares)
        return value, gradient

    size = len(asdict(SpanFeatures(0, 0, 0, 0, 0)))
    return np.asarray(minimize(loss, np.zeros(size), jac=True).x), len(questions)


def main() -> None:
    """Fit both, and judge every set."""
    arguments = arguments_of(__doc__)
    print(environment())
    states = {folder.name: states_of(folder, store, arguments.kept) for folder, store in arguments.sets}
    alone = [one for name, asked in states.items() if name in ONE_NOTE for one in asked]
    if alone:
        weights, count = fit_spans(alone)
        fitted = {
            name: round(float(w), 2) for name, w in zip(asdict(SpanFeatures(0, 0, 0, 0, 0)), weights, strict=True)
        }
        print(f"spans, fitted on {count} questions: {fitted}")
    cases = [case for name, asked in states.items() for case in cases_of(name, asked)]
    sources = list(dict.fromkeys(case.source for case in cases))
    print(f"shown from {SHOWN}, fitted on the other sets:")
    for source in sources:
        others = fit_confidence([case for case in cases if case.source != source])
        judge(source, [case for case in cases if case.source == source], others)
    print(f"as in the code {WEIGHTS}:")
    for source in sources:
        judge(source, [case for case in cases if case.source == source], WEIGHTS)
    print(f"fitted on all: {[round(float(weight), 2) for weight in fit_confidence(cases)]} of {SIGNS}")


if __name__ == "__main__":
    main()
