"""An answer in words, in both languages."""

from __future__ import annotations

import pytest

from theworld.answers import answer_text, said_text
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


def test_a_conversation_remembers_the_short_answer_and_the_first_passage_under_its_title() -> None:
    leave = LEAVE.model_copy(update={"title": "Leave"})
    answer = EVERYTHING.model_copy(update={"passages": (leave, PAY)})
    assert said_text(answer, "en") == "1731 g\n“Leave”: A year."
    assert said_text(answer.model_copy(update={"short": ""}), "zh") == "《Leave》：A year."
    assert said_text(Answer(text="Nothing was found."), "en") == "Nothing was found."


def test_a_code_block_of_which_the_beginning_is_shown_is_closed() -> None:
    begun, whole = passage(1, "run.md", "Run:\n\n```sh\nmake demo"), passage(2, "run.md", "~~~\na\n~~~\n")
    text = answer_text(Answer(passages=(begun, whole), sureness="sure"), "en")
    assert text == "run.md [1]\nRun:\n\n```sh\nmake demo\n…\n```\n\nrun.md [2]\n~~~\na\n~~~\n"
