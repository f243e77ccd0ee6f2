"""Dates in text and the lifespan of a note's person."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from theworld.nodes.answer_with_entity.values.dates import find_dates, lifespan

CASES = yaml.safe_load(Path(__file__).with_name("dates.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_dates(text: str, expected: list[list[int]]) -> None:
    assert [list(date.moment) for date in find_dates(text)] == expected


@given(st.text(max_size=200))
def test_spans_are_inside_and_do_not_overlap(text: str) -> None:
    end = 0
    for date in find_dates(text):
        assert end <= date.start < date.end <= len(text)
        end = date.end


@pytest.mark.parametrize(
    ("text", "birth", "death"),
    [
        ("Ada Lovelace (10 December 1815 – 27 November 1852) was a writer.", 1815, 1852),
        ("Camillo Bazzoni (born 29 December 1934) is a director.", 1934, None),
        ("Eva was born in Rome in 1901. She died on 3 May 1950.", 1901, 1950),
        ("莎士比亚（1564年4月－1616年4月23日）是英国作家。", 1564, 1616),
        ("Alien (1979 film) is a film.", None, None),
        ("He is a singer.", None, None),
        ("王夏，1979年6月出生于福建泉州，是建筑师。她2005年创立了事务所。", 1979, None),
        ("他1950年3月生于北京，2001年在上海去世，2010年建馆。", 1950, 2001),
        ("她1901年生於廈門。1983年4月22日，她因病在北京逝世。", 1901, 1983),
        ("2001年，父亲去世，他搬到了上海。", None, 2001),
        ("他生于1950年3月，2001年去世。", 1950, 2001),
    ],
)
def test_lifespan(text: str, birth: int | None, death: int | None) -> None:
    life = lifespan(text)
    assert (life.birth.year if life.birth else None, life.death.year if life.death else None) == (birth, death)
    for date in (life.birth, life.death):
        assert date is None or str(date.year) in text[date.start : date.end]
