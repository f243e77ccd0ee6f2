"""The honest end: there is not enough evidence, or the question cannot be answered at the moment."""

from __future__ import annotations

from langgraph.runtime import Runtime

from theworld.state import Answer, Candidate, Context, QueryState, Update, context_of
from theworld.text import fold

SHOWN_TITLES = 3
"""Titles named as what was found instead."""

_TEXTS = {
    "en": {
        "insufficient": "There is not enough evidence to answer this question.",
        "found": " The closest documents found: {titles}.",
        "nothing": " Nothing relevant was found.",
        "failed": "The question cannot be answered now, because the search failed: {reasons}.",
        "separator": "; ",
        "title": '"{}"',
    },
    "zh": {
        "insufficient": "没有足够的证据来回答这个问题。",
        "found": "找到的最相近的文档：{titles}。",
        "nothing": "没有找到相关内容。",
        "failed": "现在无法回答这个问题，因为检索失败：{reasons}。",
        "separator": "；",
        "title": "《{}》",
    },
}


def report_no_evidence(state: QueryState, runtime: Runtime[Context]) -> Update:
    """Set `result` to an answer of kind `none` in the question's language, naming what was found instead."""
    language = context_of(runtime).language or state.language
    words = _TEXTS.get(language, _TEXTS["en"])
    failures = _failures(state)
    if failures:
        text = words["failed"].format(reasons=words["separator"].join(failures))
        reason = "every retrieval channel failed" if not state.channel_results else "the notes found cannot be read"
    else:
        titles = _titles(state.evidence or state.candidates)
        quoted = words["separator"].join(words["title"].format(title) for title in titles)
        text = words["insufficient"] + (words["found"].format(titles=quoted) if titles else words["nothing"])
        reason = "the evidence does not suffice" if titles else "nothing was found"
    return {"result": Answer(text=text, kind="none", confidence=0.0, reason=reason)}


def _failures(state: QueryState) -> list[str]:
    """Return the reasons when no channel answered and at least one failed, or no note could be read; else nothing."""
    if state.candidates:
        return []
    stage = "fuse_candidates" if state.channel_results else "retrieve"
    reasons = [f"{item.stage}: {item.reason}" for item in state.degradations if item.stage.startswith(stage)]
    return list(dict.fromkeys(reasons))


def _titles(candidates: list[Candidate]) -> list[str]:
    distinct: dict[str, str] = {}
    for note in candidates:
        if note.title.strip():
            distinct.setdefault(fold(note.title), " ".join(note.title.split()))
    return list(distinct.values())[:SHOWN_TITLES]
