"""What is said without evidence: there is none, it is small talk, or the conversation itself is asked about."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Protocol

from langgraph.runtime import Runtime

from theworld.deadline import Deadline
from theworld.degrading import degrading
from theworld.errors import StoreError
from theworld.questions import read_question
from theworld.references.recall import quote_for
from theworld.retrieval.channel import LATE
from theworld.state import Answer, Citation, Context, Degradation, QueryState, Update, context_of
from theworld.text import Language, fold

SHOWN_TITLES = 3
"""Titles named as what was found instead."""
LOOK_MS = 200.0
"""How long a ledger on a server is asked whether it holds anything."""

_TEXTS = {
    "en": {
        "insufficient": "There is not enough evidence to answer this question.",
        "found": " The closest documents found: {titles}.",
        "nothing": " Nothing relevant was found.",
        "empty": "The store holds no documents yet. Run `theworld ingest FOLDER --store STORE{tenant}`.",
        "late": "Time ran out before everything was searched; what was found until then does not answer the question.",
        "failed": "The question cannot be answered now, because the search failed: {reasons}.",
        "separator": "; ",
        "title": '"{}"',
    },
    "zh": {
        "insufficient": "没有足够的证据来回答这个问题。",
        "found": "找到的最相近的文档：{titles}。",
        "nothing": "没有找到相关内容。",
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
    words = _TEXTS[context.language or state.language]
    noted: list[Degradation] = []
    empty = False
    reason = "the ledger cannot say whether it holds any notes"
    with degrading("report_no_evidence", context, noted, reason, catching=StoreError):
        empty = not state.candidates and not store.has_notes(tenant=context.tenant, within=Deadline.after(LOOK_MS))
    if empty:
        tenant = "" if context.tenant == "default" else f" --tenant {shlex.quote(context.tenant)}"
        text = words["empty"].format(tenant=tenant)
        return {"result": Answer(text=text, reason="the store is empty")}
    return {"result": _result(state, words), "degradations": noted}


def _result(state: QueryState, words: Mapping[str, str]) -> Answer:
    """Say why there is no answer: the search failed, found too little, found nothing, or did not take place."""
    failures = _failures(state)
    if failures:
        text = words["failed"].format(reasons=words["separator"].join(failures))
        reason = "every retrieval channel failed" if not state.channel_results else "the notes found cannot be read"
    else:
        distinct: dict[str, str] = {}
        for note in state.evidence or state.candidates:
            if note.title.strip():
                distinct.setdefault(fold(note.title), " ".join(note.title.split()))
        titles = list(distinct.values())[:SHOWN_TITLES]
        quoted = words["separator"].join(words["title"].format(title) for title in titles)
        nothing = words["nothing"] if state.channel_results else ""
        late = state.rerank_outcome == "timeout" or any(
            item.stage.startswith("retrieve_") and LATE in item.reason for item in state.degradations
        )
        text = words["late" if late else "insufficient"] + (words["found"].format(titles=quoted) if titles else nothing)
        searched = "nothing was found" if state.channel_results else "no document was searched"
        reason = "time ran out" if late else "the evidence does not suffice" if titles else searched
    return Answer(text=text, reason=reason)


def _failures(state: QueryState) -> list[str]:
    """Return the reasons when no channel answered and at least one failed, or no note could be read; else nothing."""
    if state.candidates:
        return []
    stage = "fuse_candidates" if state.channel_results else "retrieve"
    reasons = [f"{item.stage}: {item.reason}" for item in state.degradations if item.stage.startswith(stage)]
    return list(dict.fromkeys(reasons))


_THANKS = re.compile(r"\b(?:thanks|thank you|thx|cheers)\b|谢谢|多谢|感谢|辛苦", re.IGNORECASE)
_FAREWELL = re.compile(r"\b(?:bye|goodbye|good night|see you|farewell)\b|再见|拜拜|回头见|明天见|晚安", re.IGNORECASE)
_OPENINGS = {
    "en": {"greeting": "Hello.", "thanks": "You are welcome.", "farewell": "Goodbye."},
    "zh": {"greeting": "你好。", "thanks": "不客气。", "farewell": "再见。"},
}
_OFFERS = {
    "en": "Ask me something about the documents I hold, and I will answer with its sources.",
    "zh": "可以问我已收录文档中的内容，我会给出答案和出处。",
}


def small_talk_reply(question: str, language: Language) -> str:
    """Return the reply to a greeting, thanks or a farewell."""
    folded = read_question(question).folded
    kind = "farewell" if _FAREWELL.search(folded) else "thanks" if _THANKS.search(folded) else "greeting"
    opening = _OPENINGS[language][kind]
    return opening if kind == "farewell" else f"{opening}{' ' if language == 'en' else ''}{_OFFERS[language]}"


def reply_to_smalltalk(state: QueryState, runtime: Runtime[Context]) -> Update:
    """Set `result` to a fixed reply of kind `none`: nothing was searched and nothing is claimed."""
    text = small_talk_reply(state.question, context_of(runtime).language or state.language)
    return {"result": Answer(text=text, reason="small talk: nothing was searched")}


CONVERSATION = "conversation"
"""Document id of citations that point into the chat history; the note id is the message's index in it."""


def answer_from_history(state: QueryState, runtime: Runtime[Context]) -> Update:
    """Set `result` to the assistant's own words, or to None where the turns referred to hold none."""
    quote = quote_for(state.question, state.reference, state.history)
    if quote is None:
        return {"result": None}
    citation = Citation(
        number=1,
        document_id=CONVERSATION,
        note_id=f"{CONVERSATION}#{quote.turn}" if quote.turn >= 0 else f"{CONVERSATION}#stance",
        title="对话" if state.language == "zh" else "Conversation",
        start=quote.start,
        end=quote.end,
        quote=quote.text,
    )
    answer = Answer(
        text=f"{quote.text} [1]",
        kind="extractive",
        confidence=state.reference.confidence / (1 if quote.clear else 2),
        citations=(citation,),
        reason="the question asks what was said in this conversation",
    )
    return {"result": answer}
