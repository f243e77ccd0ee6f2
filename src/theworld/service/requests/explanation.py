"""What a request did, rebuilt from the rows of its tables alone: nothing is searched, run or asked again.

Fusion's arithmetic is recomputed from the logged ranks and scores: what each channel gave each note. It is told as
values, in words, Chinese or English, and as a mermaid drawing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel, Field

from theworld.nodes.fuse_candidates import fuse_by
from theworld.packages import load_table, reason_in
from theworld.ranking.fusion import RRF_K, Fused, Ranking, channel_weights
from theworld.stores.ledger.request_log import RequestRecord
from theworld.text import Language


def logged_rankings(record: RequestRecord) -> dict[str, Ranking]:
    """Return each channel's ranked list as logged, (note id, score) best first."""
    found: dict[str, list[tuple[str, float]]] = {name: [] for name in record.request["outcome"].get("channels") or {}}
    for hit in record.candidates:
        found.setdefault(hit["source"], []).append((hit["note_id"], hit["score"]))
    return dict(found)


def logged_weights(record: RequestRecord) -> dict[str, float]:
    """Return the weight each channel's list was fused with: the router's, shared by what the graph brought."""
    channels = (record.route or {}).get("decision", {}).get("channels", {})
    return channel_weights({name: plan["weight"] for name, plan in channels.items()}, logged_rankings(record))


def fused_again(record: RequestRecord) -> list[Fused]:
    """Return what fusion makes of the logged lists, in the order it did."""
    kept = int(record.request["outcome"]["fusion"]["kept"])
    return _fuse(record, logged_rankings(record), logged_weights(record))[:kept]


def terms_by_note(record: RequestRecord) -> dict[str, list[dict[str, Any]]]:
    """Return for every note its terms by channel: rank, score, points, weight and their product.

    The products, added from the left in this order, are the fused score to the last bit.
    """
    weights = logged_weights(record)
    found: dict[str, list[dict[str, Any]]] = {}
    for name, ranking in sorted(logged_rankings(record).items()):
        weight = weights.get(name, 1.0)
        for note in _fuse(record, {name: ranking}, {}):
            hit = note.channels[name]
            term = {"channel": name, "rank": hit.rank, "score": hit.score, "points": note.score}
            found.setdefault(note.note_id, []).append(term | {"weight": weight, "product": weight * note.score})
    return found


def _fuse(record: RequestRecord, rankings: Mapping[str, Ranking], weights: Mapping[str, float]) -> list[Fused]:
    logged = record.request["outcome"]["fusion"]
    return fuse_by(str(logged["settings"]["method"]), rankings, weights, logged["depths"])


_REQUEST = (
    "request_id", "trace_id", "endpoint", "arm", "parent", "created_ms", "elapsed_ms", "status", "code", "question",
    "query", "language", "store_sequence", "settings_hash", "version", "digest",
)  # fmt: skip
_CHANNELS = "retrieve_"


class Explanation(BaseModel):
    """Everything on record about one request."""

    request: dict[str, Any] = Field(
        description="Ids, times, question, context, versions of store, settings and program"
    )
    reference: dict[str, Any] | None = Field(description="What the question refers to in its history")
    route: dict[str, Any] | None = Field(description="The router's decision: path, channels, reasons, strategy")
    channels: dict[str, Any] = Field(description="By channel: weight, depth, time, and every note's rank and score")
    fusion: dict[str, Any] = Field(description="Method and constants; by note the terms that add up to its score")
    rerank: dict[str, Any] = Field(description="Outcome, model version, and the final list with every score")
    paths: list[dict[str, Any]] = Field(description="Evidence paths over the graph")
    entities: dict[str, Any] = Field(description="Knowledge-base candidates by mention, and the judgements")
    answer: dict[str, Any] | None = Field(description="The answer, its reason, citations and confidence")
    clarification: dict[str, Any] | None = Field(description="What was asked back")
    timings: dict[str, Any] = Field(description="Milliseconds by node, in the graph, and around it")
    degradations: list[dict[str, Any]] = Field(description="Every fallback taken")
    feedback: list[dict[str, Any]] = Field(description="What users said of it")
    arms: list[str] = Field(description="Request ids of strategy B's runs beside it")
    other: dict[str, Any] = Field(description="Whatever else the run left in the state")


_SECTIONS = frozenset(
    {"reference", "paths", "entity_candidates", "judgements", "result", "stages", "degradations", "channels", "fusion"}
    | {"graph_ms", "digests", "clarification", "rerank_outcome"}
)


