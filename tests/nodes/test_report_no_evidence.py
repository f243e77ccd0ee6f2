"""The honest end."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from langgraph.runtime import Runtime

from made_documents import make_document
from theworld.deadline import Deadline
from theworld.errors import EngineUnavailableError
from theworld.nodes.report_no_evidence import NoteStore, report_no_evidence
from theworld.retrieval.channel import LATE
from theworld.state import Answer, Candidate, ChannelResult, Context, Degradation, QueryState, Update
from theworld.stores.knowledge_store import KnowledgeStore

NOTES = [
    Candidate(note_id=str(i), document_id=str(i), title=title) for i, title in enumerate(["A", "a", "B", "", "C", "D"])
]


SEARCHED = {"sparse": ChannelResult(channel="sparse")}


def run(fields: Mapping[str, object], context: Context | None = None, store: NoteStore | None = None) -> Update:
    with tempfile.TemporaryDirectory() as folder, KnowledgeStore.open(folder, create=True) as full:
        full.put([make_document(0)])
        state, runtime = QueryState.model_validate(fields), Runtime(context=context or Context())
        return report_no_evidence(state, runtime, store=store or full)


def report(**fields: object) -> Answer:
    answer: Answer = run(fields)["result"]
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
    assert "Nothing relevant" in report(language="en", channel_results=SEARCHED).text
    assert "没有找到" in report(language="zh", channel_results=SEARCHED).text


@pytest.mark.parametrize(("language", "said"), [("en", "filters allow (lang=fr)"), ("zh", "筛选条件（lang=fr）")])
def test_filters_are_named_where_nothing_was_found(language: str, said: str) -> None:
    update = run({"language": language, "channel_results": SEARCHED}, Context(filters={"lang": "fr"}))
    assert said in update["result"].text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_is_said_to_be_missing_that_was_not_searched(language: str) -> None:
    answer = report(language=language)
    assert answer.reason == "no document was searched"
    assert report(language=language, channel_results=SEARCHED).text.removeprefix(answer.text).strip() != ""


@pytest.mark.parametrize(
    ("language", "tenant", "start", "end"),
    [
        ("en", "default", "The store holds no documents yet.", "--store STORE`."),
        ("zh", "default", "知识库中还没有文档。", "--store 知识库`。"),
        ("en", "a b", "The store holds no documents yet.", "--store STORE --tenant 'a b'`."),
    ],
)
def test_an_empty_store_says_so(language: str, tenant: str, start: str, end: str, tmp_path: Path) -> None:
    with KnowledgeStore.open(tmp_path, create=True) as store:
        store.put([make_document(0, tenant="other")])
        answer = run({"language": language}, Context(tenant=tenant), store)["result"]
    assert (answer.kind, answer.reason) == ("none", "the store is empty")
    assert answer.text.startswith(start)
    assert "`theworld ingest " in answer.text
    assert answer.text.endswith(end)


class Unreachable:
    def has_notes(self, *, tenant: str, within: Deadline | None = None) -> bool:
        raise EngineUnavailableError("it is gone", where="ledger")


def test_a_ledger_that_cannot_be_asked_is_told_and_nothing_is_claimed_empty() -> None:
    update = run({"language": "en", "channel_results": SEARCHED}, store=Unreachable())
    assert "Nothing relevant" in update["result"].text
    assert "it is gone" in update["degradations"][0].reason
    assert not run({"language": "en", "candidates": NOTES}, store=Unreachable())["degradations"]
    with pytest.raises(EngineUnavailableError):
        run({"language": "en"}, Context(strict=True), Unreachable())


def test_failed_search_is_not_missing_evidence() -> None:
    failed = [Degradation(stage="retrieve_dense", reason="disk gone"), Degradation(stage="route_query", reason="slow")]
    answer = report(language="en", degradations=failed)
    assert "cannot be answered now" in answer.text
    assert "disk gone" in answer.text
    assert "slow" not in answer.text
    assert "现在无法回答" in report(language="zh", degradations=failed).text


@pytest.mark.parametrize(("language", "said"), [("en", "Time ran out"), ("zh", "时间不足")])
def test_channels_that_were_only_late_did_not_fail(language: str, said: str) -> None:
    late = [Degradation(stage=f"retrieve_{it}", reason=f"the {it} channel {LATE} (x)") for it in ("dense", "sparse")]
    answer = report(language=language, degradations=late)
    assert answer.text.startswith(said)
    assert answer.reason == "time ran out"
    gone = Degradation(stage="retrieve_graph", reason="disk gone")
    assert "disk gone" in report(language=language, degradations=[*late, gone]).text


def test_one_channel_that_answered_is_enough_to_say_there_is_no_evidence() -> None:
    failed = [Degradation(stage="retrieve_dense", reason="disk gone")]
    results = {"sparse": ChannelResult(channel="sparse")}
    assert "not enough evidence" in report(language="en", degradations=failed, channel_results=results).text


def test_the_callers_language_wins() -> None:
    assert "没有" in run({"language": "en"}, Context(language="zh"))["result"].text


def test_notes_that_were_found_and_cannot_be_read_are_not_missing_evidence() -> None:
    unread = [Degradation(stage="fuse_candidates", reason="the notes cannot be read, 0 of 3 are in memory: disk gone")]
    results = {"sparse": ChannelResult(channel="sparse", hits=(("n", 1.0),))}
    answer = report(language="en", degradations=unread, channel_results=results)
    assert "cannot be answered now" in answer.text
    assert "disk gone" in answer.text
    assert "cannot be read" in answer.reason
