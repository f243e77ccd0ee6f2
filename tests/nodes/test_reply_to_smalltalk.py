from __future__ import annotations

import pytest

from theworld.nodes.reply_to_smalltalk import small_talk_reply
from theworld.text import Language


@pytest.mark.parametrize(
    ("question", "language", "opening"),
    [
        ("Hello!", "en", "Hello. Ask"),
        ("Thank you very much", "en", "You are welcome. Ask"),
        ("thanks, bye", "en", "Goodbye."),
        ("How are you?", "en", "Hello. Ask"),
        ("Let's change the subject", "en", "Ask me"),
        ("ok great", "en", "Ask me"),
        ("Never mind.", "en", "Ask me"),
        ("Good morning", "en", "Hello. Ask"),
        ("你好", "zh", "你好。可以问"),
        ("早上好", "zh", "你好。可以问"),
        ("换个话题吧", "zh", "可以问"),
        ("好的，明白了", "zh", "可以问"),
        ("多謝！", "zh", "不客气。可以问"),
        ("谢谢，再见", "zh", "再见。"),
    ],
)
def test_the_reply_is_in_kind_and_says_what_can_be_asked(question: str, language: Language, opening: str) -> None:
    assert small_talk_reply(question, language).startswith(opening)
