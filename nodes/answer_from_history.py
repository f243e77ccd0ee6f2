"""The node: answer a question about the conversation from the conversation."""

from __future__ import annotations

from dataclasses import replace

from langgraph.runtime import Runtime

from theworld.references.recall import asked_in_all, quote_for
from theworld.references.topics import asks_of_chat_alone
from theworld.state import Answer, Citation, Context, QueryState, Update, context_of
from theworld.text import Language

CONVERSATION = "conversation"
"""Document id of citations that point into the chat history; the note id is the message's index in it."""
MOST_LISTED = 50  # questions of a conversation that are listed, the last ones
_ASKED: dict[Language, str] = {
    "en": "Questions asked in this conversation: {count}",
    "zh": "这次对话里问过的问题：{count} 个",
}
_NOTHING_SAID = {
    "en": "Nothing has been asked or said before in this conversation.",
    "zh": "这次对话里之前还没有提过问题。",
}


def answer_from_history(state: QueryState, runtime: Runtime[Context]) -> Update:
    """Set `result` to the words of the conversation, or to None where the turns referred to hold none.

    All that was talked about is the user's questions, of a long conversation the last ones. The first question of a
    chat that asks for nothing but what was said in it gets the answer that nothing was.
    """
    listed = asked_in_all(state.question, state.history)
    quote = None if listed else quote_for(state.question, state.reference, state.history)
    if not (listed or quote or state.history) and asks_of_chat_alone(state.question):
        text = _NOTHING_SAID[context_of(runtime).language or state.language]
        return {"result": Answer(text=text, reason="nothing was said before in this conversation")}
    quotes = listed[-MOST_LISTED:] or ([quote] if quote else [])
    if not quotes:
        return {"result": None}
    lines = [f"{said.text} [{number}]" for number, said in enumerate(quotes, 1)]
    if listed:
        lines = [_ASKED[state.language].format(count=len(listed)), *(f"- {line}" for line in lines)]
    answer = Answer(
        text="\n".join(lines),
        kind="extractive",
        confidence=state.reference.confidence / (1 if all(said.clear for said in quotes) else 2),
        citations=tuple(
            Citation(
                number=number,
                document_id=CONVERSATION,
                note_id=f"{CONVERSATION}#{said.turn}" if said.turn >= 0 else f"{CONVERSATION}#stance",
                title="对话" if state.language == "zh" else "Conversation",
                start=said.start,
                end=said.end,
                quote=said.text,
            )
            for number, said in enumerate(quotes, 1)
        ),
        reason="the question asks what was said in this conversation",
    )
    # What was read into the question serves a search, which there is none.
    return {"result": answer, "query": state.question, "reference": replace(state.reference, standalone_query=None)}
