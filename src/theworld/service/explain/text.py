"""An explanation in words, Chinese or English, and as a mermaid drawing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from theworld.service.explain.explanation import Explanation
from theworld.text import Language

SHOWN = 5
"""Notes shown of each list; the JSON has all."""
_LABEL = 40


@cache
def _words() -> dict[str, dict[str, str]]:
    text = (files("theworld.service.explain") / "data" / "words.yaml").read_text("utf-8")
    found: dict[str, dict[str, str]] = yaml.safe_load(text)
    return found


class Speaker:
    """Says the texts of data/words.yaml in one language, filled in."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def __call__(self, key: str, values: Mapping[str, Any] | None = None, **more: Any) -> str:
        """Return a text, filled from a mapping and from keywords; a time that is None counts as 0."""
        filled = {
            name: 0.0 if value is None and name.endswith("_ms") else value for name, value in (values or {}).items()
        }
        return _words()[key][self._language].format(**{**filled, **more})


def as_text(found: Explanation, language: Language) -> str:
    """Return the explanation in words, the first notes of every list."""
    return "\n".join(_lines(found, Speaker(language)))


def _lines(found: Explanation, say: Speaker) -> Iterator[str]:
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
    yield from _retrieval(found, say)
    yield from _ending(found, say)


def _retrieval(found: Explanation, say: Speaker) -> Iterator[str]:
    for name, channel in found.channels.items():
        yield say("channel", channel, name=name, count=len(channel["hits"]))
        yield from (say("hit", hit) for hit in channel["hits"][:SHOWN])
        yield from _more(channel["hits"], say)
    notes = found.fusion["notes"]
    if notes:
        yield say("fusion", found.fusion, count=len(notes))
        for note in notes[:SHOWN]:
            yield say("fused", note, sum=" + ".join(say("term", term) for term in note["terms"]))
        yield from _more(notes, say)
    rerank = found.rerank
    yield say("rerank" if rerank["model_version"] else "no_rerank", rerank)
    yield from (say("ranked", row) for row in rerank["results"][:SHOWN])
    yield from _more(rerank["results"], say)


def _ending(found: Explanation, say: Speaker) -> Iterator[str]:
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
            # Requests of older versions have no place on record.
            yield say("citation", {"place": citation["title"], **citation})
    yield say("timings", found.timings)
    yield from (say("stage", stage) for stage in found.timings["stages"])
    yield from (say("degradation", item) for item in found.degradations)
    if not found.degradations:
        yield say("clean")
    yield from (say("feedback", item).rstrip() for item in found.feedback)
    yield from (say("beside", request_id=other) for other in found.arms)


def _more(items: list[Any], say: Speaker) -> Iterator[str]:
    if len(items) > SHOWN:
        yield say("more", count=len(items) - SHOWN)


def as_mermaid(found: Explanation) -> str:
    """Return the request's way as a mermaid flowchart: only what ran, with counts and times."""
    lines = ["flowchart LR", f'  question["{_label(found.request["question"])}"]']
    route = found.route or {}
    lines.append(f'  route{{"{_label(str(route.get("path", "no route")))}"}}')
    lines.append("  question --> route")
    channels = [re.sub(r"\W", "_", name) for name in found.channels]
    for node, (name, channel) in zip(channels, found.channels.items(), strict=True):
        lines.append(f'  c_{node}["{_label(name)}<br/>{len(channel["hits"])}, {channel["elapsed_ms"] or 0:.1f} ms"]')
        lines.append(f"  route --> c_{node}")
    last = "route"
    if channels:
        lines.append(f'  fusion["{found.fusion["method"]}<br/>{len(found.fusion["notes"])}"]')
        lines += [
            f"  c_{node} -->|{channel['weight']:g}| fusion"
            for node, channel in zip(channels, found.channels.values(), strict=True)
        ]
        last = "fusion"
    if found.rerank["results"]:
        model = found.rerank["model_version"] or found.rerank["outcome"]
        lines.append(f'  rerank["{_label(model)}<br/>{len(found.rerank["results"])}"]')
        lines.append(f"  {last} --> rerank")
        last = "rerank"
        for place, row in enumerate(found.rerank["results"][:SHOWN], start=1):
            lines.append(
                f'  n{place}["{place}. {_label(row["title"] or row["note_id"])}<br/>{row["final_score"]:.3f}"]'
            )
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
