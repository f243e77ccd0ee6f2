"""An answer in words: how sure it is, the short answer, the passages with their places, and where else to look."""

from __future__ import annotations

from theworld.state import Answer

_WORDS = {
    "en": {"unsure": "Unsure: this may not answer the question.", "see also": "See also: {}", "between": "; "},
    "zh": {"unsure": "不确定：以下内容未必回答了这个问题。", "see also": "另见：{}", "between": "；"},
}


def answer_text(answer: Answer, language: str) -> str:
    """Return what is shown of an answer with passages, in the language asked for (`zh`, else English)."""
    words = _WORDS["zh" if language == "zh" else "en"]
    parts = [words["unsure"]] if answer.sureness == "unsure" else []
    parts += [answer.short] if answer.short else []
    parts += [f"{passage.place} [{passage.number}]\n{passage.text}" for passage in answer.passages]
    parts += [words["see also"].format(words["between"].join(answer.see_also))] if answer.see_also else []
    return "\n\n".join(parts)
