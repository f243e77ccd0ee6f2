"""The shared reading of a question: one object for all, safe under threads, and not in the state."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from threading import Barrier
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.questions import Question, read_question, spoken_language
from theworld.questions.question import LONGEST_KEPT
from theworld.text import tokens


def test_all_who_ask_share_one_reading_and_a_long_text_is_not_kept() -> None:
    asked = read_question("Who built the Tianyi Chamber?", "en")
    assert read_question("Who built the Tianyi Chamber?") is asked
    assert read_question("Who built the Tianyi Chamber?", "fr") is asked
    assert read_question("Who built the Tianyi Chamber?", "zh") is not asked
    long = "Who? " * LONGEST_KEPT
    assert read_question(long) == read_question(long)
    assert read_question(long) is not read_question(long)


def test_threads_that_ask_at_once_get_one_reading() -> None:
    question, calls, together = Question("Who?", "en"), list[object](), Barrier(8)

    def read() -> object:
        calls.append(object())
        return calls[-1]

    def ask(_: int) -> object:
        together.wait()
        return question.once("key", read)

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(ask, range(8)))
    assert (len(found), len(calls)) == (1, 1)


def test_a_reading_that_fails_is_not_kept() -> None:
    question = Question("Who?", "en")
    with pytest.raises(ZeroDivisionError):
        question.once("key", lambda: 1 / 0)
    assert question.once("key", lambda: 1) == 1


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Who directed Up before Alien's sequel?", ["Up", "Alien"]),
        ("In India, who wrote \u201cGood Omens\u201d?", ["Good Omens", "India", "Good Omens"]),
        ("《红高粱》的导演是谁？", ["红高粱"]),
        ("I live in Peru. Which visa do Chile and I'd rather Bolivia want?", ["I", "Peru", "Chile", "Bolivia"]),
        ("Did J. P. Hayes meet St. John in Node.js 2.0?", ["J. P. Hayes", "St. John", "Node.js 2.0"]),
        ("who is it?", []),
    ],
)
def test_names_by_how_they_are_written_have_their_places(text: str, names: list[str]) -> None:
    found = read_question(text).written_names
    assert [name for _, name in found] == names
    assert all(text[start:end] == name for (start, end), name in found)


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("How do I ask IT what is on the shelf?", "ask IT shelf?"),
        ("What's the name of it?", "What's the name of it?"),
        ("When was The Man Who Knew Too Much made? I ask.", "Man Who Knew Too Much made? ask."),
        ("the router 怎么重启", "router 怎么重启"),
        ("怎么重启？", "怎么重启？"),
    ],
)
def test_keywords_are_all_but_english_function_words(text: str, keywords: str) -> None:
    assert " ".join(read_question(text).keywords.split()) == keywords


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What do MAX_SIZE and server.port do with --dry-run?", ("MAX_SIZE", "server.port", "--dry-run")),
        ("KC3090在哪？ Is M017 or B-22 in A4 or on U2?", ("KC3090", "M017", "B-22")),
        ("设置 maxSize 和 max_size 有什么用", ("maxSize", "max_size")),
        ("Was J.P. Hayes in the U.S. at 2.5 km, e.g. long-time, https://a.example/b_c?", ()),
    ],
)
def test_identifiers_are_written_as_code_is(text: str, found: tuple[str, ...]) -> None:
    assert read_question(text).identifiers == found


def test_a_time_is_read_for_each_zone() -> None:
    question, moment = read_question("What happened today?"), datetime(2024, 12, 31, 20, tzinfo=ZoneInfo("UTC"))
    (here,), (there,) = question.times(moment), question.times(moment.astimezone(ZoneInfo("Asia/Shanghai")))
    assert [one.start.day for one in (here, there) if one.start] == [31, 1]


def test_an_amount_ends_no_period() -> None:
    moment = datetime(2024, 12, 31, 20, tzinfo=ZoneInfo("UTC"))
    assert not read_question("Who earned from 2000 to 2050 yuan?").times(moment)
    assert len(read_question("Who earned most from 2000 to 2020?").times(moment)) == 1


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    question = Question(text, "zh")
    assert len(question.simplified) == len(text)
    assert set(question.content) <= set(question.tokens)
    assert all(text[one.start : one.end] for one in question.units)
    assert all(text[one.start : one.end] for one in question.amounts)
    assert all(0 <= start < end <= len(text) for start, end in question.possible_names)
    assert all(text[start:end] for (start, end), _ in question.written_names)


@pytest.mark.parametrize(
    ("question", "interface", "spoken"),
    [
        ("hbbr port", "zh", "zh"),
        ("hbbr port", "en", None),
        ("MAX_SIZE", "zh", "zh"),
        ("what is the hbbr port", "zh", None),
        ("hbbr 的端口", "en", None),
        ("怎么安装", "zh", None),
    ],
)
def test_a_question_of_names_alone_is_answered_in_the_language_of_who_asks(question, interface, spoken):
    assert spoken_language(question, interface) == spoken


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("How do I cook rice?", ("cook", "rice")),
        ("可乐鸡翅怎么做？", ("可乐", "乐鸡", "鸡翅")),
        ("能不能带狗", ("带狗",)),
        ("遲到會怎樣", ("迟到", "到会")),
        ("哪些城市有分店吗", ("城市", "市有", "有分", "分店")),
        ("谁", ("谁",)),
    ],
)
def test_what_only_asks_is_no_content(text: str, content: tuple[str, ...]) -> None:
    assert read_question(text).content == content


@pytest.mark.parametrize(
    ("text", "note", "other"),
    [
        ("gas bill April", "| Bill | Apr |", "| Bill | May |"),
        ("Who comes on 18 March?", "2026-03-18: Ann", "2026-04-18: Ann"),
        ("what is due in Sept", "due 2026-09-01", "due 2026-10-01"),
        ("九月的医疗费", "2026-09,医疗费", "2026-10,医疗费"),
        ("十二月有什么安排", "12月安排", "11月安排"),
        ("who works on the 9th of June", "2026-06-09", "2026-06-16"),
        ("is June 9 free", "2026-06-09", "2026-06-19"),
        ("五月十二号是什么日子", "2024-05-12", "2024-05-21"),
        ("六月三日谁值班", "2026-06-03", "2026-06-13"),
    ],
)
def test_a_month_and_a_day_are_found_however_it_is_written(text: str, note: str, other: str) -> None:
    question = read_question(text)
    words = question.words_over([note, other])
    assert words.covered(note) > words.covered(other)
    asked = set(tokens(question.keywords))
    assert len(asked & set(tokens(note))) > len(asked & set(tokens(other)))


def test_may_is_a_month_beside_a_number_only_and_no_name_is_one() -> None:
    assert not read_question("May I bring a dog?").dates
    assert not read_question("Where did Jan Brueghel live?").dates
    assert read_question("Who comes on 4 May?").dates
    assert not read_question("rent for 6 months").dates
