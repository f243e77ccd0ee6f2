"""Why a question failed, by counterfactual: it is run again with one thing changed, and the first change that fixes it
names the culprit.

A question fails when its answer is wrong or, where it has no gold answers, when its gold documents are not all among
the first K. The evidence is complete when all gold documents are (without gold documents: when a gold answer stands in
it). A change fixes a question when the answer becomes right or the evidence complete.

In this order:

1. a gold document is not in the corpus: `not_in_corpus`;
2. the evidence is incomplete: every channel forced instead of the router's choice, then each channel alone
   (`wrong_route`); reranking off (`reranking`); K raised to 100, then every depth to 1,000, then nothing but the gold
   documents given (`missing_recall`); `unexplained` when nothing of that helps;
3. the evidence is complete and the answer wrong: nothing but the gold documents given, then the best sentences instead
   of the answer. What was wrong is the entity where one was given and a change fixes it (`entity`), else reading the
   answer off the evidence (`answer`): either other notes led it astray, or not even the gold documents alone help.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, get_args

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from markdown_it import MarkdownIt

from theworld.deadline import BACKGROUND_DEADLINE_MS
from theworld.evaluation.judging import is_right as gives_answer
from theworld.graph import Resources, build_graph, make_resources
from theworld.graph.build import CompiledGraph, allow_state_types
from theworld.nodes.fuse_candidates import to_candidate
from theworld.packages import load_table
from theworld.ranking.fusion import Fused
from theworld.state import EVIDENCE_NOTES, AnswerKind, Candidate, Channel, Context, QueryInput, Update
from theworld.stores.ledger.evaluations import Query
from theworld.text import Language

Culprit = Literal["not_in_corpus", "wrong_route", "reranking", "missing_recall", "entity", "answer", "unexplained"]
CULPRITS: tuple[Culprit, ...] = get_args(Culprit)
CHANNELS: tuple[Channel, ...] = get_args(Channel)
K = 5
"""Documents that must hold all gold ones: what the answerers see."""
RAISED, DEEPEST = 100, 1000
SHOWN = 5
GOLD_ALONE = "the gold documents alone"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing changed; the default changes nothing."""

    name: str = "as it is"
    channels: tuple[Channel, ...] | None = None
    rerank: bool | None = None
    top_k: int | None = None
    depth: int | None = None
    """Candidates asked of every channel, and looked at by the reranker."""
    given: tuple[str, ...] | None = None
    """Documents whose notes are given to reranking and answering, instead of what was retrieved."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one run of a question gave."""

    documents: tuple[str, ...]
    """Document ids, best first, each once."""
    answer: str = ""
    kind: AnswerKind = "none"
    evidence: tuple[tuple[str, str], ...] = ()
    """The evidence, best first: document id, and title and text."""
    passages: str = ""
    channels: tuple[str, ...] = ()
    path: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed question and its culprit, in plain values."""

    query_id: str
    question: str
    type: str
    gold: list[str]
    culprit: Culprit
    fixed_by: str
    """the change that fixed it, empty where there was none to try."""
    detail: str
    answer: str = ""
    kind: str = "none"
    path: str = ""


Ask = Callable[[Change], Seen]


def is_right(query: Query, seen: Seen) -> bool:
    """Return whether the answer is right (see judging)."""
    return seen.kind != "none" and gives_answer(seen.answer, query.answers, short=seen.kind == "entity")


def is_complete(query: Query, seen: Seen, k: int = K) -> bool:
    """Return whether the evidence is complete."""
    if query.grades:
        return set(query.grades) <= set(seen.documents[:k])
    return bool(_stating(query, seen))


def _stating(query: Query, seen: Seen) -> tuple[str, ...]:
    """Return the documents of the evidence in which a gold answer stands."""
    stating = (document for document, text in seen.evidence if gives_answer(text, query.answers, short=False))
    return tuple(dict.fromkeys(stating))


def failed(query: Query, seen: Seen) -> bool:
    """Return whether a question failed."""
    return not (is_right(query, seen) if query.answers else is_complete(query, seen))


def explain_failure(query: Query, base: Seen, ask: Ask, corpus: Collection[str]) -> Failure:
    """Name the culprit of a failed question; `corpus` holds the ids of all documents."""
    asked = (query.id, query.text, query.type, list(query.answers))
    failure = partial(Failure, *asked, answer=base.answer, kind=base.kind, path=base.path)
    absent = sorted(set(query.grades).difference(corpus))
    if absent:
        detail = f"{len(absent)} of {len(query.grades)} gold documents, such as {absent[0]!r}"
        return failure("not_in_corpus", "", detail)
    if is_complete(query, base):
        at_fault: Culprit = "entity" if base.kind == "entity" else "answer"
        alone = ask(Change(GOLD_ALONE, given=tuple(sorted(query.grades)) or _stating(query, base)))
        if is_right(query, alone):
            return failure(at_fault, GOLD_ALONE, "other notes led it astray")
        if gives_answer(base.passages, query.answers, short=False):
            return failure(at_fault, "the passages instead of the short answer", f"answered {base.answer!r}")
        outcome = "it abstained" if base.kind == "none" else "the wrong part was read"
        stated = "" if _stating(query, alone) else "; the gold documents do not state the gold answer as written"
        return failure("answer", "", f"{outcome}, also with the gold documents alone{stated}")
    for culprit, change in _changes(query, base):
        seen = ask(change)
        complete = change.given is None and is_complete(query, seen, change.top_k or K)
        if complete or (query.answers and is_right(query, seen)):
            ranks = [seen.documents.index(document) + 1 for document in query.grades if document in seen.documents]
            deep = f"the last gold document is at rank {max(ranks)}" if change.top_k and ranks else ""
            return failure(culprit, change.name, deep)
    missing = sorted(set(query.grades).difference(base.documents[:K]))
    return failure("unexplained", "", f"no change brings {', '.join(missing) or 'a gold answer'}")


def _changes(query: Query, base: Seen) -> Iterator[tuple[Culprit, Change]]:
    if set(base.channels) != set(CHANNELS):
        yield "wrong_route", Change("every channel", channels=CHANNELS)
    for channel in CHANNELS:
        if base.channels != (channel,):
            yield "wrong_route", Change(f"{channel} alone", channels=(channel,))
    yield "reranking", Change("without reranking", rerank=False)
    yield "missing_recall", Change(f"K raised to {RAISED}", top_k=RAISED)
    yield "missing_recall", Change(f"every depth raised to {DEEPEST:,}", top_k=DEEPEST, depth=DEEPEST)
    if query.grades and query.answers:
        yield "missing_recall", Change(GOLD_ALONE, given=tuple(sorted(query.grades)))


def failure_report(dataset: str, asked: int, failures: Sequence[Failure]) -> dict[str, Any]:
    """Return the documented JSON object of one run over a set, with SHOWN examples of each cluster, largest first.

    `named` is the share of the failures with a culprit; None when nothing failed.
    """
    clusters = {}
    counts = Counter(failure.culprit for failure in failures)
    for culprit in sorted(counts, key=lambda culprit: (-counts[culprit], CULPRITS.index(culprit))):
        some = [failure for failure in failures if failure.culprit == culprit]
        clusters[culprit] = {
            "count": len(some),
            "fixed_by": dict(Counter(f.fixed_by for f in some if f.fixed_by).most_common()),
            "examples": [asdict(failure) for failure in some[:SHOWN]],
        }
    named = round(1 - counts["unexplained"] / len(failures), 6) if failures else None
    return {"dataset": dataset, "asked": asked, "failed": len(failures), "named": named, "clusters": clusters}


_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ddd;padding:.3rem .5rem;text-align:left;"
    "vertical-align:top}h2{margin-top:2rem}h2+p+p{background:#f4f7fb;padding:.5rem .8rem;border-left:3px solid #4878a8}"
    ".bars{margin:1rem 0}.bars caption{text-align:left;font-weight:600}.bars td:last-child{width:60%}"
    ".bars div{background:#4878a8;height:1em}"
)


_words = partial(load_table, "theworld.evaluation", "data/failures.yaml")


def _say(key: str, language: Language, **values: object) -> str:
    return str(_words()["words"][key][language]).format(**values)


def _culprit(name: str, what: str, language: Language) -> str:
    return str(_words()["culprits"][name][what][language])


def as_markdown(report: Mapping[str, Any], language: Language = "en") -> str:
    """Return a failure report as Markdown; everything quoted is escaped."""
    heads = " | ".join(_say(key, language) for key in ("culprit", "count", "share"))
    asked, missed = report["asked"], report["failed"]
    # Failures with a named culprit are counts, as a share of nothing would say nothing.
    named = f"{missed - report['clusters'].get('unexplained', {'count': 0})['count']} / {missed}"
    summary = _say("summary", language, asked=asked, failed=missed, named=named)
    lines = [f"# {_say('title', language, dataset=_plain(report['dataset']))}", "", summary, ""]
    lines += [f"| {heads} |", "|---|---|---|"]
    for name, cluster in report["clusters"].items():
        share = cluster["count"] / max(missed, 1)
        lines.append(f"| {_culprit(name, 'name', language)} | {cluster['count']} | {share:.0%} |")
    for name, cluster in report["clusters"].items():
        lines += ["", f"## {_culprit(name, 'name', language)}: {cluster['count']}", ""]
        lines += [_culprit(name, "means", language), ""]
        lines.append(f"**{_say('try', language)}** {_culprit(name, 'try', language)}")
        if cluster["fixed_by"]:
            repaired = ", ".join(f"{change} ({count})" for change, count in cluster["fixed_by"].items())
            lines += ["", f"{_say('repaired', language)} {repaired}"]
        lines.append("")
        for example in cluster["examples"]:
            lines.append(f"- {_plain(example['question'])}")
            gold, answer, fixed_by = " / ".join(example["gold"]), example["answer"], example["fixed_by"]
            facts = (
                _say("gold", language, text=gold) if gold else "",
                _say("answered", language, text=answer[:300], kind=example["kind"]) if answer else "",
                _say("by", language, text=fixed_by) if fixed_by else "",
                example["detail"],
            )
            lines += [f"  - {_plain(fact)}" for fact in facts if fact]
    return "\n".join(lines) + "\n"


def as_html(report: Mapping[str, Any], language: Language = "en") -> str:
    """Return the same as one HTML page that needs nothing else, with plots."""
    culprits: dict[str, int] = {}
    changes: Counter[str] = Counter()
    for name, cluster in report["clusters"].items():
        culprits[_culprit(name, "name", language)] = cluster["count"]
        changes.update(cluster["fixed_by"])
    plots = _bars(_say("culprit", language), culprits) + _bars(_say("repaired", language), changes)
    text = MarkdownIt("commonmark", {"html": False}).enable("table").render(as_markdown(report, language))
    text = text.replace("</h1>", f"</h1>{plots}", 1)
    title = html.escape(_say("title", language, dataset=report["dataset"]))
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="{language}"><head>{head}</head><body>{text}</body></html>\n'


def _plain(text: str) -> str:
    """Return a text on one line that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in r"\`*_{}[]<>#|!" else c for c in " ".join(text.split()))


