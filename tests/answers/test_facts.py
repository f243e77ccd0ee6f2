"""What a note says of what it is about: its country, and when it began."""

from __future__ import annotations

import time

import pytest

from theworld.answers.facts import begin_of, countries_in, country_of, lifespan


@pytest.mark.parametrize(
    ("text", "country"),
    [
        ("她是英國作家。", "United Kingdom"),
        ("她是英国作家。", "United Kingdom"),
        ("他出生於法國，是一位美國演員。", "United States"),
        ("中華人民共和國的首都是北京。", "China"),
        ("X (born in Paris, France) is a German actor.", "Germany"),
        ("A bird.", None),
    ],
)
def test_the_country_in_either_script(text: str, country: str | None) -> None:
    found = country_of(text)
    assert (found.country if found else None) == country


def test_a_country_stands_where_it_is_written() -> None:
    text = "İzmir 與英國"
    assert [text[one.start : one.end] for one in countries_in(text)] == ["英國"]


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("A company founded by two brothers. It opened in 1990 and closed in 2001.", 1990),
        ("A company. In 1980 they met. It was founded in 1990.", 1990),
        ("一家公司。該公司成立於1998年。", 1998),
        ("A company of 1970. It was founded in 1990.", 1970),
        ("It was founded long ago.", None),
    ],
)
def test_when_it_began(text: str, year: int | None) -> None:
    found = begin_of(text)
    assert (found.year if found else None) == year
    assert found is None or text[found.start : found.end].startswith(str(year))


def test_a_long_note_is_read_at_once() -> None:
    text = "A company. " + "It was founded by him. " * 3000 + "It ended in 1990."
    begun = time.perf_counter()
    assert begin_of(text) is None
    assert time.perf_counter() - begun < 10


@pytest.mark.parametrize(
    ("text", "birth", "death"),
    [
        ("Ada Lovelace (10 December 1815 – 27 November 1852) was a writer.", 1815, 1852),
        ("Camillo Bazzoni (born 29 December 1934) is a director.", 1934, None),
        ("莎士比亚（1564年4月－1616年4月23日）是英国作家。", 1564, 1616),
        ("Alien (1979 film) is a film.", None, None),
        ("He is a singer.", None, None),
        ("王夏（1979年6月出生）是建筑师。她2005年创立了事务所。", 1979, None),
    ],
)
def test_lifespan(text: str, birth: int | None, death: int | None) -> None:
    life = lifespan(text)
    assert (life.birth.year if life.birth else None, life.death.year if life.death else None) == (birth, death)
    for date in (life.birth, life.death):
        assert date is None or str(date.year) in text[date.start : date.end]
