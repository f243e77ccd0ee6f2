"""The node on Chinese notes, from the table beside this file, and its rules about numbers and offices one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from theworld.nodes.answer_with_entity import answer_with_entity
from theworld.nodes.answer_with_entity.question.counted import asked_count
from theworld.nodes.answer_with_entity.question.topics import compared_topics
from theworld.nodes.answer_with_entity.spans.offices import asked_office
from theworld.nodes.answer_with_entity.spans.typed_spans import whole_name
from theworld.settings import AnswerSettings
from theworld.state import Candidate, Mention, QueryState
from theworld.text import entity_key

NOTES = yaml.safe_load(Path(__file__).with_name("chinese.yaml").read_text(encoding="utf-8"))


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
    found = answer_with_entity(state, None, settings=AnswerSettings(min_confidence=0.35))["result"]  # type: ignore[arg-type]
    assert (found.text if found else None) == expected


@pytest.mark.parametrize(
    ("question", "text", "number", "fits"),
    [
        ("有几座桥？", "共有七座桥。", "七座", True),
        ("有几座桥？", "共有七个。", "七个", True),
        ("有几座桥？", "每年7月开放。", "7", False),
        ("有几座桥？", "型号DW-60。", "60", False),
        ("有几个办公室？", "这是一家公司。", "一家", False),
        ("有几家公司？", "那里只有一家公司。", "一家", False),
        ("深多少米？", "最深处32米。", "32米", True),
        ("深多少米？", "深3公里。", "3公里", True),
        ("深多少米？", "已有32年。", "32年", False),
        ("深多少米？", "水深32。", "32", False),
        ("有多少人？", "住着500户。", "500户", True),
        ("有多少？", "1990年代", "1990", False),
        ("有多少？", "第六名", "六名", False),
        ("名列第幾位？", "名列第四位", "四位", True),
        ("谁？", "2001年", "2001", False),
    ],
)
def test_numbers_of_another_unit_are_not_counted(question: str, text: str, number: str, fits: bool) -> None:
    at = text.index(number)
    assert asked_count(question).fits(text, at, at + len(number)) == fits


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("宁波市长是谁？", True),
        ("誰擔任過北京大學校長？", True),
        ("谁是苹果公司的CEO？", True),
        ("当时的总统是谁？", True),
        ("他被谁任命为总司令？", False),
        ("市长住在哪里？", False),
        ("总统府是谁设计的？", False),
    ],
)
def test_who_holds_an_office(question: str, asks: bool) -> None:
    assert (asked_office(question) is not None) == asks


@pytest.mark.parametrize(
    ("text", "holders"),
    [
        ("竺可桢接替郭任远任浙江大学校长。", ["竺可桢"]),
        ("郭任远辞去校长职务，由竺可桢接任。", ["竺可桢"]),
        ("浙江大学校长竺可桢到会。", ["竺可桢"]),
        ("校长是竺可桢，郭任远在座。", ["竺可桢"]),
        ("郭任远到北京大学拜访校长竺可桢。", ["竺可桢"]),
        ("竺可桢任北京大学校长，郭任远任副校长。", []),
        ("竺可桢不再担任校长。", []),
    ],
)
def test_the_holders_of_an_office(text: str, holders: list[str]) -> None:
    office = asked_office("浙江大学校长是谁？")
    assert office is not None
    units = ("浙江大学", "北京大学")
    names = {name: "organization" for name in units if name in text}
    names |= {name: "person" for name in ("竺可桢", "郭任远") if name in text}
    assert [text[start:end] for start, end in office.holders(note("浙江大学", text, names))] == holders


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
    assert [topic.name for topic in compared_topics(question, evidence)] == names


@pytest.mark.parametrize(
    ("text", "found", "whole"),
    [
        ("由约翰·约阿希姆·温克尔曼发起", "约翰", "约翰·约阿希姆·温克尔曼"),
        ("有「太太」之称的琼·爱丽逊", "爱丽逊", "琼·爱丽逊"),
        ("教宗本笃十六世颁布", "本笃", "本笃十六世"),
        ("蔡元培是校长", "蔡元培", "蔡元培"),
    ],
)
def test_a_name_is_whole(text: str, found: str, whole: str) -> None:
    at = text.index(found)
    start, end = whole_name(text, at, at + len(found))
    assert text[start:end] == whole
