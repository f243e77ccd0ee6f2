"""How good the answers are: exact match and F1 as SQuAD has them, and precision among the questions answered.

Definitions. A question counts as answered when the kind of its answer is not `none`; unanswered ones count 0 in `em`
and `f1`. `precision_answered` is the share of right answers among the answered, judged by what they say: see
`judging`; it is None where nothing was answered. Every measure takes the best of the gold answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.errors import IngestionError
from theworld.evaluation.datasets import Dataset, Query
from theworld.evaluation.judging import is_right
from theworld.evaluation.metrics import ANSWER_MEASURES, answer_measures
from theworld.state import Answer, AnswerKind, Context, QueryInput

if TYPE_CHECKING:
    from theworld.graph.build import CompiledGraph


@dataclass(frozen=True, slots=True)
class AnsweredQuery:
    """One question with what was answered; every measure is 0.0 when it was not."""

    query: Query
    answer: str
    kind: AnswerKind
    confidence: float = 0.0

    @property
    def measures(self) -> dict[str, float]:
        """Exact match, token F1, and whether a gold answer stands in the answer."""
        return answer_measures(self.answer, self.query.answers, self.kind)

    @property
    def right(self) -> float:
        """1.0 when right in the sense of `precision_answered`."""
        answered = self.kind != "none"
        return float(answered and is_right(self.answer, self.query.answers, short=self.kind == "entity"))


@dataclass(frozen=True, slots=True)
class AnswersReport:
    """Results on a dataset."""

    dataset: str
    results: tuple[AnsweredQuery, ...]

    @property
    def contained(self) -> float:
        """Share of the questions whose answer holds a gold answer, whatever its kind."""
        return _means(self.results)["contains"]

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object; `n` and `answered` are counts, the rest shares in [0, 1]."""
        answered = [result for result in self.results if result.kind != "none"]
        by_kind = {}
        for kind in sorted({result.kind for result in self.results}):
            some = [result for result in self.results if result.kind == kind]
            by_kind[kind] = {"n": len(some), **_means(some)}
        means = _means(self.results)
        return {
            "n": len(self.results),
            "answered": len(answered),
            "em": means["em"],
            "f1": means["f1"],
            "precision_answered": round(fmean(result.right for result in answered), 6) if answered else None,
            "by_kind": by_kind,
        }


def _means(results: Sequence[AnsweredQuery]) -> dict[str, float]:
    measured = [result.measures for result in results]
    return {name: round(fmean(one[name] for one in measured), 6) if measured else 0.0 for name in ANSWER_MEASURES}


def evaluate_answers(
    dataset: Dataset,
    graph: CompiledGraph,
    *,
    tenant: str = "default",
    limit: int | None = None,
    use_model: bool = True,
    on_query: Callable[[], None] = lambda: None,
) -> AnswersReport:
    """Ask the queries that have gold answers; the deadline is long, so that the machine's load does not count.

    Raises IngestionError when no query has gold answers.
    """
    context = Context(tenant=tenant, deadline_ms=BACKGROUND_DEADLINE_MS, use_model=use_model)
    results = []
    for query in answerable_queries(dataset, limit):
        answer: Answer = graph.invoke(QueryInput(question=query.text), context=context)["result"]
        results.append(AnsweredQuery(query, answer.brief, answer.kind, answer.confidence))
        on_query()
    return AnswersReport(dataset.name, tuple(results))


def answerable_queries(dataset: Dataset, limit: int | None = None) -> list[Query]:
    """Return the queries with gold answers, in order, at most `limit`."""
    queries = [query for query in dataset.queries if query.answers][:limit]
    if not queries:
        raise IngestionError(
            "no query has answers.", where=dataset.name, remedy='Give them as `"metadata": {"answers": [...]}`.'
        )
    return queries
