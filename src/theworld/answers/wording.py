"""An answer in words: how sure it is, the short answer, the passages with their places, and where else to look."""

from __future__ import annotations

import re

from theworld.state import Answer

_FENCE = re.compile(r"^ *(`{3,}|~{3,})", re.MULTILINE)

_WORDS = {
    "en": {
        "unsure": "Unsure: this may not answer the question.",
        "see also": "See also: {}",
        "between": "; ",
        "quoted": "{}: {}",
    },
    "zh": {
        "unsure": "不确定：以下内容未必回答了这个问题。",
        "see also": "另见：{}",
        "between": "；",
        "quoted": "《{}》：{}",
    },
}


def answer_text(answer: Answer, language: str) -> str:
    """Return what is shown of an answer with passages, in the language asked for (`zh`, else English)."""
    words = _WORDS["zh" if language == "zh" else "en"]
    parts = [words["unsure"]] if answer.sureness == "unsure" else []
    parts += [answer.short] if answer.short else []
    parts += [f"{passage.place} [{passage.number}]\n{_closed(passage.text)}" for passage in answer.passages]
    parts += [words["see also"].format(words["between"].join(answer.see_also))] if answer.see_also else []
    return "\n\n".join(parts)


def _closed(text: str) -> str:
    """Return a passage with its last code block closed, and a mark that it goes on, where only a part is shown."""
    fences = _FENCE.findall(text)
    return f"{text}\n…\n{fences[-1]}" if len(fences) % 2 else text


def said_text(answer: Answer, language: str) -> str:
    """Return what a conversation remembers of an answer: its short form, and the first passage under its title.

    What a later "she" or "there" may mean stands first; further passages would only offer more to be meant.
    """
    if not answer.passages:
        return answer.text
    first = answer.passages[0]
    quoted = _WORDS["zh" if language == "zh" else "en"]["quoted"].format(first.title or first.place, first.text)
    return "\n".join(filter(None, (answer.short, quoted)))
