"""Metrics of rankings and of answers: pure functions, as trec_eval and SQuAD define them.

Rankings are lists of document ids, best first; one that is repeated counts at its best place. Gold is a set of ids, or
a mapping to grades, in which a grade of 0 is no gold.

Is a difference between two systems on the same queries more than chance? Paired bootstrap and randomisation test.
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theworld.packages import import_package
from theworld.text import cjk_share
from theworld.text.tokens import CJK_RANGES

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_SQUAD_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CHINESE_TOKEN = re.compile(rf"[{CJK_RANGES}]|[^\s{CJK_RANGES}]+")


def recall_at(k: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """Return the share of gold documents among the first k."""
    right = _gold_of(gold)
    return len(right.intersection(list(dict.fromkeys(ranking))[:k])) / len(right)


def all_at(k: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """Return 1.0 when every gold document is among the first k, else 0.0."""
    return float(recall_at(k, ranking, gold) == 1.0)


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> float:
    """Return 1 / rank of the first gold document, ranks from 1; 0.0 when there is none in the whole list."""
    right = _gold_of(gold)
    distinct = enumerate(dict.fromkeys(ranking), start=1)
    return next((1.0 / rank for rank, document in distinct if document in right), 0.0)


def ndcg_at(k: int, ranking: Sequence[str], grades: Mapping[str, int]) -> float:
    """Return nDCG at k as trec_eval computes `ndcg_cut`: gain = grade, discount = log2(rank + 1)."""
    _gold_of(grades)
    found = _dcg([grades.get(document, 0) for document in list(dict.fromkeys(ranking))[:k]])
    return found / _dcg(sorted(grades.values(), reverse=True)[:k])


def metric_at(name: str, ranking: Sequence[str], grades: Mapping[str, int]) -> float:
    """Return a metric by its name in reports: `recall@K`, `all@K`, `ndcg@K` or `mrr`."""
    kind, _, depth = name.partition("@")
    if kind == "mrr":
        return reciprocal_rank(ranking, grades)
    return {"recall": recall_at, "all": all_at, "ndcg": ndcg_at}[kind](int(depth), ranking, grades)


def _dcg(gains: Sequence[int]) -> float:
    return sum(max(gain, 0) / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _gold_of(gold: Collection[str]) -> set[str]:
    """Return the gold documents."""
    right = {document for document, grade in gold.items() if grade > 0} if isinstance(gold, Mapping) else set(gold)
    if not right:
        raise ValueError("a query without gold documents has no retrieval metrics; leave it out")
    return right


def percentile(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile, `share` in (0, 1]: the least value that this share does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def percentiles(values: Sequence[float], *shares: int) -> dict[str, float]:
    """Return percentiles, rounded, as reports name them: `p50`, `p95`."""
    return {f"p{share}": round(percentile(values, share / 100), 2) for share in shares}


def answer_tokens(text: str, *, chinese: bool) -> list[str]:
    """Return the tokens that EM and F1 compare.

    English as in SQuAD's official script: lower case, ASCII punctuation and the articles a/an/the removed, split at
    white space. Chinese: NFKC, lower case, all punctuation removed, every CJK ideograph a token of its own, anything
    between them split at white space; traditional and simplified script stay as they are.
    """
    if not chinese:
        return _ARTICLES.sub(" ", text.lower().translate(_SQUAD_PUNCTUATION)).split()
    folded = unicodedata.normalize("NFKC", text).lower()
    kept = "".join(c for c in folded if not unicodedata.category(c).startswith("P"))
    return _CHINESE_TOKEN.findall(kept)


def exact_match(prediction: str, gold: Collection[str]) -> float:
    """Return 1.0 when the prediction equals one of the gold answers token by token."""
    return max((float(first == second) for first, second in _pairs(prediction, gold)), default=0.0)


def f1(prediction: str, gold: Collection[str]) -> float:
    """Return the best token F1 with any gold answer; where one side has no tokens, 1.0 only if both have none."""
    best = 0.0
    for first, second in _pairs(prediction, gold):
        common = (Counter(first) & Counter(second)).total()
        found = 2 * common / (len(first) + len(second)) if first and second else float(first == second)
        best = max(best, found)
    return best


def contains(prediction: str, gold: Collection[str]) -> float:
    """Return 1.0 when the tokens of a gold answer stand in the prediction one after the other."""
    return max((float(is_run(second, first)) for first, second in _pairs(prediction, gold)), default=0.0)


ANSWER_MEASURES = {"em": exact_match, "f1": f1, "contains": contains}


def answer_measures(answer: str, gold: Collection[str], kind: str) -> dict[str, float]:
    """Return all measures of an answer, each 0.0 when nothing was answered (kind `none`)."""
    return {name: measure(answer, gold) if kind != "none" else 0.0 for name, measure in ANSWER_MEASURES.items()}


def _pairs(prediction: str, gold: Collection[str]) -> list[tuple[list[str], list[str]]]:
    """Tokenise the prediction with each gold answer, as Chinese when either has an ideograph."""
    found = []
    for answer in gold:
        chinese = cjk_share(prediction) > 0 or cjk_share(answer) > 0
        found.append((answer_tokens(prediction, chinese=chinese), answer_tokens(answer, chinese=chinese)))
    return found


def is_run(needle: Sequence[str], tokens: Sequence[str]) -> bool:
    """Return whether tokens stand in others one after the other; none stand only in none."""
    if not needle:
        return not tokens
    return any(tokens[i : i + len(needle)] == needle for i in range(len(tokens) - len(needle) + 1))


SEED = 20240229
RESAMPLES = 10_000
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean difference of two systems over `n` queries, first minus second.

    With its bootstrap percentile interval, and the two-sided p of the paired randomisation (sign-flip) test; one query
    alone has neither.
    """

    mean: float
    low: float | None
    high: float | None
    p_value: float | None
    n: int


def paired_difference(first: Sequence[float], second: Sequence[float]) -> PairedDifference:
    """Compare per-query values of two systems, in the same order of queries; the same input gives the same result."""
    if len(first) != len(second) or not first:
        raise ValueError(f"needs two lists of the same length, at least 1; got {len(first)} and {len(second)}")
    import_package("scipy", extra="evaluation")
    import numpy as np
    from scipy import stats

    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    mean = low = high = float(differences.mean())
    if len(differences) == 1:
        return PairedDifference(mean, None, None, None, 1)
    drawn: dict[str, Any] = {"n_resamples": RESAMPLES, "batch": 1000, "rng": SEED}
    if np.ptp(differences):
        found = stats.bootstrap((differences,), np.mean, confidence_level=CONFIDENCE, method="percentile", **drawn)
        low, high = found.confidence_interval
    p_value = 1.0
    if np.any(differences):
        found = stats.permutation_test((differences,), np.mean, permutation_type="samples", vectorized=True, **drawn)
        p_value = found.pvalue
    return PairedDifference(mean, float(low), float(high), float(p_value), len(differences))