def explain(record: RequestRecord, feedback: Sequence[Mapping[str, Any]] = (), arms: Sequence[str] = ()) -> Explanation:
    """Return the explanation of a request on record."""
    request, outcome = record.request, record.request["outcome"]
    decision = record.route["decision"] if record.route is not None else None
    planned, facts = (decision or {}).get("channels", {}), outcome.get("channels") or {}
    weights, terms, logged = logged_weights(record), terms_by_note(record), outcome["fusion"]
    method = str(logged["settings"]["method"])
    return Explanation(
        request={name: request[name] for name in _REQUEST} | dict(request["request"]),
        reference=outcome.get("reference"),
        route=decision,
        channels={
            name: {
                "weight": weights.get(name, 1.0),
                "asked": planned.get(name, {}).get("top_k"),
                "elapsed_ms": facts.get(name, {}).get("elapsed_ms"),
                "note": facts.get(name, {}).get("note", ""),
                "hits": [{"rank": rank, "note_id": note, "score": score} for rank, (note, score) in enumerate(hits, 1)],
            }
            for name, hits in sorted(logged_rankings(record).items())
        },
        fusion={
            "method": method,
            **({"k": RRF_K} if method == "rrf" else {}),
            "depths": logged["depths"],
            "kept": int(logged["kept"]),
            "notes": [
                {"rank": rank, "note_id": note.note_id, "score": note.score, "terms": terms[note.note_id]}
                for rank, note in enumerate(fused_again(record), start=1)
            ],
        },
        rerank=_rerank(record),
        paths=outcome.get("paths") or [],
        entities={"candidates": outcome.get("entity_candidates") or {}, "judgements": outcome.get("judgements") or []},
        answer=outcome.get("result"),
        clarification=outcome.get("clarification"),
        timings=_timings(request),
        degradations=outcome.get("degradations") or [],
        feedback=[
            {name: item[name] for name in ("verdict", "answers", "documents", "comment", "created_ms")}
            for item in feedback
        ],
        arms=list(arms),
        other={name: value for name, value in outcome.items() if name not in _SECTIONS},
    )


def _rerank(record: RequestRecord) -> dict[str, Any]:
    versions = {row["model_version"] for row in record.ranking if row["model_version"]}
    results = []
    for row in record.ranking:
        kept = {name: value for name, value in row.items() if name not in {"id", "request", "model_version"}}
        fused = row["fused_rank"]
        results.append(kept | {"moved_up": fused - row["position"] if fused is not None else None})
    outcome = record.request["outcome"].get("rerank_outcome", "skipped")
    return {"outcome": outcome, "model_version": min(versions, default=""), "results": results}


