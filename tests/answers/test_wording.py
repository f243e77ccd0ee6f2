"""An answer in words, in both languages."""

from __future__ import annotations

import pytest

from theworld.answers import answer_text
from theworld.state import Answer, Passage


def passage(number: int, place: str, text: str) -> Passage:
    return Passage(number=number, document_id="d", note_id="d#0", place=place, text=text, start=0, end=len(text))


LEAVE = passage(1, "leave.md › Parental leave", "A year.")
PAY = passage(2, "pay.md", "Monthly.")
EVERYTHING = Answer(short="1731 g", passages=(LEAVE, PAY), see_also=("a.md › A", "b.md"), sureness="unsure")


def test_everything_in_its_order() -> None:
    assert answer_text(EVERYTHING, "en") == (
        "Unsure: this may not answer the question.\n\n"
        "1731 g\n\n"
        "leave.md › Parental leave [1]\nA year.\n\n"
        "pay.md [2]\nMonthly.\n\n"
        "See also: a.md › A; b.md"
    )
    assert answer_text(EVERYTHING, "zh") == (
        "不确定：以下内容未必回答了这个问题。\n\n"
        "1731 g\n\n"
        "leave.md › Parental leave [1]\nA year.\n\n"
        "pay.md [2]\nMonthly.\n\n"
        "另见：a.md › A；b.md"
    )


@pytest.mark.parametrize("sureness", ["sure", "likely"])
def test_what_is_not_there_leaves_no_trace(sureness: str) -> None:
    answer = Answer.model_validate({"passages": (LEAVE,), "sureness": sureness})
    assert answer_text(answer, "en") == answer_text(answer, "zh") == "leave.md › Parental leave [1]\nA year."
