"""Fit what decides by evidence, and judge each set with what was fitted on the others.

    theworld eval documents SET --store STORES      # and `theworld eval retrieval FOLDER`: they make the stores
    python benchmarks/fit_evidence.py SET=STORE FOLDER=STORE [...] [--limit N]

A SET holds corpus/ and questions.jsonl, a FOLDER is in the BEIR layout. Two logistic functions are fitted:

- the graph's share in fusion (`src/theworld/ranking/fusion.py`): whether the graph's list beats words and vectors
  on a question, weighed by how much (nDCG@10 by document), each set counting by the square root of its mean gain. Twice
  the fitted weights are used: in between, the mixture of both lists loses to either;
- sureness (`src/theworld/answers/sureness.py`): whether the gold documents are there, each question asked twice, once
  with its gold documents hidden; by language, or across two. Half of the weight lies on questions whose gold
  documents are there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from environment import environment
from langgraph.runtime import Runtime
from numpy.typing import NDArray
from scipy.optimize import minimize

from theworld.answers.sureness import WEIGHTS as SURENESS
from theworld.answers.sureness import language_of
from theworld.answers.sureness import signs as sureness_signs
from theworld.evaluation.datasets import load_dataset
from theworld.evaluation.documents.question_set import load_question_set
from theworld.evaluation.metrics import ndcg_at
from theworld.evaluation.retrieval import documents_of
from theworld.graph import build, build_graph, open_resources
from theworld.nodes.fuse_candidates import fuse_candidates
from theworld.questions import Question, read_question
from theworld.ranking import fuse_minmax
from theworld.ranking.fusion import signs as graph_signs
from theworld.settings import Settings
from theworld.state import Candidate, ChannelResult, Context, QueryState, Update

Array = NDArray[np.float64]
DEADLINE_MS = 60_000
LOW = 0.3
WEIGHTS = {"sparse": 0.45, "dense": 0.55}
SHARPNESS = 2.0


@dataclass(frozen=True)
class Asked:
    """One question: what its channels brought, and its candidates with and without its gold documents."""

    question: Question
    gold: Mapping[str, int]
    channels: Mapping[str, ChannelResult]
    found: Sequence[Candidate]
    hidden: Sequence[Candidate]


def questions_of(folder: Path, limit: int | None) -> list[tuple[str, dict[str, int]]]:
    """Return (question, gold documents) of a set of documents or a BEIR folder; unanswerable ones have none."""
    if (folder / "questions.jsonl").exists():
        questions = load_question_set(folder, limit).questions
        return [(q.question, {file: 1 for files in q.accepted_files for file in files}) for q in questions]
    return [(query.text, dict(query.grades)) for query in load_dataset(folder).queries if query.grades][:limit]


def asked(folder: Path, store: Path, limit: int | None) -> Iterator[Asked]:
    """Ask every question of a set twice, the second time without its gold documents."""
    hidden: set[str] = set()

    def fuse(state: QueryState, runtime: Runtime[Context], **given: Any) -> Update:
        update = fuse_candidates(state, runtime, **given)
        left = [one for one in update["candidates"] if one.document_id not in hidden]
        return update | {"candidates": left, "evidence": left[: len(update["evidence"])]}

    fuse.__name__ = "fuse_candidates"
    build.fuse_candidates = fuse
    context = Context(deadline_ms=DEADLINE_MS, use_model=False)
    with open_resources(Settings(store=store)) as resources:
        graph = build_graph(resources)
        for question, gold in questions_of(folder, limit):
            runs = []
            for hide in (False, True):
                hidden.clear()
                hidden.update(gold if hide else ())
                runs.append(
                    graph.invoke({"question": question}, context=context, output_keys=["candidates", "channel_results"])
                )
            read, channels = read_question(question), runs[0]["channel_results"]
            yield Asked(read, gold, channels, runs[0]["candidates"], runs[1]["candidates"])


def graph_rows(questions: Sequence[Asked]) -> tuple[Array, Array, Array]:
    """Return signs (n, 3), whether the graph's list is better, and the weight of each question."""
    rows, gains = [], []
    for one in questions:
        lists = {name: result.hits for name, result in one.channels.items()}
        found = graph_signs(lists.get("graph", ()))
        if found is None or not one.gold:
            continue
        alone = documents_of(note for note, _ in lists["graph"])
        others = fuse_minmax({name: hits for name, hits in lists.items() if name != "graph"}, WEIGHTS)
        rows.append(found)
        gains.append(ndcg_at(10, alone, one.gold) - ndcg_at(10, documents_of(n.note_id for n in others), one.gold))
    gain = np.array(gains)
    weight = np.abs(gain) / max(float(np.abs(gain).sum()), 1e-9) * abs(float(gain.mean())) ** 0.5
    return np.array(rows), (gain > 0).astype(float), weight


