"""A greeting needs no search: answer it in kind, and say what can be asked instead."""

from __future__ import annotations

import re

from langgraph.runtime import Runtime

from theworld.questions import read_question
from theworld.state import Answer, Context, QueryState, Update, context_of
from theworld.text import Language

_THANKS = re.compile(r"\b(?:thanks|thank you|thx|cheers)\b|谢谢|多谢|感谢|辛苦", re.IGNORECASE)
_FAREWELL = re.compile(r"\b(?:bye|goodbye|good night|see you|farewell)\b|再见|拜拜|回头见|明天见|晚安", re.IGNORECASE)
_GREETING = re.compile(
    r"\b(?:hello|hi|hey|hiya|good (?:morning|afternoon|evening|day)|how are you|how's it going)\b|[你您]好"
    r"|[早晚]上好|[上中下]午好|早安|哈喽|[嗨嘿]|在吗|在不在",
    re.IGNORECASE,
)
_OPENINGS = {
    "en": {"greeting": "Hello.", "thanks": "You are welcome.", "farewell": "Goodbye."},
    "zh": {"greeting": "你好。", "thanks": "不客气。", "farewell": "再见。"},
}
_OFFERS = {
    "en": "Ask me something about the documents I hold, and I will answer with its sources.",
    "zh": "可以问我已收录文档中的内容，我会给出答案和出处。",
}


def small_talk_reply(question: str, language: Language) -> str:
    """Return the reply to a greeting, thanks or a farewell; to all else ("great", "never mind") what may be asked."""
    folded = read_question(question).folded
    patterns = {"farewell": _FAREWELL, "thanks": _THANKS, "greeting": _GREETING}
    kind = next((name for name, pattern in patterns.items() if pattern.search(folded)), None)
    if kind is None:
        return _OFFERS[language]
    opening = _OPENINGS[language][kind]
    return opening if kind == "farewell" else f"{opening}{' ' if language == 'en' else ''}{_OFFERS[language]}"


def reply_to_smalltalk(state: QueryState, runtime: Runtime[Context]) -> Update:
    """Set `result` to a fixed reply of kind `none`: nothing was searched and nothing is claimed."""
    text = small_talk_reply(state.question, context_of(runtime).language or state.language)
    return {"result": Answer(text=text, reason="small talk: nothing was searched")}