def _bars(title: str, counts: Mapping[str, int]) -> str:
    """Return a bar chart as a table."""
    most = max(counts.values(), default=1)
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{count}</td>"
        f'<td><div style="width:{100 * count / most:.0f}%"></div></td></tr>'
        for name, count in counts.items()
    )
    return f'<table class="bars"><caption>{html.escape(title)}</caption>{rows}</table>'


FOUND_BY = "fuse_candidates"
"""The node in whose name given notes enter the graph: what follows it is reranking and answering."""
KEYS = ["query", "question", "language", "route", "channel_results", "candidates", "evidence", "result"]


class Counterfactuals:
    """Asks questions as they are, or with one thing changed, over one store."""

    def __init__(self, resources: Resources, graph: CompiledGraph, context: Context) -> None:
        self._resources, self._graph = resources, graph
        self._context = context.model_copy(update={"deadline_ms": BACKGROUND_DEADLINE_MS})
        self._deep: dict[int, CompiledGraph] = {}

    def ask(self, question: str, change: Change) -> Seen:
        """Run a question under a change."""
        if change.given is not None:  # as if the channels had found exactly these documents' notes, in this order
            alone = self._graph.copy(update={"checkpointer": allow_state_types(InMemorySaver())})
            config: RunnableConfig = {"configurable": {"thread_id": "given"}}
            alone.invoke(QueryInput(question=question), config, context=self._context, output_keys=KEYS)
            store, tenant = self._resources.store, self._context.tenant
            known = (store.document(document, tenant=tenant) for document in change.given)
            notes = store.notes([note.id for one in known if one is not None for note in one.parts], tenant=tenant)
            candidates = [
                to_candidate(note, Fused(note_id=note.id, score=1.0, channels={}), rank, 1.0, None)
                for rank, note in enumerate(notes, start=1)
            ]
            alone.update_state(config, as_found(candidates), as_node=FOUND_BY)
            return seen_of(alone.invoke(None, config, context=self._context, output_keys=KEYS))
        channels = list(change.channels) if change.channels else None
        choices = {"channels": channels, "rerank": change.rerank, "top_k": change.top_k}
        context = self._context.model_copy(update={name: value for name, value in choices.items() if value is not None})
        graph, depth = self._graph, change.depth
        if depth is not None:
            if depth not in self._deep:
                old = self._resources
                retrieval = old.settings.retrieval.model_copy(update={"per_channel": 2 * depth})
                rerank = old.settings.rerank.model_copy(update={"pool": depth})
                settings = old.settings.model_copy(update={"retrieval": retrieval, "rerank": rerank})
                self._deep[depth] = build_graph(make_resources(settings, old.store, old.models, old.knowledge))
            graph = self._deep[depth]
        return seen_of(graph.invoke(QueryInput(question=question), context=context, output_keys=KEYS))

    def explain(self, query: Query, corpus: Collection[str]) -> Failure:
        """Name the culprit of a failed question; `corpus` holds the ids of all documents."""
        ask = partial(self.ask, query.text)
        return explain_failure(query, ask(Change()), ask, corpus)


def as_found(candidates: Sequence[Candidate]) -> Update:
    """Return what makes the graph go on with these candidates, whatever it found and answered before."""
    return {
        "candidates": list(candidates),
        "evidence": list(candidates[:EVIDENCE_NOTES]),
        "paths": [],
        "rerank_outcome": "skipped",
        "entity_candidates": {},
        "judgements": [],
        "result": None,
    }


def seen_of(state: Mapping[str, Any]) -> Seen:
    """Return what a final state gave."""
    result, evidence = state.get("result"), state.get("evidence") or []
    route, candidates = state.get("route"), state.get("candidates") or []
    return Seen(
        documents=tuple(dict.fromkeys(candidate.document_id for candidate in candidates)),
        answer=result.brief if result is not None else "",
        kind=result.kind if result is not None else "none",
        evidence=tuple((note.document_id, f"{note.title}\n{note.text}") for note in evidence),
        passages="\n".join(passage.text for passage in result.passages) if result is not None else "",
        channels=tuple(route.channels) if route is not None else (),
        path=route.path if route is not None else "",
    )
