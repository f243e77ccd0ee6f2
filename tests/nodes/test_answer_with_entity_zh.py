"""The node on Chinese notes, from the table beside this file; what it compares, and where names end."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from theworld.answers.spans import whole_name
from theworld.answers.topics import compared_topics, named_topics
from theworld.nodes.answer_with_entity import answer_with_entity
from theworld.questions import read_question
from theworld.settings import AnswerSettings
from theworld.state import Candidate, Mention, QueryState
from theworld.text import entity_key

NOTES = yaml.safe_load(Path(__file__).with_name("answer_with_entity_zh.yaml").read_text(encoding="utf-8"))


def note(title: str, text: str, names: dict[str, str]) -> Candidate:
    """A note in which each name is mentioned once, with its type."""
    mentions = [
        Mention(surface=name, type=kind, start=text.index(name), end=text.index(name) + len(name), key=entity_key(name))
        for name, kind in names.items()
    ]
    return Candidate(
        note_id=title,
        document_id=title,
        title=title,
        text=text,
        end=len(text),
        language="zh",
        final_score=0.9,
        mentions=tuple(sorted(mentions, key=lambda mention: mention.start)),
    )


@pytest.mark.parametrize(
    ("given", "question", "expected"),
    [(given, question, expected) for given in NOTES for question, expected in given["questions"]],
)
def test_the_table(given: dict[str, dict[str, str]], question: str, expected: str | None) -> None:
    evidence = [note(str(given["title"]), str(given["text"]), given["names"])]
    state = QueryState.model_validate({"question": question, "query": question, "language": "zh", "evidence": evidence})
    found = answer_with_entity(state, None, settings=AnswerSettings())["result"]  # type: ignore[arg-type]
    assert (found.text if found else None) == expected


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("紅毛城和天一閣哪個更早建成？", ["紅毛城", "天一閣"]),
        ("谁更高，红毛城还是天一阁？", ["红毛城", "天一阁"]),
        ("天一阁与《红毛城》相比哪个更老？", ["天一阁", "红毛城"]),
        ("天一阁在哪里？", []),
    ],
)
def test_two_things_are_compared_under_a_part_of_their_titles(question: str, names: list[str]) -> None:
    evidence = [note("淡水紅毛城", "紅毛城在淡水。", {}), note("宁波天一阁", "天一阁在宁波。", {})]
    asked = read_question(question)
    topics = compared_topics(asked, named_topics(asked, evidence), evidence)
    assert [topic.name for topic in topics] == names


@pytest.mark.parametrize(
    ("text", "found", "whole"),
    [
        ("由约翰·约阿希姆·温克尔曼发起", "约翰", "约翰·约阿希姆·温克尔曼"),
        ("有「太太」之称的琼·爱丽逊", "爱丽逊", "琼·爱丽逊"),
        ("蔡元培是校长", "蔡元培", "蔡元培"),
    ],
)
def test_a_name_is_whole(text: str, found: str, whole: str) -> None:
    at = text.index(found)
    start, end = whole_name(text, at, at + len(found))
    assert text[start:end] == whole
