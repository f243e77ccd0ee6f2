"""The last node: the answer becomes the graph's output, the chat's next message, and the thread's latest turn."""

from __future__ import annotations

from datetime import UTC, datetime

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from theworld.answers import said_text
from theworld.nodes.receive_question import SAID
from theworld.retrieval.graph import distinct_paths
from theworld.state import Answer, Context, Message, QueryState, Update, context_of


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
