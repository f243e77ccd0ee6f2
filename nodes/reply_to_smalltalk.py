"""A greeting needs no search: say what can be asked instead."""

from __future__ import annotations

from langgraph.runtime import Runtime

from theworld.state import Answer, Context, QueryState, Update, context_of

_TEXTS = {
    "en": "Hello. Ask me something about the documents I hold, and I will answer with its sources.",
    "zh": "你好。可以问我已收录文档中的内容，我会给出答案和出处。",
}


def reply_to_smalltalk(state: QueryState, runtime: Runtime[Context]) -> Update:
    """Set `result` to a fixed reply of kind `none`: nothing was searched and nothing is claimed."""
    language = context_of(runtime).language or state.language
    return {"result": Answer(text=_TEXTS.get(language, _TEXTS["en"]), reason="small talk: nothing was searched")}
