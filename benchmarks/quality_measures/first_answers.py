"""First-answer accuracy: the same answering over the graph's own candidates and over the frozen baseline's.

Definition. The first answer is the one that is shown: a short answer (an entity, a date, yes or no) or, where none is
sure enough, the best sentences. It is right when a gold answer stands in it, token by token; no answer is wrong.

Both lists go through the same nodes of the same graph, from the look-up of entities on. The baseline knows no graph, so
its candidates have no hops and no paths, and no reranker's relevance that could withhold an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.evaluation.answers import AnsweredQuery, AnswersReport, answerable_queries
from theworld.evaluation.datasets import Dataset
from theworld.evaluation.failures import as_found
from theworld.evaluation.metrics import PairedDifference, paired_difference
from theworld.evaluation.retrieval import m3_baseline
from theworld.graph import Resources, build_graph
from theworld.nodes.fuse_candidates import to_candidate
from theworld.state import Answer, Candidate, ChannelResult, Context, QueryInput

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
        first, second = (
            [result.measures["contains"] for result in report.results] for report in (self.own, self.baseline)
        )
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
    threads = InMemorySaver()
    graph = build_graph(resources, threads)
    context = Context(tenant=tenant, deadline_ms=BACKGROUND_DEADLINE_MS, use_model=False)
    own, baseline = [], []
    for query in answerable_queries(dataset, limit):
        config: Any = {"configurable": {"thread_id": query.id}}
        keys = ["result", "channel_results"]
        state = graph.invoke(QueryInput(question=query.text), config, context=context, output_keys=keys)
        own.append(AnsweredQuery(query, state["result"] or Answer()))
        candidates = baseline_candidates(state["channel_results"], resources, tenant)
        graph.update_state(config, as_found(candidates), as_node=DELIVERED_BY)
        answer = graph.invoke(None, config, context=context, output_keys=keys)["result"]
        baseline.append(AnsweredQuery(query, answer or Answer()))
        threads.delete_thread(query.id)
        on_query()
    return FirstAnswers(AnswersReport(dataset.name, tuple(own)), AnswersReport(dataset.name, tuple(baseline)))


def baseline_candidates(channels: Mapping[str, ChannelResult], resources: Resources, tenant: str) -> list[Candidate]:
    """Return the best `top_k` candidates of `m3_baseline`, with its score over the best one as relevance."""
    hits = {channel: channels[channel].hits if channel in channels else () for channel in ("dense", "sparse")}
    fused = m3_baseline(hits["dense"], hits["sparse"])[: resources.settings.retrieval.top_k]
    stored = {note.id: note for note in resources.store.notes([one.note_id for one in fused], tenant=tenant)}
    best = fused[0].score if fused else 0.0
    found = [(stored[one.note_id], one) for one in fused if one.note_id in stored]
    return [to_candidate(note, one, rank, best, None) for rank, (note, one) in enumerate(found, start=1)]
