"""What of a question counts: content tokens, in Chinese within words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.ranking.ontology_order import content_tokens, question_weights, said_tokens
from theworld.state import Candidate
from theworld.text import tokens


def note(title: str, text: str) -> Candidate:
    return Candidate(note_id=title, document_id=title, title=title, text=text, language="zh")


@pytest.mark.parametrize(
    ("question", "texts", "names", "expected"),
    [
        ("沈括写了什么书？", ["沈括"], {"沈括"}, ["沈括", "写", "书"]),
        ("宁波在哪个省？", ["宁波", "个省"], {"宁波"}, ["宁波", "省"]),
        ("大運河裡有哪些魚？", ["大运", "运河"], {"大运河"}, ["大运", "运河", "鱼"]),
        ("郭守敬编了什么历法？", ["历法"], {"郭守敬"}, ["郭守", "守敬", "编", "历法"]),
        ("该公司有限责任是多少？", ["有限"], set(), ["该公", "公司", "有限", "限责", "责任"]),
        ("What did Shen Kuo write?", [], set(), ["shen", "kuo", "write"]),
        ("Who built the 天一阁 in 1561?", ["天一"], {"天一阁"}, ["built", "1561", "天一", "一阁"]),
        ("谁？", [], set(), []),
        ("", [], set(), []),
    ],
)
def test_pairs_across_words_do_not_count(question: str, texts: list[str], names: set[str], expected: list[str]) -> None:
    assert content_tokens(question, texts, names) == expected


def test_all_that_is_said_is_covered_in_chinese_too() -> None:
    notes = [note("梦溪笔谈", "《梦溪笔谈》是沈括写成的一部书。"), note("杭州", "杭州是浙江的省会。")]
    wanted = question_weights("沈括写了什么书？", notes)
    assert set(wanted) <= set(said_tokens(notes[0].text)) | {"沈括"}
    assert sum(wanted.values()) == pytest.approx(1.0)


@given(
    st.text(alphabet="沈括写了什么书宁波在哪个省 abc谁？", max_size=30),
    st.sets(st.text("沈括宁波", min_size=1, max_size=3)),
)
def test_tokens_are_distinct_pieces_of_the_question(question: str, names: set[str]) -> None:
    found = content_tokens(question, [], names)
    assert len(found) == len(set(found))
    assert set(found) <= set(said_tokens(question))
    assert found == content_tokens(question, [], sorted(names))


def test_what_is_said_are_tokens_and_single_characters() -> None:
    assert said_tokens("Mo Yan 莫言写") == ["mo", "yan", "莫言", "莫", "言", "言写", "言", "写"]
    assert set(tokens("写成 book")) <= set(said_tokens("写成 book"))
