"""No wording keeps a question from the documents; small talk, and nothing else, is answered without them."""

from pathlib import Path

import pytest

from chinese_writing import in_traditional
from theworld.evaluation.datasets import read_lines
from theworld.routing import Rules, features_of, route
from theworld.routing.features import LONGEST_READ
from theworld.settings import Settings
from theworld.state import Context

FILE = Path(__file__).parent / "data" / "wordings.tsv"
ROWS = [tuple(line.split("\t", 1)) for _, line in read_lines(FILE) if not line.startswith("#")]
CHANNELS = {"sparse", "dense", "graph"}


@pytest.mark.parametrize(("way", "message"), ROWS)
def test_every_question_is_searched_and_small_talk_is_not(way, message):
    for said in {message, message.upper(), in_traditional(message)}:
        decision = route(said, Context(), Settings(), Rules())
        assert set(decision.channels) == (CHANNELS if way == "search" else set()), said
        assert (decision.path == "none") == (decision.intent == "smalltalk") == (way == "reply")


def test_a_question_is_searched_with_a_database_too(mapped_settings, read, asked):
    for way, message in ROWS:
        decision = route(message, asked, mapped_settings, Rules(), database=read(message, asked))
        assert set(decision.channels) == (CHANNELS if way == "search" else set()), message


def test_a_question_behind_much_small_talk_is_not_overlooked():
    chatter = "thank you very much " * (LONGEST_READ // 20 + 1)
    assert not features_of(f"{chatter}how do I reset my password {chatter}", Context(), Settings()).smalltalk


def test_the_table_holds_both_languages_and_both_ways():
    chinese = {way for way, message in ROWS if not message.isascii()}
    english = {way for way, message in ROWS if message.isascii()}
    assert chinese == english == {"search", "reply"}
