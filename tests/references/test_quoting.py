"""Questions about what was said, by a table; and the words that answer them."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from langgraph.runtime import Runtime

from theworld import ReferenceResolver
from theworld.graph.edges import after_resolution
from theworld.nodes.answer_from_history import answer_from_history
from theworld.references.recall import asked_in_all, asks_what_was_said, quote_for
from theworld.state import Context, Message, QueryState, ReferenceType, ResolvedReference

STANCE = ResolvedReference(reference_type=ReferenceType.STANCE, source_turns=[1], confidence=0.9)

ASKS = [
    ("What was your opinion on the Analytical Engine?", True),
    ("which database did you recommend last time?", True),
    ("what did you say about Redis?", True),
    ("你刚才对《梦溪笔谈》的看法是什么？", True),
    ("之前你说的那个方案是什么？", True),
    ("你上次推荐的是哪个数据库？", True),
    ("刚才说的缓存方案还有效吗？", False),
    ("Is what Redis recommends still valid?", False),
    ("last time it rained, what happened?", False),
    ("最近的地铁站在哪里？", False),
]


@pytest.mark.parametrize(("question", "asks"), ASKS)
def test_what_was_said(question, asks):
    assert asks_what_was_said(question, STANCE) is asks


def test_without_a_reference_the_documents_are_asked():
    assert not asks_what_was_said("What is your opinion?", ResolvedReference())


def test_quotes_the_message_that_says_most():
    history = [
        Message("user", "Which store for sessions?"),
        Message("assistant", "I recommend Redis. It is fast. It is simple. It has a large community."),
        Message("user", "And for documents?"),
        Message("assistant", "I recommend PostgreSQL for documents."),
    ]
    reference = ResolvedReference(reference_type=ReferenceType.STANCE, source_turns=[0, 1, 2, 3])
    quote = quote_for("What did you recommend for documents?", reference, history)
    assert (quote.turn, quote.text) == (3, "I recommend PostgreSQL for documents.")
    quote = quote_for("What did you say about Redis?", reference, history)
    assert quote.text == "I recommend Redis. It is fast. It is simple."
    assert history[quote.turn].content[quote.start : quote.end] == quote.text


def test_of_several_passages_the_one_that_holds_the_words_is_quoted():
    renewal = "## Renewal\n\nRenew it when:\n\n- the key expired\n- you moved"
    passages = f"a.md › FAQ [1]\n## FAQ\n\nNames may differ.\n…\n\nb.md [2]\n…\n{renewal}"
    history = [Message("user", "Can I use my own account?"), Message("assistant", passages)]
    reference = ResolvedReference(reference_type=ReferenceType.TEMPORAL, source_turns=[0, 1])
    quote = quote_for("What did you say about renewal?", reference, history)
    assert quote.text == passages[quote.start : quote.end] == renewal
    words = "Some words about names. " * 40
    long = [Message("user", "How?"), Message("assistant", f"{words}\n\nThe renewal takes a day.")]
    assert quote_for("What did you say about renewal?", reference, long).text == "The renewal takes a day."


@pytest.mark.parametrize(
    ("question", "language", "said"),
    [("What was my first question?", "en", "Nothing has been"), ("我刚才问了什么？", "zh", "还没有提过问题")],
)
def test_in_an_empty_conversation_nothing_was_asked(question, language, said):
    state = QueryState(question=question, language=language)
    assert said in answer_from_history(state, Runtime(context=Context()))["result"].text
    assert after_resolution(lambda *_: ())(state, Runtime(context=Context())) == "answer_from_history"


def test_an_answer_of_passages_is_quoted_to_the_letter():
    passages = "a.md › Reset [1]\nPress reset. It takes a minute.\n\nb.md [2]\nWait."
    shown = f"Unsure: this may not answer the question.\n\n{passages}"
    history = [Message("user", "How do I reset it?"), Message("assistant", shown)]
    reference = ResolvedReference(reference_type=ReferenceType.STANCE, source_turns=[0, 1])
    quote = quote_for("What did you say about the reset?", reference, history)
    assert quote.text == shown[quote.start : quote.end] == "Press reset. It takes a minute."


def test_a_kept_stance_answers_without_history():
    reference = ResolvedReference(reference_type=ReferenceType.STANCE, resolved_content="关于「缓存」: 我建议用 Redis")
    assert quote_for("你之前的建议是什么", reference, []).turn == -1


def test_nothing_said_leaves_it_to_the_documents():
    state = QueryState(question="what did you say?", reference=STANCE, history=[Message("user", "hello")])
    assert answer_from_history(state, None) == {"result": None}


def test_the_citation_points_into_the_conversation():
    history = [Message("user", "缓存用什么？"), Message("assistant", "我建议使用Redis作为缓存层。")]
    read_into = replace(STANCE, standalone_query="你建议的缓存是什么")
    state = QueryState(
        question="你建议的是什么", query="你建议的缓存是什么", language="zh", reference=read_into, history=history
    )
    update = answer_from_history(state, None)
    answer = update["result"]
    assert answer.kind == "extractive"
    assert (answer.citations[0].note_id, answer.citations[0].quote) == ("conversation#1", "我建议使用Redis作为缓存层。")
    assert (update["query"], update["reference"].standalone_query) == (state.question, None), "nothing is searched"


QUOTES = yaml.safe_load((Path(__file__).parent / "data" / "quotes.yaml").read_text(encoding="utf-8"))
CHAT = [
    Message(role, text) for turn in QUOTES[0]["turns"] for role, text in zip(("user", "assistant"), turn, strict=True)
]


@pytest.mark.parametrize("case", QUOTES, ids=lambda case: case["asked"])
def test_questions_about_the_chat_are_answered_from_its_turns(case):
    turns, question = case["turns"], case["asked"]
    chat = [Message(role, text) for turn in turns for role, text in zip(("user", "assistant"), turn, strict=True)]
    reference = ReferenceResolver().resolve(question, chat)
    assert asks_what_was_said(question, reference)
    quote = quote_for(question, reference, chat)
    assert (quote and quote.text, quote and quote.turn) == (case["quoted"], case["turn"])
    assert quote is None or quote.clear is case.get("clear", True)


@pytest.mark.parametrize(
    "question", ["你能告诉我什么是缓存", "Which is the first question of the exam?", "你说我该选哪个？"]
)
def test_what_only_sounds_like_one_is_searched(question):
    assert not asks_what_was_said(question, ReferenceResolver().resolve(question, CHAT))


ALL = [*CHAT, Message("user", "thanks"), Message("assistant", "You are welcome.")]
ASKED = [message.content for message in CHAT if message.role == "user"]


@pytest.mark.parametrize(
    "question",
    [
        "summarize what we talked about",
        "what have we talked about so far?",
        "how many questions have I asked?",
        "summarise what you told me",
        "总结一下刚才说的",
        "把上面的回答总结一下",
        "我一共问了几个问题",
    ],
)
def test_all_that_was_talked_about_is_the_questions(question):
    reference = ReferenceResolver().resolve(question, ALL)
    assert asks_what_was_said(question, reference)
    answer = answer_from_history(QueryState(question=question, reference=reference, history=ALL), None)["result"]
    assert [citation.quote for citation in answer.citations] == ASKED, "small talk is no question"
    assert answer.text.splitlines()[0].endswith(f": {len(ASKED)}")
    assert answer.text.splitlines()[1:] == [f"- {text} [{number}]" for number, text in enumerate(ASKED, 1)]


@pytest.mark.parametrize(
    "question", ["总结一下我们的报销制度内容", "how many questions did I ask about holds", "Summarize the leave policy"]
)
def test_what_names_a_topic_is_not_about_the_whole_chat(question):
    assert not asked_in_all(question, ALL)
    assert not asks_what_was_said(question, ReferenceResolver().resolve(question, ALL))
