"""Versions of one document: the one that is named, else the newest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.ranking.contract import newest_first
from theworld.state import Candidate
from theworld.text.tokens import token_set

RENT = "The rent of the flat in the yard is {} pounds a month, due on the first day."
GIVEN = {
    "/d/lease-2024.md": RENT.format(900),
    "/d/tea.md": "Tea is drunk hot.",
    "/d/lease-2026.md": RENT.format(990),
    "/d/lease-2025.md": RENT.format(950),
}


def found(texts: dict[str, str]) -> list[Candidate]:
    return [
        Candidate(note_id=f"{path}#0", document_id=path, source=path, text=text, final_score=0.9 - i / 10)
        for i, (path, text) in enumerate(texts.items())
    ]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the rent?", [2026, "tea", 2025, 2024]),
        ("What was the rent in 2025?", [2025, "tea", 2026, 2024]),
        ("2024 年的租金是多少？", [2024, "tea", 2026, 2025]),
        ("What was the rent in 2019?", [2026, "tea", 2025, 2024]),
    ],
)
def test_the_version_that_is_named_comes_first_else_the_newest(question: str, expected: list[object]) -> None:
    ordered = newest_first(found(GIVEN), token_set(question))
    assert [one.source for one in ordered] == [
        "/d/tea.md" if one == "tea" else f"/d/lease-{one}.md" for one in expected
    ]
    assert [one.final_score for one in ordered] == [one.final_score for one in found(GIVEN)]


def test_what_changes_a_price_list_comes_before_the_older_one_unless_a_version_is_named() -> None:
    lists = {f"/d/prices-{year}.md": f"Spaying a cat costs {price} euros." for year, price in ((2025, 76), (2026, 86))}
    given = found({**lists, **{f"/d/{name}.md": f"From April: {name}." for name in ("notice", "menu", "map")}})
    ordered = newest_first(given, token_set("What does spaying a cat cost?"))
    assert [one.source[3:-3] for one in ordered] == ["prices-2026", "notice", "menu", "prices-2025", "map"]
    assert [one.final_score for one in ordered] == [one.final_score for one in given]
    named = newest_first(given, token_set("What did spaying a cat cost in 2025, and what in 2026?"))
    assert [one.source[3:-3] for one in named] == ["prices-2026", "prices-2025", "notice", "menu", "map"]


def test_only_what_says_the_same_is_a_version_unless_one_is_named() -> None:
    minutes = {
        "/d/minutes-2025.md": "The gala takes place in March; Ana brings cakes.",
        "/d/minutes-2026.md": "New lamps were bought for the hall.",
    }
    assert [one.source[-7:-3] for one in newest_first(found(minutes), token_set("What was decided?"))] == [
        "2025",
        "2026",
    ]
    assert newest_first(found(minutes), token_set("minutes 2026"))[0].source.endswith("2026.md")


def test_few_digits_of_a_question_name_no_version() -> None:
    chapters = {"/d/part1.md": "Sow the beans in May.", "/d/part3.md": "Cut the hedge for birds."}
    assert newest_first(found(chapters), token_set("3 beans, when?"))[0].source == "/d/part1.md"


@pytest.mark.parametrize(("question", "first"), [("补卡多少钱", "2026年收费"), ("2024年补卡多少钱", "2024年（旧）")])
def test_sheets_of_other_years_are_versions(question: str, first: str) -> None:
    rows = {
        "2024年（旧）": "| 补卡 | 15 元/张 |",
        "第 3 章": "| 补卡 | 带身份证 |",
        "2026年收费": "| 补卡 | 25 元/张 |",
    }
    notes = [
        Candidate(note_id=f"p#{i}", document_id="p", source="/d/p.xlsx", section=(name,), text=rows[name])
        for i, name in enumerate(rows)
    ]
    assert newest_first(notes, token_set(question))[0].section == (first,)


def test_other_numbers_of_headings_say_no_version() -> None:
    codes = [
        Candidate(
            note_id=f"e#{i}",
            document_id="e",
            source="/d/e.md",
            section=(f"Error {1001 + i}",),
            text=f"The {what} is wrong.",
        )
        for i, what in enumerate(("name", "password"))
    ]
    assert newest_first(codes, token_set("the name is wrong")) == codes


def test_files_named_alike_up_to_their_year_are_versions_in_any_format() -> None:
    prices = {"/d/价目表2025.docx": "单人间 300 元", "/d/茶.md": "茶要趁热喝", "/d/价目表 2026新.xlsx": "单人间 360 元"}
    assert newest_first(found(prices), token_set("单人间多少钱"))[0].source == "/d/价目表 2026新.xlsx"
    assert newest_first(found(prices), token_set("2025年单人间多少钱"))[0].source == "/d/价目表2025.docx"
    by_year = {"/d/2025 fees.md": "A tent is 5 pounds.", "/d/2026 teas.md": "A tent is 5 pounds."}
    assert newest_first(found(by_year), frozenset())[0].source == "/d/2025 fees.md"


def test_documents_of_one_file_are_no_versions() -> None:
    notes = [one.model_copy(update={"source": "/d/corpus.jsonl"}) for one in found(GIVEN)]
    assert newest_first(notes, token_set("rent 2025")) == notes


PATHS = st.lists(st.from_regex(r"/[ab]-[0-9]{1,5}\.md", fullmatch=True), max_size=8)


@given(PATHS, st.lists(st.sampled_from(["rent", "hall", "1", "2025", "12345"]), max_size=8))
def test_notes_only_change_places(paths: list[str], words: list[str]) -> None:
    notes = [
        Candidate(
            note_id=f"{path}#{i}", document_id=path, source=path, text=" ".join(words[i:]), final_score=1 / (i + 1)
        )
        for i, path in enumerate(paths)
    ]
    ordered = newest_first(notes, frozenset(words))
    assert sorted(one.note_id for one in ordered) == sorted(one.note_id for one in notes)
    assert [one.final_score for one in ordered] == [one.final_score for one in notes]
    assert newest_first(ordered, frozenset(words)) == ordered
