"""How good the answers are: exact match and F1 as SQuAD has them, and precision among the questions answered.

Definitions. A question counts as answered when the kind of its answer is not `none`; unanswered ones count 0 in `em`
and `f1`. `precision_answered` is the share of right answers among the answered, judged by what they say: see
`judging`; it is None where nothing was answered. Every measure takes the best of the gold answers.

First-answer accuracy: the same answering over the graph's own candidates and over the frozen baseline's.

Definition. The first answer is the one that is shown: a short answer (an entity, a date, yes or no) or, where none is
sure enough, the best sentences. It is right when a gold answer stands in it, token by token; no answer is wrong.

Both lists go through the same nodes of the same graph, from the look-up of entities on. The baseline knows no graph, so
its candidates have no hops and no paths, and no reranker's relevance that could withhold an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.errors import IngestionError
from theworld.evaluation.counterfactuals import as_found
from theworld.evaluation.datasets import Dataset, Query
from theworld.evaluation.judging import is_right
from theworld.evaluation.metrics import PairedDifference, contains, exact_match, f1, paired_difference
from theworld.evaluation.retrieval import baseline_scores
from theworld.nodes.fuse_candidates import to_candidate
from theworld.ranking.fusion import Fused
from theworld.state import Answer, AnswerKind, Candidate, ChannelHit, ChannelResult, Context, QueryInput

if TYPE_CHECKING:
    from theworld.graph import Resources
    from theworld.graph.build import CompiledGraph


@dataclass(frozen=True, slots=True)
class AnsweredQuery:
    """One question with what was answered."""

    query: Query
    answer: str
    kind: AnswerKind
    confidence: float = 0.0

    @property
    def em(self) -> float:
        """Exact match, 0.0 when not answered."""
        return exact_match(self.answer, self.query.answers) if self.kind != "none" else 0.0

    @property
    def f1(self) -> float:
        """Token F1, 0.0 when not answered."""
        return f1(self.answer, self.query.answers) if self.kind != "none" else 0.0

    @property
    def contains(self) -> float:
        """1.0 when a gold answer stands in the answer, 0.0 when not answered."""
        return contains(self.answer, self.query.answers) if self.kind != "none" else 0.0

    @property
    def right(self) -> float:
        """1.0 when right in the sense of `precision_answered` (see judging)."""
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
        return _mean(result.contains for result in self.results)

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object; `n` and `answered` are counts, the rest shares in [0, 1]."""
        answered = [result for result in self.results if result.kind != "none"]
        kinds = sorted({result.kind for result in self.results})
        return {
            "n": len(self.results),
            "answered": len(answered),
            "em": _mean(result.em for result in self.results),
            "f1": _mean(result.f1 for result in self.results),
            "precision_answered": _mean(result.right for result in answered) if answered else None,
            "by_kind": {kind: _summary([r for r in self.results if r.kind == kind]) for kind in kinds},
        }


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
        output = graph.invoke(QueryInput(question=query.text), context=context)
        answer: Answer = output["result"]
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


def _summary(results: list[AnsweredQuery]) -> dict[str, float]:
    return {
        "n": len(results),
        "em": _mean(result.em for result in results),
        "f1": _mean(result.f1 for result in results),
        "contains": _mean(result.contains for result in results),
    }


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return round(fmean(found), 6) if found else 0.0


DELIVERED_BY = "restore_fused_order"
"""The node in whose name the baseline's candidates enter the graph: what follows it is answering."""


@dataclass(frozen=True, slots=True)
class FirstAnswers:
    """The same questions answered from both lists of candidates, in the same order."""

    own: AnswersReport
    """From the graph's own candidates."""
    baseline: AnswersReport
    """From those of `m3_baseline`."""

    def relational(self) -> FirstAnswers:
        """Return only the questions that need more than one document."""
        kept = [i for i, result in enumerate(self.own.results) if len(result.query.grades) > 1]
        own, baseline = (
            AnswersReport(report.dataset, tuple(report.results[i] for i in kept))
            for report in (self.own, self.baseline)
        )
        return FirstAnswers(own, baseline)

    def gain(self) -> PairedDifference:
        """Compare the accuracies question by question. Raises ValueError where there is none."""
        first, second = ([result.contains for result in report.results] for report in (self.own, self.baseline))
        return paired_difference(first, second)


def evaluate_first_answers(
    dataset: Dataset,
    resources: Resources,
    *,
    tenant: str = "default",
    limit: int | None = None,
    on_query: Callable[[], None] = lambda: None,
) -> FirstAnswers:
    """Ask every query that has gold answers once, and answer it from both lists; no language model is called.

    Raises IngestionError when no query has gold answers.
    """
    from langgraph.checkpoint.memory import InMemorySaver

    from theworld.graph import build_graph

    threads = InMemorySaver()
    graph = build_graph(resources, threads)
    context = Context(tenant=tenant, deadline_ms=BACKGROUND_DEADLINE_MS, use_model=False)
    own, baseline = [], []
    for query in answerable_queries(dataset, limit):
        config: Any = {"configurable": {"thread_id": query.id}}
        keys = ["result", "channel_results"]
        state = graph.invoke(QueryInput(question=query.text), config, context=context, output_keys=keys)
        own.append(_answered(query, state["result"]))
        candidates = baseline_candidates(state["channel_results"], resources, tenant)
        graph.update_state(config, as_found(candidates), as_node=DELIVERED_BY)
        baseline.append(_answered(query, graph.invoke(None, config, context=context, output_keys=keys)["result"]))
        threads.delete_thread(query.id)
        on_query()
    return FirstAnswers(AnswersReport(dataset.name, tuple(own)), AnswersReport(dataset.name, tuple(baseline)))


def baseline_candidates(channels: Mapping[str, ChannelResult], resources: Resources, tenant: str) -> list[Candidate]:
    """Return the best `top_k` candidates of `m3_baseline`, with its score over the best one as relevance."""
    hits = {channel: channels[channel].hits if channel in channels else () for channel in ("dense", "sparse")}
    scores = list(baseline_scores(hits["dense"], hits["sparse"]).items())[: resources.settings.retrieval.top_k]
    places = {
        channel: {note: ChannelHit(rank=rank, score=score) for rank, (note, score) in enumerate(found, start=1)}
        for channel, found in hits.items()
    }
    stored = {note.id: note for note in resources.store.notes([note for note, _ in scores], tenant=tenant)}
    best = scores[0][1] if scores else 0.0
    found = [(stored[note], score) for note, score in scores if note in stored]
    return [
        to_candidate(
            note,
            Fused(
                note_id=note.id,
                score=score,
                channels={channel: place[note.id] for channel, place in places.items() if note.id in place},
            ),
            rank,
            best,
            None,
        )
        for rank, (note, score) in enumerate(found, start=1)
    ]


def _answered(query: Query, answer: Answer | None) -> AnsweredQuery:
    found = answer or Answer()
    return AnsweredQuery(query, found.brief, found.kind, found.confidence)
