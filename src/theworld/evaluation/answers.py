"""How good the answers are: exact match and F1 as SQuAD has them, and precision among the questions answered.

Definitions. A question counts as answered when the kind of its answer is not `none`; unanswered ones count 0 in `em`
and `f1`. `precision_answered` is the share of right answers among the answered, judged by what they say: see
`judging`; it is None where nothing was answered. Every measure takes the best of the gold answers. `citations_right` is
the share of the notes cited by a model whose document is a gold one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from langgraph.runtime import Runtime

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.errors import IngestionError, SettingsError
from theworld.evaluation.datasets import Dataset
from theworld.evaluation.judging import is_right
from theworld.evaluation.metrics import ANSWER_MEASURES, answer_measures
from theworld.graph import Resources
from theworld.graph.build import CompiledGraph
from theworld.nodes.generate_answer import generate_answer
from theworld.state import EVIDENCE_NOTES, Answer, Channel, Context, ModelUsage, QueryInput, QueryState
from theworld.stores.ledger.evaluations import Query


@dataclass(frozen=True, slots=True)
class AnsweredQuery:
    """One question with what was answered; every measure is 0.0 when it was not."""

    query: Query
    given: Answer
    usage: ModelUsage = field(default_factory=ModelUsage)

    @property
    def measures(self) -> dict[str, float]:
        """Exact match, token F1, and whether a gold answer stands in the answer."""
        return answer_measures(self.given.brief, self.query.answers, self.given.kind)

    @property
    def right(self) -> float:
        """1.0 when right in the sense of `precision_answered`."""
        answer, kind = self.given.brief, self.given.kind
        return float(kind != "none" and is_right(answer, self.query.answers, short=kind == "entity"))


@dataclass(frozen=True, slots=True)
class AnswersReport:
    """Results on a dataset."""

    dataset: str
    results: tuple[AnsweredQuery, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object; `n` and `answered` are counts, the rest shares in [0, 1].

        What a language model cited and took stands in it where one was called.
        """
        answered = [result for result in self.results if result.given.kind != "none"]
        kinds = sorted({result.given.kind for result in self.results})
        of_kind = {kind: [result for result in self.results if result.given.kind == kind] for kind in kinds}
        means = _means(self.results)
        found: dict[str, Any] = {
            "n": len(self.results),
            "answered": len(answered),
            "em": means["em"],
            "f1": means["f1"],
            "precision_answered": round(fmean(result.right for result in answered), 6) if answered else None,
            "by_kind": {kind: {"n": len(some), **_means(some)} for kind, some in of_kind.items()},
        }
        usage = sum((result.usage for result in self.results), ModelUsage())
        if not usage.calls:
            return found
        generated = of_kind.get("generated", [])
        cited = [
            citation.document_id in result.query.grades for result in generated for citation in result.given.citations
        ]
        return found | {
            "generated": len(generated),
            "citations": len(cited),
            "citations_right": round(fmean(cited), 6) if cited else None,
            "calls": usage.calls,
            "tokens": usage.prompt_tokens + usage.completion_tokens,
            "cost": usage.cost,
        }


def _means(results: Sequence[AnsweredQuery]) -> dict[str, float]:
    measured = [result.measures for result in results]
    return {name: round(fmean(one[name] for one in measured), 6) if measured else 0.0 for name in ANSWER_MEASURES}


def evaluate_answers(
    dataset: Dataset,
    graph: CompiledGraph,
    *,
    limit: int | None = None,
    use_model: bool = True,
    on_query: Callable[[], None] = lambda: None,
) -> AnswersReport:
    """Ask the queries that have gold answers; the deadline is long, so that the machine's load does not count.

    Raises IngestionError when no query has gold answers.
    """
    context = Context(deadline_ms=BACKGROUND_DEADLINE_MS, use_model=use_model)
    results = []
    for query in answerable_queries(dataset, limit):
        found = graph.invoke(QueryInput(question=query.text), context=context)
        results.append(AnsweredQuery(query, found["result"] or Answer(), found["usage"]))
        on_query()
    return AnswersReport(dataset.name, tuple(results))


def evaluate_model_alone(
    dataset: Dataset,
    graph: CompiledGraph,
    resources: Resources,
    channel: Channel,
    *,
    limit: int | None = None,
    on_query: Callable[[], None] = lambda: None,
) -> AnswersReport:
    """Give the model of `resources` the first notes of one channel, as that channel orders them, and nothing else.

    The same prompt and checks of its answer as in the graph, as many notes, but no other channel, no reranking, no
    decision on evidence; where the checks refuse its answer there is none. SettingsError where no model is configured.
    """
    chat = resources.models.chat
    if chat is None:
        raise SettingsError("is needed to compare answers.", where="model.name", remedy="Configure a language model.")
    context = Context(deadline_ms=BACKGROUND_DEADLINE_MS, use_model=False, channels=[channel])
    results = []
    for query in answerable_queries(dataset, limit):
        keys = ["query", "language", "candidates"]
        found: Any = graph.invoke(QueryInput(question=query.text), context=context, output_keys=keys)
        notes = sorted(found["candidates"], key=lambda note: note.fused_rank or len(found["candidates"]) + 1)
        asked = {"question": query.text, "query": found["query"], "language": found["language"]}
        state = QueryState(**asked, evidence=notes[:EVIDENCE_NOTES])
        update = generate_answer(state, Runtime(context=context), model=chat, settings=resources.settings.answers)
        usage = update.get("usage")
        used = usage if isinstance(usage, ModelUsage) else ModelUsage()
        results.append(AnsweredQuery(query, update["result"] or Answer(), used))
        on_query()
    return AnswersReport(dataset.name, tuple(results))


def answerable_queries(dataset: Dataset, limit: int | None = None) -> list[Query]:
    """Return the queries with gold answers, in order, at most `limit`."""
    queries = [query for query in dataset.queries if query.answers][:limit]
    if not queries:
        remedy = 'Give them as `"metadata": {"answers": [...]}`.'
        raise IngestionError("no query has answers.", where=dataset.name, remedy=remedy)
    return queries
