"""The honest end."""

from __future__ import annotations

import pytest

from theworld.nodes.report_no_evidence import report_no_evidence
from theworld.state import Answer, Candidate, ChannelResult, Context, Degradation, QueryState

NOTES = [
    Candidate(note_id=str(i), document_id=str(i), title=title) for i, title in enumerate(["A", "a", "B", "", "C", "D"])
]


def report(**fields: object) -> Answer:
    answer: Answer = report_no_evidence(QueryState.model_validate(fields), None)["result"]  # type: ignore[arg-type]
    assert (answer.kind, answer.confidence, answer.citations) == ("none", 0.0, ())
    assert answer.reason
    return answer


@pytest.mark.parametrize(
    ("language", "start", "titles"),
    [("en", "There is not enough evidence", '"A"; "B"; "C".'), ("zh", "没有足够的证据", "《A》；《B》；《C》。")],
)
def test_names_what_was_found(language: str, start: str, titles: str) -> None:
    text = report(language=language, candidates=NOTES).text
    assert text.startswith(start)
    assert text.endswith(titles)


def test_nothing_found() -> None:
    assert "Nothing relevant" in report(language="en").text
    assert "没有找到" in report(language="zh").text


def test_failed_search_is_not_missing_evidence() -> None:
    failed = [Degradation(stage="retrieve_dense", reason="disk gone"), Degradation(stage="route_query", reason="slow")]
    answer = report(language="en", degradations=failed)
    assert "cannot be answered now" in answer.text
    assert "disk gone" in answer.text
    assert "slow" not in answer.text
    assert "现在无法回答" in report(language="zh", degradations=failed).text


def test_one_channel_that_answered_is_enough_to_say_there_is_no_evidence() -> None:
    failed = [Degradation(stage="retrieve_dense", reason="disk gone")]
    results = {"sparse": ChannelResult(channel="sparse")}
    assert "not enough evidence" in report(language="en", degradations=failed, channel_results=results).text


def test_the_callers_language_wins() -> None:
    class Runtime:
        context = Context(language="zh")

    answer = report_no_evidence(QueryState(language="en"), Runtime())["result"]  # type: ignore[arg-type]
    assert "没有" in answer.text


def test_notes_that_were_found_and_cannot_be_read_are_not_missing_evidence() -> None:
    unread = [Degradation(stage="fuse_candidates", reason="the notes cannot be read, 0 of 3 are in memory: disk gone")]
    results = {"sparse": ChannelResult(channel="sparse", hits=(("n", 1.0),))}
    answer = report(language="en", degradations=unread, channel_results=results)
    assert "cannot be answered now" in answer.text
    assert "disk gone" in answer.text
    assert "cannot be read" in answer.reason
