"""The node: answer a question about the conversation from the conversation."""

from __future__ import annotations

from dataclasses import replace

from langgraph.runtime import Runtime

from theworld.references.recall import quote_for
from theworld.references.topics import asks_of_chat_alone
from theworld.state import Answer, Citation, Context, QueryState, Update, context_of

CONVERSATION = "conversation"
"""Document id of citations that point into the chat history; the note id is the message's index in it."""
_NOTHING_SAID = {
    "en": "Nothing has been asked or said before in this conversation.",
    "zh": "这次对话里之前还没有提过问题。",
}


def answer_from_history(state: QueryState, runtime: Runtime[Context]) -> Update:
    """Set `result` to the assistant's own words, or to None where the turns referred to hold none.

    The first question of a chat that asks for nothing but what was said in it gets the answer that nothing was.
    """
    quote = quote_for(state.question, state.reference, state.history)
    if quote is None and not state.history and asks_of_chat_alone(state.question):
        text = _NOTHING_SAID[context_of(runtime).language or state.language]
        return {"result": Answer(text=text, reason="nothing was said before in this conversation")}
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
    # What was read into the question serves a search, which there is none.
    return {"result": answer, "query": state.question, "reference": replace(state.reference, standalone_query=None)}
