from __future__ import annotations

import pytest

from theworld.questions import read_question
from theworld.ranking.lexical_cover import names_title


@pytest.mark.parametrize(
    ("query", "title", "named"),
    [
        ("Who directed Up?", "Up (film)", True),
        ("Who directed up (Film)?", "Up (film)", True),
        ("Who wrote Upside Down?", "Up (film)", False),
        ("A backup, then up.", "Up", True),
        ("Was AC/DC's first album the best?", "AC/DC", True),
        ("What is 10_a?", "10", True),
        ("《紅高粱》的導演是誰?", "紅高粱 (電影)", True),
        ("Wer war Günther?", "Gunther", True),
        ("Who is A?", "A", False),
        ("Anything", "", False),
    ],
)
def test_a_title_is_named_as_whole_words_with_or_without_its_qualifier(query: str, title: str, named: bool) -> None:
    assert names_title(read_question(query), title) is named


@pytest.mark.parametrize("query", ["IBM公司的总部在哪里", "谁创立了IBM？", "IBM 在哪里", "where is IBM?"])
def test_a_latin_title_is_named_beside_chinese_characters(query):
    assert names_title(read_question(query), "IBM")
    assert not names_title(read_question(query.replace("IBM", "IBMs")), "IBM")