def _timings(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return times by node; of the channels, which run side by side, the slowest counts."""
    outcome = request["outcome"]
    stages = outcome.get("stages") or []
    beside = [stage["elapsed_ms"] for stage in stages if stage["stage"].startswith(_CHANNELS)]
    alone = [stage["elapsed_ms"] for stage in stages if not stage["stage"].startswith(_CHANNELS)]
    in_nodes = sum(alone) + max(beside, default=0.0)
    graph = outcome.get("graph_ms", 0.0)
    return {
        "stages": stages,
        "in_nodes_ms": in_nodes,
        "between_nodes_ms": graph - in_nodes,
        "graph_ms": graph,
        "around_graph_ms": request["elapsed_ms"] - graph,
        "elapsed_ms": request["elapsed_ms"],
    }


SHOWN = 5
"""Notes shown of each list; the JSON has all."""
_LABEL = 40


Say = Callable[..., str]


def say_in(language: Language, key: str, values: Mapping[str, Any] | None = None, **more: Any) -> str:
    """Return a text of data/words.yaml, filled from a mapping and from keywords; a time that is None counts as 0.

    A value `reason`, which is English on record, is told in the language.
    """
    times = {name: 0.0 for name, value in (values or {}).items() if value is None and name.endswith("_ms")}
    words = load_table("theworld.service.requests", "data/words.yaml")
    filled: dict[str, Any] = {**(values or {}), **times, **more}
    if isinstance(filled.get("reason"), str):
        filled["reason"] = reason_in(language, filled["reason"])
    return str(words[key][language]).format(**filled)


def as_text(found: Explanation, language: Language) -> str:
    """Return the explanation in words, the first notes of every list."""
    return "\n".join(_lines(found, partial(say_in, language)))


def _lines(found: Explanation, say: Say) -> Iterator[str]:
    request = found.request
    yield say("request", request)
    if request["parent"]:
        yield say("parent", request)
    yield say("question", request)
    if request["query"] and request["query"] != request["question"]:
        yield say("query", request)
    if found.reference and found.reference.get("reference_type") not in {None, "none"}:
        yield say("reference", found.reference)
    yield say("versions", request)
    if found.route is not None:
        yield say("route", found.route)
        yield from (say("reason", reason=reason) for reason in found.route.get("reasons", []))
    for name, channel in found.channels.items():
        yield say("channel", channel, name=name, count=len(channel["hits"]))
        yield from _first("hit", channel["hits"], say)
    notes = found.fusion["notes"]
    if notes:
        yield say("fusion", found.fusion, count=len(notes))
        added = [{**note, "sum": " + ".join(say("term", term) for term in note["terms"])} for note in notes]
        yield from _first("fused", added, say)
    rerank = found.rerank
    yield say("rerank" if rerank["model_version"] else "no_rerank", rerank)
    yield from _first("ranked", rerank["results"], say)
    yield from _ending(found, say)


def _ending(found: Explanation, say: Say) -> Iterator[str]:
    yield from (say("path", text=path.get("text") or path["note_id"]) for path in found.paths[:SHOWN])
    for item in found.entities["judgements"]:
        selection = item.get("selection") or {}
        yield say("judged", item, selected=selection.get("id") or say("nobody"))
    if found.clarification is not None:
        yield say("clarify", found.clarification)
    if found.answer is not None:
        yield say("answer", found.answer)
        yield say("why", found.answer)
        for citation in found.answer["citations"]:
            yield say("citation", citation)
    yield say("timings", found.timings)
    yield from (say("stage", stage) for stage in found.timings["stages"])
    yield from (say("degradation", item) for item in found.degradations)
    if not found.degradations:
        yield say("clean")
    yield from (say("feedback", item).rstrip() for item in found.feedback)
    yield from (say("beside", request_id=other) for other in found.arms)


def _first(key: str, items: Sequence[Mapping[str, Any]], say: Say) -> Iterator[str]:
    """Yield the first items in words, and how many more there are."""
    yield from (say(key, item) for item in items[:SHOWN])
    if len(items) > SHOWN:
        yield say("more", count=len(items) - SHOWN)


def as_mermaid(found: Explanation) -> str:
    """Return the request's way as a mermaid flowchart: only what ran, with counts and times."""
    lines = ["flowchart LR", f'  question["{_label(found.request["question"])}"]']
    path = (found.route or {}).get("path", "no route")
    lines += [f'  route{{"{_label(str(path))}"}}', "  question --> route"]
    last, fused = "route", list[str]()
    for name, channel in found.channels.items():
        node, told = "c_" + re.sub(r"\W", "_", name), f"{len(channel['hits'])}, {channel['elapsed_ms'] or 0:.1f} ms"
        lines += [f'  {node}["{_label(name)}<br/>{told}"]', f"  route --> {node}"]
        fused.append(f"  {node} -->|{channel['weight']:g}| fusion")
    if fused:
        lines += [f'  fusion["{found.fusion["method"]}<br/>{len(found.fusion["notes"])}"]', *fused]
        last = "fusion"
    if found.rerank["results"]:
        model = found.rerank["model_version"] or found.rerank["outcome"]
        lines.append(f'  rerank["{_label(model)}<br/>{len(found.rerank["results"])}"]')
        lines.append(f"  {last} --> rerank")
        last = "rerank"
        for place, row in enumerate(found.rerank["results"][:SHOWN], start=1):
            title = _label(row["title"] or row["note_id"])
            lines.append(f'  n{place}["{place}. {title}<br/>{row["final_score"]:.3f}"]')
            lines.append(f"  rerank --> n{place}")
    if found.answer is not None:
        lines.append(f'  answer(["{_label(found.answer["kind"])}: {_label(found.answer["text"])}"])')
        lines.append(f"  {last} --> answer")
    return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    """Return a text that mermaid shows as it is: nothing in it can end the label or be mark-up."""
    flat = " ".join(text.split())
    cut = flat if len(flat) <= _LABEL else flat[: _LABEL - 1] + "…"
    return "".join(f"#{ord(c)};" if c in '"#<>&;`|[]{}()\\' else c for c in cut)
