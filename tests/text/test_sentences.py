"""Where a sentence ends, and where a text without an end is cut."""

from __future__ import annotations

import pytest

from theworld.text import last_break, split_sentences
from theworld.text.sentences import lists_in, outer_pieces


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It melts at 412 °C. It is soft.", ["It melts at 412 °C.", "It is soft."]),
        ("Water boils at 212 ° F. Steam rises.", ["Water boils at 212 ° F.", "Steam rises."]),
        ("He met J. K. Lind. She left.", ["He met J. K. Lind.", "She left."]),
        ("A room of George C. Scott.", ["A room of George C. Scott."]),
    ],
)
def test_a_unit_of_temperature_ends_a_sentence_and_an_initial_does_not(text: str, sentences: list[str]) -> None:
    assert [one.text for one in split_sentences(text)] == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("请看 https://a.org/zh?lang=zh!x 文档。再见！", ["请看 https://a.org/zh?lang=zh!x 文档。", "再见！"]),
        ('图：<img src="b.png?a=1" /> 好吗?好!', ['图：<img src="b.png?a=1" /> 好吗?', "好!"]),
        ('Is x != y? "Yes!" Use ?.z then.', ["Is x != y?", '"Yes!"', "Use ?.z then."]),
    ],
)
def test_a_sign_within_an_address_or_code_ends_nothing(text: str, sentences: list[str]) -> None:
    assert [one.text for one in split_sentences(text)] == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("步骤如下。4. 删除附件。完成", ["步骤如下。", "4. 删除附件。", "完成"]),
        ("3. Shake it.\n12. Pour it.", ["3. Shake it.", "12. Pour it."]),
        ("The group has 12. Then go.", ["The group has 12.", "Then go."]),
    ],
)
def test_the_number_of_an_item_belongs_to_it(text: str, sentences: list[str]) -> None:
    assert [one.text for one in split_sentences(text)] == sentences


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("beech oak ash", "beech oak"),
        ("很长的地址https://example.org/a", "很长的地址"),
        ("甲，乙https://example.org", "甲，乙"),
        ("unbroken" * 4, "unbrokenunbr"),
    ],
)
def test_a_text_is_cut_between_words(text: str, kept: str) -> None:
    assert text[: last_break(text, 0, 12)] == kept


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ('[\n {\n  "a": 1\n },\n {"a": 2}\n]', ["[\n", ' {\n  "a": 1\n },\n', ' {"a": 2}\n]']),
        ("a:\n  b: 1\n\n  c: 2\nd: 3\n", ["a:\n  b: 1\n\n  c: 2\n", "d: 3\n"]),
        ("  one\n  two", ["  one\n", "  two"]),
        ("A-1,drill\nA-2,saw\n", ["A-1,drill\n", "A-2,saw\n"]),
        ("alone", ["alone"]),
        ("", []),
    ],
)
def test_pieces_begin_at_the_least_indented_lines(text: str, pieces: list[str]) -> None:
    assert [text[slice(*piece)] for piece in outer_pieces(text, 0, len(text))] == pieces


@pytest.mark.parametrize(
    ("text", "lists"),
    [
        ("Do:\n\n- [ ] sweep\n- [x] lock", [["sweep", "lock"]]),
        ("> There are:\n>\n> 1. a\n> 2. b", [["a", "b"]]),
        ("## 1. A\n\n- x\n\n## 2. B\n\n1. u\n2. v\n\n## 4. D", [["A", "B"], ["x"], ["u", "v"]]),
        ("#### 5. Hiring\n\ntext\n\n#### 6. Registering", []),
        ("| a | b |\n| --- | --- |\n| one | 1 |\n| two | 2 |\n\nThen:\n\n- u\n- v", [["one", "two"], ["u", "v"]]),
        ("| a | b |\n| --- | --- |\n| … |\n| one | 1 |\n| … |\n| two | 2 |", [["one", "two"]]),
        ("```\n1. a\n2. b\n```", []),
    ],
)
def test_lists_are_those_of_tasks_quotes_headings_and_tables_in_order(text: str, lists: list[list[str]]) -> None:
    assert [found.items for found in lists_in(text)] == lists


def test_a_list_is_introduced_by_what_stands_above_it() -> None:
    found = lists_in("## Tickets\n\n| a | b |\n| --- | --- |\n| one | 1 |\n\nIn this order:\n\n1. u\n2. v")
    assert [one.introduction for one in found] == ["## Tickets | a | b |", "In this order:"]
