"""Which words of a text are a question's, and how much each says."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.questions import read_question
from theworld.questions.words import respelt

TEXTS = ["Reset the password in the settings.", "The settings page shows your name.", "Your settings are kept."]


def marked(question: str, text: str, texts: list[str] | None = None) -> list[str]:
    words = read_question(question).words_over(TEXTS if texts is None else texts)
    return [text[start:end] for start, end in words.marks(text)]


def test_what_is_rare_among_the_notes_found_says_most() -> None:
    words = read_question("password settings").words_over(TEXTS)
    assert words.covered("password") > words.covered("settings") > 0
    assert words.covered("password and settings") == pytest.approx(1.0)
    assert words.covered("nothing of it") == 0.0


def test_a_word_that_no_note_holds_stays_uncovered() -> None:
    words = read_question("password of the spaceship").words_over(TEXTS)
    assert words.covered("password") < 0.5


def test_function_words_say_nothing_unless_they_are_all_there_is() -> None:
    words = read_question("where is the password").words_over(TEXTS)
    assert words.covered("password") == pytest.approx(1.0)
    assert words.covered("where the") == 0.0
    assert words.marks("Where the password is") == ((10, 18),)
    assert read_question("where is").words_over(TEXTS).covered("where") > 0.0


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        ("reset password", "Resetting a PASSWORD: see below.", ["Resetting", "PASSWORD"]),
        ("reset password settings", "The settings reset it.", ["reset"]),
        ("the manager's password", "A manager’s password.", ["manager’s", "password"]),
        ("password", "no such thing", []),
        ("重置密码", "請重置您的密碼。", ["重置", "密碼"]),
        ("MFA 密码", "用MFA密码登录", ["MFA密码"]),
    ],
    ids=["forms", "what every note says is not marked", "apostrophes", "none", "either script", "runs that touch"],
)
def test_marks(question: str, text: str, found: list[str]) -> None:
    assert marked(question, text) == found


def test_pairs_across_chinese_words_do_not_hide_the_others() -> None:
    text = "病假凭医院证明。"
    assert marked("病假需要什么证明？", text, [text, "事假须提前三天申请。"]) == ["病假", "证明"]


SPELT = [
    ("how do i set the delimitr?", ["The delimiter of a CSV file. Delimiters differ."], "how do i set the delimiter?"),
    ("rceive mail", ["You receive it."], "receive mail"),  # exchanged
    ("the passwrd", ["A password and a passport."], "the password"),  # lost
    ("no matter what", ["The master."], None),  # a word of its own
    ("resetting", ["Reset it."], None),  # another form of a word that is there
    ("Delimitr", ["The delimiter."], None),  # may be a name
    ("set csv.delimitr or --delimitr", ["The delimiter."], None),  # as code is written
    ("we mustn't", ["You must."], None),
    ("police", ["Nothing like it."], None),
    ("typo", ["A type."], None),  # too short to tell
    ("密码delimitr是什么", ["The delimiter."], "密码delimiter是什么"),  # beside Chinese characters
    ("", ["x"], None),
    ("delimitr", [], None),
]


@pytest.mark.parametrize(("question", "texts", "found"), SPELT)
def test_unknown_words_are_spelt_as_the_texts_spell_what_is_most_like_them(
    question: str, texts: list[str], found: str | None
) -> None:
    assert respelt(question, texts, {"matter"}) == found


@pytest.mark.parametrize(("question", "texts"), [("", TEXTS), ("？！", TEXTS), ("password", []), ("", [])])
def test_without_words_or_notes_nothing_breaks(question: str, texts: list[str]) -> None:
    words = read_question(question).words_over(texts)
    assert 0.0 <= words.covered("password") <= 1.0
    assert words.marks("") == ()


SOME = st.lists(st.sampled_from(["reset", "password", "Settings", "密码", "重置密码", "，", "\n", "é", "ß"])).map(
    " ".join
)


@given(SOME, st.lists(SOME, max_size=4), SOME | st.text(max_size=30))
def test_laws(question: str, texts: list[str], text: str) -> None:
    """Marks are ascending, apart and inside; what is covered is a share, and more text never covers less."""
    words = read_question(question).words_over(texts)
    marks = words.marks(text)
    assert all(0 <= start < end <= len(text) for start, end in marks)
    assert all(left[1] < right[0] for left, right in pairwise(marks))
    assert 0.0 <= words.covered(text) <= 1.0 + 1e-9
    assert words.covered(f"{text}\n{question}") >= words.covered(text)
