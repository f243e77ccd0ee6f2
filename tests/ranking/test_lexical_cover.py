from __future__ import annotations

import pytest

from reranker_suite import candidate
from theworld.questions import read_question
from theworld.ranking.greedy_cover import BELOW_HEADING, IN_TEXT, exact_cover, names_title


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


def test_an_identifier_is_whole_and_nearest_where_the_heading_has_it() -> None:
    notes = [
        candidate("a#0", "Settings", "## `DB_HOST=<name>`\n\nWhere it runs."),
        candidate("a#1", "Settings", "More on it.", section=("Database", "DB_HOST=<name>")),
        candidate("b#0", "Guide", "Set DB_HOST first."),
        candidate("c#0", "Settings", "## DB_HOST_PORT\n\nOf MY_DB_HOST, the db host."),
    ]
    near = exact_cover(read_question("What does DB_HOST do?"), notes)
    assert near[:, 0].tolist() == pytest.approx([1.0, BELOW_HEADING, IN_TEXT, 0.0])
    assert exact_cover(read_question("What does it do?"), notes).shape == (4, 0)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("M016,Ann\nM017,Bo", True),
        ("| No | Name |\n| --- | --- |\n| M017 | Bo |", True),
        ('{\n  "id": "M017",\n  "name": "Bo"\n}', True),
        ("- `M017`: Bo", True),
        ("编号：M017，姓名：王芳", True),
        ("Bo is M017.", False),
        ("请联系 M017。", False),
        ("A-M017,Ann\nM0170,Bo", None),
    ],
)
def test_a_row_that_begins_with_an_identifier_is_about_it(text: str, about: bool | None) -> None:
    (near,) = exact_cover(read_question("Phone of M017"), [candidate("a#0", "Members", text)])[:, 0].tolist()
    assert near == pytest.approx(0.0 if about is None else BELOW_HEADING if about else IN_TEXT)


@pytest.mark.parametrize(
    ("question", "text", "near"),
    [
        ("phone of mara lind", "1;Mara Lind;Oslo;555\n2;Ole Dahl;Bergen;556", BELOW_HEADING),
        ("phone of Mara Lind", "| No | Name |\n| -- | -- |\n| 1 | Mara Lind |", BELOW_HEADING),
        ("phone of Mara Lind", "## Mara Lind\n\n- Phone: 555", 1.0),
        ("林小满的电话", "姓名,电话\n林小满,555", BELOW_HEADING),
        ("phone of Mara Lind", "Ask Mara, or Lind; Mara Linde, Oslo", None),
        ("how to open the door", "## Open the door\n\nPush.", None),
        ("phone of mara", "1;Mara;Oslo;555", None),
    ],
)
def test_a_record_is_nearest_to_its_whole_name(question: str, text: str, near: float | None) -> None:
    notes = [candidate("a#0", "List", text), candidate("b#0", "Other", "Mara and Lind, 林 小满.")]
    found = exact_cover(read_question(question), notes)
    assert found.shape == (2, 0) if near is None else found[:, 0].tolist() == pytest.approx([near, 0.0])


def test_words_of_many_notes_are_no_record() -> None:
    texts = ["| core developer | 5 |\n| release manager | 1 |", *["A core developer votes."] * 3]
    notes = [candidate(f"a#{i}", "List", text) for i, text in enumerate(texts)]
    assert exact_cover(read_question("Who is a core developer?"), notes).shape == (4, 0)


def test_a_day_is_the_same_in_whatever_form() -> None:
    texts = [
        "- Start: 2025-10-15 13:00",
        "Bring it on Oct. 15th, please.",
        "| 15.10.2025 | Sam |",
        "15 people, october",
    ]
    notes = [candidate(f"a#{i}", "List", text) for i, text in enumerate(texts)]
    expected = pytest.approx([BELOW_HEADING, IN_TEXT, BELOW_HEADING, 0.0])
    for question in ("what is on 15 october", "Who works October 15?", "10月15日谁值班"):
        assert exact_cover(read_question(question), notes)[:, 0].tolist() == expected