def sureness_rows(questions: Sequence[Asked], language: str) -> tuple[Array, Array, Array]:
    """Return signs (n, 5), whether the gold documents are there, and the weight of each run, in one language."""
    runs = [(one, one.found, bool(one.gold)) for one in questions]
    runs += [(one, one.hidden, False) for one in questions if one.gold]
    kept = [
        (sureness_signs(candidates, one.question, one.channels), there)
        for one, candidates, there in runs
        if candidates and language == language_of(one.question, candidates)
    ]
    there = np.array([float(one) for _, one in kept])
    weight = np.where(there > 0, 0.5 / max(there.sum(), 1), 0.5 / max((1 - there).sum(), 1))
    return np.array([found for found, _ in kept]), there, weight


def fitted(rows: Sequence[tuple[Array, Array, Array]], strength: float = 0.01) -> Array:
    """Return the weights of a logistic regression with L2 on standardised signs, for the signs as they are."""
    x, y, w = (np.concatenate(part) for part in zip(*rows, strict=True))
    w = w / w.sum()
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    deviation[deviation < 1e-6] = np.inf  # what is always the same says nothing
    mean[0], deviation[0] = 0.0, 1.0
    z = (x - mean) / deviation

    def loss(weights: Array) -> tuple[float, Array]:
        margin = z @ weights
        p = 1 / (1 + np.exp(-margin))
        rest = np.r_[0.0, weights[1:]]
        value = float(w @ (np.logaddexp(0, margin) - y * margin) + strength / 2 * (rest @ rest))
        return value, z.T @ (w * (p - y)) + strength * rest

    raw = minimize(loss, np.zeros(z.shape[1]), jac=True).x / deviation
    raw[0] -= float(raw[1:] @ mean[1:])
    return np.asarray(raw)


def report(title: str, rows: Mapping[str, tuple[Array, Array, Array]], factor: float = 1.0) -> None:
    """Print the weights fitted on all sets, and what those fitted on the others make of each."""
    if not rows:
        return
    print(f"{title}: {np.round(factor * fitted(list(rows.values())), 2).tolist()}")
    for name, (x, y, _) in rows.items() if len(rows) > 1 else ():
        weights = factor * fitted([other for key, other in rows.items() if key != name])
        p = 1 / (1 + np.exp(-x @ weights))
        no, yes = p[y == 0], p[y == 1]
        low = [float(np.mean(part < LOW)) if len(part) else float("nan") for part in (yes, no)]
        print(f"  {name}, left out: median {np.median(p):.2f}; below {LOW}: {low[0]:.0%} of yes, {low[1]:.0%} of no")


def main() -> None:
    """Print both fits over all sets given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="SET=STORE")
    parser.add_argument("--limit", type=int, help="only the first questions of each set")
    arguments = parser.parse_args()
    print(environment())
    runs = {}
    for given in arguments.sets:
        folder, _, store = given.partition("=")
        runs[Path(folder).name] = list(asked(Path(folder), Path(store), arguments.limit))
        print(f"{folder}: {len(runs[Path(folder).name])} questions", flush=True)
    report("graph share", {name: graph_rows(run) for name, run in runs.items()}, SHARPNESS)
    for language in SURENESS:
        rows = {name: sureness_rows(run, language) for name, run in runs.items()}
        report(f"sureness, {language}", {name: row for name, row in rows.items() if 0 < row[1].sum() < len(row[1])})


if __name__ == "__main__":
    main()
