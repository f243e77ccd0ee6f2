"""What a description says an entry is, and whether a tagged mention may be that."""

from __future__ import annotations

import pytest

from chinese_writing import in_traditional
from theworld.entities.judge import features_of
from theworld.entities.mention import MentionInText
from theworld.entities.words import fits_type, is_page, type_named, type_of_head


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("football club in the city of Turin", "organization"),
        ("country singer", "person"),
        ("Canadian Army general (1890-1960)", "person"),
        ("war memorial park in Leeds", "place"),
        ("2004 film about a battle", "work"),
        ("ethnic group native to Wales", "group"),
        ("language of the city of Rome", "language"),
        ("overview of the music of a country", None),
        ("; instance of: human; occupation: singer", "person"),
        ("法国城市", "place"),
        ("美国电影演员", "person"),
        ("阿根廷男子国家足球代表队", "organization"),
        ("法国作家、诗人，曾任电视台台长", "person"),
        ("位于德国的城市（1945年以前属于汽车公司）", "place"),
        ("", None),
    ],
)
def test_the_head_noun_says_the_type(description: str, expected: str | None) -> None:
    assert type_of_head(description) == expected
    assert type_of_head(in_traditional(description)) == expected


@pytest.mark.parametrize("description", ["Wikimedia list article", "维基媒体消歧义页", "維基媒體列表條目", "女性人名"])
def test_pages_are_known_in_both_scripts(description: str) -> None:
    assert is_page(description)


def test_a_people_is_called_as_its_country_and_language_are() -> None:
    assert [fits_type("group", said) for said in ("group", "place", "language", "organization")] == [True] * 3 + [False]
    assert not fits_type("place", "group")


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("person", "person"),
        ("PER", "person"),
        (" GPE ", "place"),
        ("ORG", "organization"),
        ("NORP", "group"),
        ("WORK_OF_ART", "work"),
        ("football club", "organization"),
        ("city in France", "place"),
        ("人物", "person"),
        ("城市", "place"),
        ("機構", "organization"),
        ("电影演员", "person"),
        *((name, None) for name in ("date", "quantity", "concept", "other", "MONEY", "CARDINAL", "日期", "", "?")),
    ],
)
def test_hints_in_the_words_of_taggers_and_people(hint: str, expected: str | None) -> None:
    assert type_named(hint) == expected


def test_lists_of_types_that_only_some_entries_have_are_not_read() -> None:
    mention = MentionInText.find("Europe", "They heard Europe.")
    entries = [
        {"id": f"Q{n}", "label": "Europe", "description": "", "types": types}
        for n, types in enumerate(([], ["Person"]))
    ]
    without, with_types = (features_of(mention, entry, "person") for entry in entries)
    assert without.type == with_types.type == 0.0
