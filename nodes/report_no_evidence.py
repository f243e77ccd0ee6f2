"""The honest end: not enough evidence, nothing to search yet, or no answer at the moment."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from itertools import starmap
from typing import Protocol

from langgraph.runtime import Runtime

from theworld.deadline import Deadline
from theworld.degrading import degrading
from theworld.errors import StoreError
from theworld.packages import reason_in
from theworld.retrieval.channel import LATE
from theworld.state import Answer, Context, Degradation, QueryState, Update, context_of
from theworld.state.answers import INSUFFICIENT
from theworld.text import Language, fold

SHOWN_TITLES = 3
"""Titles named as what was found instead."""
LOOK_MS = 200.0
"""How long a ledger on a server is asked whether it holds anything."""

_TEXTS = {
    "en": {
        "insufficient": INSUFFICIENT["en"],
        "found": " The closest documents found: {titles}.",
        "nothing": " Nothing relevant was found.",
        "filtered": " No document that the filters allow ({filters}) was found.",
        "empty": "The store holds no documents yet. Run `theworld ingest FOLDER --store STORE{tenant}`.",
        "late": "Time ran out before everything was searched; what was found until then does not answer the question.",
        "failed": "The question cannot be answered now, because the search failed: {reasons}.",
        "separator": "; ",
        "title": '"{}"',
    },
    "zh": {
        "insufficient": INSUFFICIENT["zh"],
        "found": "找到的最相近的文档：{titles}。",
        "nothing": "没有找到相关内容。",
        "filtered": "没有找到符合筛选条件（{filters}）的文档。",
        "empty": "知识库中还没有文档。请运行 `theworld ingest 文件夹 --store 知识库{tenant}`。",
        "late": "时间不足，未能检索全部内容；已找到的内容不足以回答这个问题。",
        "failed": "现在无法回答这个问题，因为检索失败：{reasons}。",
        "separator": "；",
        "title": "《{}》",
    },
}


class NoteStore(Protocol):
    """Knows whether there is anything to be found."""

    def has_notes(self, *, tenant: str, within: Deadline | None = None) -> bool:
        """Return whether the tenant has any note; StoreError when that cannot be said in time."""


def report_no_evidence(state: QueryState, runtime: Runtime[Context], *, store: NoteStore) -> Update:
    """Set `result` to an answer of kind `none` in the question's language, naming what was found instead.

    Where nothing was found because there is nothing yet, it says so.
    """
    context = context_of(runtime)
    language = context.language or state.language
    noted: list[Degradation] = []
    empty = False
    reason = "the ledger cannot say whether it holds any notes"
    with degrading("report_no_evidence", context, noted, reason, catching=StoreError):
        empty = not state.candidates and not store.has_notes(tenant=context.tenant, within=Deadline.after(LOOK_MS))
    if empty:
        tenant = "" if context.tenant == "default" else f" --tenant {shlex.quote(context.tenant)}"
        text = _TEXTS[language]["empty"].format(tenant=tenant)
        return {"result": Answer(text=text, reason="the store is empty")}
    return {"result": _why_none(state, language, context.filters), "degradations": noted}


def _why_none(state: QueryState, language: Language, filtered: Mapping[str, object]) -> Answer:
    """Say why there is no answer: the search failed, found too little, found nothing, or did not take place.

    It failed when no channel answered and at least one failed other than by being late, or no note could be read.
    """
    words, failures = _TEXTS[language], _failures(state)
    if not state.candidates and any(LATE not in why for _, why in failures):
        reasons = words["separator"].join(f"{stage}: {reason_in(language, why)}" for stage, why in failures)
        text = words["failed"].format(reasons=reasons)
        reason = "every retrieval channel failed" if not state.channel_results else "the notes found cannot be read"
    else:
        titles: dict[str, str] = {}
        for note in state.evidence or state.candidates:
            if note.title.strip():
                titles.setdefault(fold(note.title), " ".join(note.title.split()))
        quoted = words["separator"].join(words["title"].format(title) for title in [*titles.values()][:SHOWN_TITLES])
        filters = words["separator"].join(starmap("{}={}".format, filtered.items()))
        nothing = words["filtered" if filters else "nothing"].format(filters=filters) * bool(state.channel_results)
        late = state.rerank_outcome == "timeout" or any(
            item.stage.startswith("retrieve_") and LATE in item.reason for item in state.degradations
        )  # evidence may be missing for that alone
        text = words["late" if late else "insufficient"] + (words["found"].format(titles=quoted) if titles else nothing)
        searched = "nothing was found" if state.channel_results else "no document was searched"
        reason = "time ran out" if late else "the evidence does not suffice" if titles else searched
    return Answer(text=text, reason=reason)


def _failures(state: QueryState) -> list[tuple[str, str]]:
    """Return (stage, reason) of the channels that failed, where none answered, else of reading what they found."""
    stage = "fuse_candidates" if state.channel_results else "retrieve"
    return list(dict.fromkeys((one.stage, one.reason) for one in state.degradations if one.stage.startswith(stage)))
