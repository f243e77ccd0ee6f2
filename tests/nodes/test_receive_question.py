"""Where the question is, among what callers pass and threads keep."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from theworld.errors import InvalidQuestionError, RetrievalUnavailableError
from theworld.nodes.receive_question import clean_question, find_question, receive_question
from theworld.state import Context, Message, QueryInput

ANSWERED = [HumanMessage("Who was Ada?"), AIMessage("A mathematician.")]

CASES = [
    ("a question alone", "Why?", [], "Why?", 0),
    ("messages alone", "", [HumanMessage("Why?")], "Why?", 0),
    (
        "a chat goes on; the state keeps the last question",
        "Who was Ada?",
        [*ANSWERED, HumanMessage("Where?")],
        "Where?",
        2,
    ),
    ("a question in a thread", "Where?", ANSWERED, "Where?", 2),
    ("the same question again", "Who was Ada?", ANSWERED, "Who was Ada?", 2),
    ("an earlier run died unanswered", "Where?", [*ANSWERED, HumanMessage("lost")], "Where?", 3),
    ("only answered messages", "", ANSWERED, "Who was Ada?", 0),
]


@pytest.mark.parametrize(("question", "messages", "found", "before"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_find_question(question, messages, found, before):
    assert find_question(question, messages) == (found, messages[:before])


@pytest.mark.parametrize("question", ["", " \t\n", "\x00", "?!…", "x" * 20_001, "。"])
def test_unreadable_questions_are_refused(question):
    with pytest.raises(InvalidQuestionError):
        clean_question(question)


@pytest.mark.parametrize(
    ("question", "cleaned"),
    [(" who\x07 ", "who"), ("谁\u200b？", "谁？"), ("a\nb", "a\nb"), ("𠮷野家？", "𠮷野家？")],
)
def test_readable_questions_are_cleaned(question, cleaned):
    assert clean_question(question) == cleaned


def test_the_history_given_wins_over_messages():
    given = [Message("user", "from the caller")]
    state = QueryInput(question="Where?", history=given, messages=ANSWERED)
    assert receive_question(state, None, refresh=lambda within: None, deadline_ms=1000)["history"] == given
    state = QueryInput(question="Where?", messages=ANSWERED)
    history = receive_question(state, None, refresh=lambda within: None, deadline_ms=1000)["history"]
    assert [(m.role, m.content) for m in history] == [("user", "Who was Ada?"), ("assistant", "A mathematician.")]


def test_a_store_that_cannot_refresh_is_named():
    def fail(within):
        raise OSError("disk gone")

    update = receive_question(QueryInput(question="Where?"), None, refresh=fail, deadline_ms=1000)
    (degradation,) = update["degradations"].value
    assert "disk gone" in degradation.reason


def test_a_strict_caller_is_not_answered_without_the_news():
    class Runtime:
        context = Context(strict=True)

    def fail(within):
        raise OSError("disk gone")

    with pytest.raises(RetrievalUnavailableError, match="disk gone"):
        receive_question(QueryInput(question="Where?"), Runtime(), refresh=fail, deadline_ms=1000)


@pytest.mark.parametrize(
    ("question", "cleaned"),
    [
        ("Ｗｈｏ　ｗａｓ　Ａｄａ？", "Who\u3000was\u3000Ada？"),
        ("𝐖𝐡𝐨 was Ada?", "Who was Ada?"),
        ("W\u200bho \u202ewas\u202c Ad\u00ada?\ufeff", "Who was Ada?"),
        ("می\u200cخواهم ١٢", "می\u200cخواهم ١٢"),
        ("m² ① ﬁ，Ⅳ。", "m² ① ﬁ，Ⅳ。"),
    ],
)
def test_letters_of_another_width_and_invisible_characters(question, cleaned):
    assert clean_question(question) == cleaned
