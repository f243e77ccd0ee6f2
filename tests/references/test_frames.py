"""Frames of conversations: changes of topic, corrections, items of lists, pronouns; a table of dialogues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from theworld import Message, ReferenceResolver, ReferenceType
from theworld.references.frames import topic_change

DATA = Path(__file__).parent / "data"
TABLE = yaml.safe_load((DATA / "frames.yaml").read_text(encoding="utf-8"))
CONVERSATIONS = yaml.safe_load((DATA / "conversations.yaml").read_text(encoding="utf-8"))
COMPLETE = yaml.safe_load((DATA / "complete_questions.yaml").read_text(encoding="utf-8"))
BEFORE = {
    "en": ["How do I turn off notifications?", "In the settings."],
    "zh": ["怎么关闭通知？", "打开设置，关掉通知。"],
}


def talk(turns: list[list[str]]) -> list[Message]:
    return [Message(role, text) for turn in turns for role, text in zip(("user", "assistant"), turn, strict=True)]


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case["asked"])
def test_dialogues(case: dict[str, Any]) -> None:
    found = ReferenceResolver().resolve(case["asked"], talk(case["turns"]))
    assert found.standalone_query == case["alone"]
    assert list(found.options) == case.get("options", [])


@pytest.mark.parametrize("case", CONVERSATIONS, ids=lambda case: case.get("asked") or case["perhaps"])
def test_conversations_over_documents(case: dict[str, Any]) -> None:
    found = ReferenceResolver().resolve(case.get("asked") or case["perhaps"], talk(case["turns"]))
    alone = (found.standalone_query if "asked" in case else found.in_context) or ""
    wanted = [one if isinstance(one, list) else [one] for one in case["holds"]]
    assert not [one for one in wanted if not any(text.casefold() in alone.casefold() for text in one)], alone
    assert not [text for text in case.get("lacks", ()) if text.casefold() in alone.casefold()], alone


@pytest.mark.parametrize(("language", "question"), [(code, text) for code in COMPLETE for text in COMPLETE[code]])
def test_a_complete_question_is_no_follow_up(language: str, question: str) -> None:
    assert ReferenceResolver().resolve(question, talk([BEFORE[language]])).standalone_query is None


@pytest.mark.parametrize(
    "text", ["What is a different topic model?", "换个话题模型怎么训练", "something else", "另外问题"]
)
def test_what_announces_nothing_or_only_that(text: str) -> None:
    assert topic_change(text) in {None, len(text)}


@pytest.mark.parametrize("text", ["What did I mean?", "我问的问题多吗？", "meant to be"])
def test_what_is_no_correction_stays_a_question(text: str) -> None:
    found = ReferenceResolver().resolve(text, talk([["Can I work from Portugal?", "Yes."]]))
    assert found.reference_type is not ReferenceType.CORRECTION


def test_a_correction_is_one_and_points_at_the_last_answer() -> None:
    found = ReferenceResolver().resolve("No, I meant Spain.", talk([["Can I work from Portugal?", "Yes."]]))
    assert (found.reference_type, found.source_turns) == (ReferenceType.CORRECTION, [1])
