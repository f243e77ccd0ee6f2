"""More than three hundred labelled questions: both languages, a third held back."""

import runpy
from collections import Counter
from pathlib import Path

import pytest

from theworld.errors import IngestionError
from theworld.evaluation.chinese_scripts import in_traditional
from theworld.routing import Rules, route

FILE = Path(__file__).parent / "data" / "queries.tsv"
SHARED = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "labelled_questions.py"))
accuracy, read_labelled = SHARED["accuracy"], SHARED["read_labelled"]
LABELLED = read_labelled(FILE)


@pytest.fixture(scope="module")
def choose(mapped_settings, read, asked):
    return lambda q: route(q, asked, mapped_settings, Rules(), database=read(q, asked)).path


def test_the_questions_are_enough_and_balanced():
    assert len(LABELLED) >= 300
    assert len({item.question for item in LABELLED}) >= len(LABELLED) - 1, "RFC 2616 is the same in both languages"
    counts = Counter((item.intent, item.language) for item in LABELLED)
    assert min(Counter(item.intent for item in LABELLED).values()) >= 60
    assert all(count >= 26 for count in counts.values())
    for language in ("zh", "en"):
        assert sum(item.held_back for item in LABELLED if item.language == language) >= 50
    held = sum(item.held_back for item in LABELLED)
    assert 0.28 < held / len(LABELLED) < 0.38


def test_the_path_is_right_nine_times_in_ten(choose):
    for wanted in ({True}, {False, True}):
        shares = [
            accuracy([i for i in LABELLED if i.language == language and i.held_back in wanted], choose).share
            for language in ("zh", "en")
        ]
        assert min(shares) >= 0.9
    assert abs(shares[0] - shares[1]) <= 0.03, "over all questions: of the third held back, one is 1.5 points"


def test_the_path_is_the_same_in_traditional_chinese(choose):
    questions = [item.question for item in LABELLED if item.language == "zh"]
    assert sum(in_traditional(question) != question for question in questions) > len(questions) / 2
    assert [q for q in questions if choose(in_traditional(q)) != choose(q)] == []


def test_without_a_database_nothing_goes_to_one(mapped_settings, asked):
    assert "sql" not in {route(item.question, asked, mapped_settings, Rules()).path for item in LABELLED}


def test_wrong_files_are_named_by_line(tmp_path):
    file = tmp_path / "q.tsv"
    file.write_text("statistics\tsql\thow many\nnonsense\n", "utf-8")
    with pytest.raises(IngestionError, match="line 2"):
        read_labelled(file)
