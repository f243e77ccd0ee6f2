"""What the ending of a Chinese name says of its type."""

from __future__ import annotations

import pytest

from theworld.models.taggers import joined_words, type_by_ending
from theworld.state import MentionType


@pytest.mark.parametrize(
    ("name", "said", "expected"),
    [
        ("天一阁", "person", "place"),
        ("天一閣", "person", "place"),
        ("法門寺", "other", "place"),
        ("港珠澳大桥", "person", "place"),
        ("洞庭湖", "work", "place"),
        ("復旦大學", "person", "organization"),
        ("商务印书馆出版社", "place", "organization"),
        ("谢铁桥", "person", "person"),
        ("张大山", "person", "person"),
        ("陳江河", "person", "person"),
        ("李山", "person", "person"),
        ("范钦", "person", "person"),
        ("故宫", "place", "place"),
        ("少林寺", "organization", "organization"),
        ("", "person", "person"),
    ],
)
def test_the_ending_tells_unless_a_person_may_be_called_so(name: str, said: MentionType, expected: MentionType) -> None:
    assert type_by_ending(name, said) == expected


def test_a_word_joins_only_where_it_ends_names() -> None:
    assert joined_words([("建设", "ORG"), ("局", "n"), ("是", "v")]) == [("建设局", "ORG"), ("是", "v")]
