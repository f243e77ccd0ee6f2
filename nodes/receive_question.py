"""Take the question in: check it, find it among chat messages, and reset what an earlier turn left behind; and, last of
all, finish the answer for whoever asked.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache, partial

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from theworld.answers import said_text
from theworld.deadline import Deadline, run_within
from theworld.degrading import degrading
from theworld.errors import InvalidQuestionError
from theworld.questions import read_question
from theworld.retrieval.evidence_paths import distinct_paths
from theworld.state import Answer, Context, Degradation, Message, QueryInput, QueryState, Update, context_of
from theworld.state.query import MAX_QUESTION_CHARACTERS, new_question

REFRESH_SHARE = 0.25
"""Of the time for retrieval, what may be waited for news: without them the notes already known can still answer."""
_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
SAID = "said"
"""Key of a message's response_metadata: what a conversation remembers of an answer, shorter than what is shown."""
_JOINERS = "\u200c\u200d"
"""Invisible characters that spell words (Persian, Hindi) and join emoji."""


def _readable(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text.strip()
    return "".join(map(_plain_character, text)).strip()


@lru_cache(maxsize=20_000)
def _plain_character(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Cc", "Cs"}:
        return character if character in "\n\t" else " "
    if category == "Cf":
        return character if character in _JOINERS else ""
    narrow = unicodedata.normalize("NFKC", character)
    return narrow if category in {"Lu", "Ll", "Nd"} and narrow.isascii() and len(narrow) == 1 else character


def clean_question(question: str) -> str:
    """Return the question without control characters, invisible ones and surrounding space.

    Letters and digits of another width or font (`Ｗｈｏ`, `𝐖𝐡𝐨`) become plain ones: embedders do not know them.
    Raises InvalidQuestionError when nothing readable is left or it is longer than 20,000 characters.
    """
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise InvalidQuestionError(
            f"it has {len(question):,} characters, at most {MAX_QUESTION_CHARACTERS:,} are taken",
            where="question",
            remedy="Shorten it, or ingest the text as a document and ask about it.",
        )
    readable = _readable(question)
    if not any(c.isalnum() for c in readable):
        raise InvalidQuestionError(
            "it is empty or holds no letter or digit", where="question", remedy="Ask something in words."
        )
    return readable


def history_of(messages: list[AnyMessage]) -> list[Message]:
    """Return chat messages as history, their text parts joined; of our own answers what is remembered of them."""
    said = [m.response_metadata.get(SAID) if m.type == "ai" else None for m in messages]
    return [
        Message(role=_ROLES.get(m.type, m.type), content=remembered if isinstance(remembered, str) else str(m.text))
        for m, remembered in zip(messages, said, strict=True)
    ]


def find_question(question: str, messages: list[AnyMessage]) -> tuple[str, list[AnyMessage]]:
    """Return the question and the messages before it.

    A last message by the user is the question when none was passed, or when the one in the state is an earlier turn's
    (a thread keeps it): chat applications pass messages only.
    """
    said = [_readable(str(m.text)) for m in messages if m.type == "human"]
    unanswered = bool(messages) and messages[-1].type == "human"
    if unanswered and (not question.strip() or _readable(question) in said[:-1]):
        return str(messages[-1].text), messages[:-1]
    if not question.strip() and said:
        last = max(i for i, m in enumerate(messages) if m.type == "human")
        return str(messages[last].text), messages[:last]
    return question, messages


def receive_question(
    state: QueryInput,
    runtime: Runtime[Context],
    *,
    refresh: Callable[[Deadline], object],
    deadline_ms: int,
) -> Update:
    """Find the question and the history; reset everything that belongs to one run; start the request's clock.

    `refresh` lets the stores take in what other processes have written since the last question, in a share of
    retrieval's `deadline_ms`.
    """
    started, context = time.perf_counter(), context_of(runtime)
    noted: list[Degradation] = []
    with degrading("receive_question", context, noted, "newly written notes could not be taken in"):
        within = Deadline(started, (context.deadline_ms or deadline_ms) * REFRESH_SHARE)
        whole = Deadline(started, context.total_deadline_ms) if context.total_deadline_ms else None
        run_within(whole, partial(refresh, within), name="refresh")
    question, messages = find_question(state.question, list(state.messages))
    added = [HumanMessage(question)] if len(messages) == len(state.messages) else []
    question = clean_question(question)
    return {
        **new_question(),
        "asked_at": datetime.now().astimezone(),
        "request_started": started,
        "question": question,
        "query": question,
        "language": read_question(question).language,
        "history": list(state.history) or history_of(messages),
        "messages": added,
        "degradations": Overwrite(noted),
    }


def finish_answer(state: QueryState, runtime: Runtime[Context]) -> Update:
    """Write answer, kind, confidence, citations and distinct paths, and append the turn to `history` and `messages`.

    The turn is stamped with the caller's `now`, else the clock, so that a thread can be asked about "two days ago".
    """
    result = state.result or Answer(reason="no node produced an answer")
    context = context_of(runtime)
    now = context.now or datetime.now(UTC)
    said = said_text(result, context.language or state.language)
    turn = [Message("user", state.question, now), Message("assistant", said, now)]
    return {
        "result": result,
        "answer": result.text,
        "kind": result.kind,
        "confidence": result.confidence,
        "citations": list(result.citations),
        "paths": distinct_paths(state.paths),
        "history": [*state.history, *turn],
        "messages": [AIMessage(content=result.text, response_metadata={"kind": result.kind, SAID: said})],
    }
