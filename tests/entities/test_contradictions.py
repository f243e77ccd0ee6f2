"""What speaks against a candidate, in both languages: places, years, words that its namesakes lack."""

from __future__ import annotations

import pytest

from theworld.entities.contradictions import dated, located, own_words_said
from theworld.entities.mention import MentionInText


@pytest.mark.parametrize(
    ("mention", "text", "description", "expected"),
    [
        ("Europe", "the largest site in Europe", "Swedish band", 1.0),
        ("Europe", "throughout the Europe of today", "Swedish band", 1.0),
        ("Europe", "the largest site in Europe", "continent on Earth and an island", 0.0),
        ("Europe", "They saw Europe on stage.", "Swedish band", 0.0),
        ("Europe", "the largest site in Europe", "something unheard of", 0.0),
        ("Sony", "She works at Sony.", "Japanese company", 0.0),
        ("Alien", "a flight to Alien", "1979 film", 1.0),
        ("欧洲", "他抵达欧洲", "瑞典乐队", 1.0),
        ("欧洲", "他抵达欧洲", "大洲", 0.0),
        ("北大", "他在北大读书", "大学", 0.0),
        ("长城", "他在长城上", "1990年电影", 1.0),
    ],
)
def test_who_is_in_it_is_in_a_place(mention: str, text: str, description: str, expected: float) -> None:
    assert located(MentionInText.find(mention, text), description) == expected


@pytest.mark.parametrize(
    ("text", "description", "expected"),
    [
        ("Russia in 2004", "former state (1721–1917)", 1.0),
        ("Russia in 1812", "former state (1721–1917)", 0.0),
        ("Russia today", "former state (1721–1917)", 0.5),
        ("Russia in 2004", "sovereign state in Europe", 0.0),
        ("Russia in 1914 and 2004", "war of 1914-18", 0.0),
        ("2004年的Russia", "国家，1721年至1917年", 1.0),
        ("1812年的Russia", "国家，1721年至1917年", 0.0),
        ("Russia paid 1,812 dollars", "former state (1721–1917)", 0.5),
    ],
)
def test_years_of_the_text_and_of_the_description(text: str, description: str, expected: float) -> None:
    assert dated(MentionInText.find("Russia", text), description) == expected


def test_words_that_only_one_description_has_count_more() -> None:
    mention = MentionInText.find("Sony", "Sony, the record company, signed her.")
    both, only, none = own_words_said(mention, ["record company", "film company", "town"])
    assert both > only > none == 0.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a Soviet republic", True), ("Soviet republics", False), ("He left. Soviet ships", False), ("a soviet", False)],
)
def test_a_capital_that_no_beginning_of_a_sentence_gave(text: str, expected: bool) -> None:
    label = "Soviet" if "Soviet" in text else "soviet"
    assert MentionInText.find(label, text).has_capital is expected
