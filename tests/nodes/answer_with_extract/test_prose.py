"""What can stand as an answer."""

import pytest

from theworld.nodes.answer_with_extract.options import is_prose, read_options, whole_sentences
from theworld.state import Candidate
from theworld.text import split_sentences


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("She was born in Vienna.", True),
        ("他出生于上海。", True),
        ("a | b is the union of both", True),
        ("## Who may import whom", False),
        ("| setting | default | allowed |", False),
        ("`k` | `K` | 60 | a number | the constant", False),
        ("```python", False),
        ("x" * 701, False),
    ],
)
def test_is_prose(text, prose):
    assert is_prose(text) is prose


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("甲在东；乙在西。丙在南。", ["甲在东；乙在西。", "丙在南。"]),
        ("他说：「走吧。快点！」她走了。", ["他说：「走吧。快点！」", "她走了。"]),
        ("《你好！李焕英》是电影。很好看。", ["《你好！李焕英》是电影。", "很好看。"]),
        ("他（生于甲地。卒于乙地。）是诗人。", ["他（生于甲地。卒于乙地。）", "是诗人。"]),
        ("未关的「引号。后面。", ["未关的「引号。后面。"]),
        ("项目；\n\n另一项。", ["项目；", "另一项。"]),
        (f"{'长' * 235}；{'句' * 20}。", [f"{'长' * 235}；", f"{'句' * 20}。"]),
    ],
)
def test_a_chinese_sentence_is_kept_whole(text, sentences):
    found = whole_sentences(text)
    assert [sentence.text for sentence in found] == sentences
    assert all(text[sentence.start : sentence.end] == sentence.text for sentence in found)


def test_english_is_split_as_everywhere():
    text = "“Go. Now.” She went; he stayed. 甲；乙。"
    note = Candidate(note_id="n", document_id="n", text=text, language="en")
    assert [option.text for option in read_options([note])] == [sentence.text for sentence in split_sentences(text)]
