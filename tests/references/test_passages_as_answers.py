"""What follow-ups refer to after an answer that is a passage under its place, as the product shows it."""

from __future__ import annotations

import pytest

from theworld.references import ReferenceResolver
from theworld.state import Message
from theworld.state.answers import INSUFFICIENT, SEE_ALSO, UNSURE

MOON = (
    "apollo-11.md › The flight [1]\nApollo 11 was the flight that first brought people to the Moon. A Saturn V rocket "
    "lifted off with it. The commander was Neil Armstrong; Buzz Aldrin flew the lunar module."
)
LABORATORY = (
    "Curie's life.md [1]\nMarie Curie was born in Warsaw. Pierre Curie worked with her in Paris. The chief of the "
    "laboratory was Gabriel Lippmann."
)
LIBRARY = (
    "tianyi-pavilion.md › 天一阁 [1]\n天一阁坐落在宁波市月湖西侧，是私家藏书楼。它由范钦主持建造，建于1561年至1566年。"
)


@pytest.mark.parametrize(
    ("question", "answer", "follow_up", "alone"),
    [
        ("Who was the commander of Apollo 11?", MOON, "Where was he born?", "Where was Neil Armstrong born?"),
        ("Who was the chief of the laboratory?", LABORATORY, "When did he die?", "When did Gabriel Lippmann die?"),
    ],
)
def test_a_pronoun_stands_for_the_name_in_the_sentence_that_answers(question, answer, follow_up, alone):
    history = [Message("user", question), Message("assistant", answer)]
    assert ReferenceResolver().resolve(follow_up, history).standalone_query == alone


def test_a_chinese_pronoun_gets_the_sentence_that_answers():
    history = [Message("user", "天一阁是由谁主持建造的？"), Message("assistant", LIBRARY)]
    alone = ReferenceResolver().resolve("他是哪里人？", history).standalone_query
    assert alone == "他是哪里人（它由范钦主持建造，建于1561年至1566年；天一阁是由谁主持建造的）？"


def test_of_passages_a_chinese_pronoun_gets_their_title_where_a_person_was_asked_for():
    passages = f"《郭守敬》：{'郭守敬，字若思。新历名为《授时历》。' * 20}"
    history = [Message("user", "《授时历》是谁编的？"), Message("assistant", passages)]
    alone = ReferenceResolver().resolve("他出生在哪里？", history).standalone_query
    assert alone == "他出生在哪里（郭守敬；《授时历》是谁编的）？"
    history[0] = Message("user", "《授时历》怎么样？")
    assert ReferenceResolver().resolve("它准吗？", history).standalone_query == "它准吗（《授时历》怎么样）？"


@pytest.mark.parametrize(
    ("question", "answer", "follow_up", "alone"),
    [
        (
            "Which commands are there?",
            f"{UNSURE['en']}\n\nconsole.md › Commands [1]\nThe shell has twelve.\n\n{SEE_ALSO['en']}console.md › Keys",
            "Which of these is new?",
            "Which of these is new (commands)?",
        ),
        (
            "怎么开启触发器？",
            f"{INSUFFICIENT['zh']}找到的最相近的文档：《指南》。",
            "这样会失败吗？",
            "这样会失败吗（怎么开启触发器）？",
        ),
    ],
)
def test_what_an_answer_says_about_itself_is_no_context(question, answer, follow_up, alone):
    history = [Message("user", question), Message("assistant", answer)]
    assert ReferenceResolver().resolve(follow_up, history).standalone_query == alone


def test_a_name_ends_with_its_sentence():
    history = [Message("user", "Where did they land?"), Message("assistant", "They reached the Moon. Collins waited.")]
    assert "Moon. Collins" not in (ReferenceResolver().resolve("Who saw it?", history).standalone_query or "")


@pytest.mark.parametrize(
    ("question", "answer", "follow_up", "context"),
    [
        (
            "How do I enable triggers?",
            "Guide: ## **Triggers** of [a table](https://a.org/t#x) in `app.db`",
            "And without it?",
            "Guide: Triggers table app.db",
        ),
        ("怎么开启触发器？", "指南: ### `触发器` <Tag color='x' />\n开启", "这样会失败吗？", "指南: 触发器"),
    ],
)
def test_context_is_without_mark_up(question, answer, follow_up, context):
    history = [Message("user", question), Message("assistant", answer)]
    alone = ReferenceResolver().resolve(follow_up, history).standalone_query or ""
    assert context in alone
    assert not set("#*`<>") & set(alone)


@pytest.mark.parametrize(
    "shown", ["“Console”: The shell has twelve.", "console.md › Commands [1]\nThe shell has twelve."]
)
def test_of_passages_only_what_stands_above_them_is_context(shown):
    history = [Message("user", "Which commands are there?"), Message("assistant", shown)]
    assert ReferenceResolver().resolve("Which of these is new?", history).standalone_query == (
        "Which of these is new (commands)?"
    )
    history[1] = Message("assistant", f"Twelve commands.\n{shown}")
    alone = ReferenceResolver().resolve("Which of these is new?", history).standalone_query
    assert alone == "Which of these is new (Twelve commands)?"


@pytest.mark.parametrize("thanks", ["Thanks!", "thanks a lot", "Many thanks, cheers", "谢谢你的帮助"])
def test_an_answer_to_thanks_is_no_context(thanks):
    said = ["How much is the sauna?", "Ten euros.", thanks, "You are welcome. Ask me more."]
    history = [Message("assistant" if place % 2 else "user", text) for place, text in enumerate(said)]
    assert ReferenceResolver().resolve("Is it open on Sundays?", history).standalone_query == (
        "Is it open on Sundays (Ten euros; much sauna)?"
    )
