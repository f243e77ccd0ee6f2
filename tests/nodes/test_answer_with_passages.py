"""The node: what stands above the passages, which come first, and when nothing is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langgraph.runtime import Runtime

from theworld.answers import sureness_of
from theworld.deadline import Deadline
from theworld.errors import EngineUnavailableError
from theworld.nodes.answer_with_passages import answer_with_passages
from theworld.settings import Settings
from theworld.state import Answer, Candidate, ChannelHit, ChannelResult, Citation, Context, QueryState
from theworld.stores.records import StoredNote

TEXTS = ["Parental leave lasts twelve months.", "Ask your lead first.", "Paid on the tenth.", "Tea is free."]
DOCUMENT = "\n\n".join(TEXTS)
SHORT = Answer(text="twelve months", kind="entity", confidence=0.9, reason="a span")


class Notes:
    """The ledger of one document, whose notes all stand in one section."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails, self.asked = fails, list[tuple[str, ...]]()

    def notes(
        self, note_ids: Sequence[str], *, tenant: str, mentions: bool = True, within: Deadline | None = None
    ) -> list[StoredNote]:
        assert within is not None
        self._look()
        self.asked.append(tuple(note_ids))
        return self.remembered(note_ids, tenant=tenant, mentions=mentions)

    def remembered(self, note_ids: Sequence[str], *, tenant: str, mentions: bool = True) -> list[StoredNote]:
        assert not mentions
        return [stored(int(one.rpartition("#")[2]), tenant) for one in note_ids if int(one.rpartition("#")[2]) < 2]

    def text(self, document_id: str, start: int, end: int, *, tenant: str, within: Deadline | None = None) -> str:
        assert (document_id, tenant, within is not None) == ("leave.md", "acme", True)
        self._look()
        return DOCUMENT[start:end]

    def _look(self) -> None:
        if self.fails:
            raise EngineUnavailableError("it is gone", where="ledger")


class BrokenDense:
    """A dense store that cannot be reached."""

    def spaces(self, tenant: str) -> dict[str, int]:
        raise EngineUnavailableError("it is gone", where=f"dense of {tenant}")


def place(ordinal: int) -> tuple[int, int]:
    start = DOCUMENT.index(TEXTS[ordinal])
    return start, start + len(TEXTS[ordinal])


def stored(ordinal: int, tenant: str) -> StoredNote:
    given = (f"leave.md#{ordinal}", "leave.md", tenant, "Leave", "", ordinal, TEXTS[ordinal], *place(ordinal))
    return StoredNote(*given, language="en", metadata={}, section=("Parental leave",))


def candidate(ordinal: int, **changed: Any) -> Candidate:
    start, end = place(ordinal)
    hits = {channel: ChannelHit(rank=ordinal + 1, score=0.9 - 0.1 * ordinal) for channel in ("sparse", "dense")}
    given: dict[str, Any] = {"note_id": f"leave.md#{ordinal}", "document_id": "leave.md", "title": "Leave"}
    given |= {"text": TEXTS[ordinal], "start": start, "end": end, "ordinal": ordinal, "channels": hits}
    return Candidate(**(given | {"section": ("Parental leave",), "final_score": 0.9, "language": "en"} | changed))


FOUND = [candidate(0), candidate(1), candidate(2, section=("Pay",)), candidate(3, section=("Tea",))]


def answered(short: Answer | None = None, *, notes: Notes | None = None, **given: Any) -> Answer | None:
    context = Context(tenant="acme", **given.pop("context", {}))
    settings = Settings(answers={"min_evidence": 0.0, **given.pop("answers", {})})
    state = QueryState(**({"question": "How long is parental leave?", "candidates": FOUND, "result": short} | given))
    stores: dict[str, Any] = {"notes": notes or Notes(), "dense": BrokenDense(), "embedder_of": {}.get}
    update = answer_with_passages(state, Runtime(context=context), settings=settings, **stores)
    assert set(update) <= {"result", "degradations"}
    result: Answer | None = update["result"]
    return result


def test_passages_alone_are_an_extractive_answer() -> None:
    answer = answered()
    assert answer is not None
    assert (answer.kind, answer.short, answer.brief) == ("extractive", "", answer.text)
    assert answer.passages[0].text == f"{TEXTS[0]}\n\n{TEXTS[1]}", "notes beside each other are one passage"
    assert answer.citations == tuple(passage.citation for passage in answer.passages)
    assert answer.sureness == sureness_of(answer.confidence)
    assert f"{answer.confidence:.2f}" in answer.reason


def test_a_short_answer_stands_above_with_its_own_confidence_and_reason() -> None:
    answer = answered(SHORT)
    assert answer is not None
    assert answer.text.startswith("twelve months\n\nleave.md › Parental leave [1]\n")
    assert (answer.short, answer.brief, answer.kind) == ("twelve months", "twelve months", "entity")
    assert (answer.confidence, answer.sureness, answer.reason) == (0.9, "sure", "a span")


def test_the_notes_a_short_answer_was_read_off_come_first() -> None:
    citations = (Citation.of(1, FOUND[3]), Citation.of(2, FOUND[2]), Citation.of(3, FOUND[3]))
    answer = answered(SHORT.model_copy(update={"citations": citations}))
    assert answer is not None
    assert [passage.note_id for passage in answer.passages] == ["leave.md#3", "leave.md#2", "leave.md#0"]


def test_what_is_left_is_named() -> None:
    others = [
        candidate(
            3, section=("Tea",), note_id=f"{name}.md#0", document_id=f"{name}.md", title=name, text=f"{TEXTS[3]} {name}"
        )
        for name in "abcd"
    ]
    answer = answered(candidates=[*FOUND[:3], *others])
    assert answer is not None
    assert [passage.place for passage in answer.passages[2:]] == ["a.md › Tea", "b.md › Tea", "c.md › Tea"]
    assert answer.see_also == ("d.md › Tea",)
    assert answer.text.endswith("\n\nSee also: d.md › Tea")


def test_what_is_far_less_relevant_is_neither_shown_nor_named() -> None:
    others = [
        candidate(3, section=("Tea",), note_id=f"{name}.md#0", document_id=f"{name}.md", final_score=relevance)
        for name, relevance in (("near", 0.4), ("far", 0.1))
    ]
    answer = answered(candidates=[FOUND[0], *others])
    assert answer is not None
    assert [passage.document_id for passage in answer.passages] == ["leave.md", "near.md"]
    assert not answer.see_also


@pytest.mark.parametrize("candidates", [[], [candidate(0, channels={}, final_score=0.0)]], ids=["none", "weak"])
def test_weak_evidence_is_no_answer(candidates: list[Candidate]) -> None:
    assert answered(candidates=candidates, answers={"min_evidence": 0.99}) is None


def test_a_short_answer_needs_no_second_opinion() -> None:
    answer = answered(SHORT, answers={"min_evidence": 1.0})
    assert answer is not None
    assert answer.passages


def test_without_candidates_a_short_answer_stays_as_it_is() -> None:
    assert answered(SHORT, candidates=[]) == SHORT


def test_the_limit_is_that_of_the_notes_language() -> None:
    long = {"text": "假期。" * 600, "start": 0, "end": 1800}
    for language, limit in (("zh", 300), ("en", 900)):
        answers = {"passage_characters_zh": 300, "passage_characters_en": 900}
        answer = answered(candidates=[candidate(0, language=language, **long)], answers=answers)
        assert answer is not None
        assert limit * 0.75 < len(answer.passages[0].text) <= limit


@pytest.mark.parametrize(
    ("chinese", "code", "whole"), [(200, 300, True), (200, 750, True), (200, 2000, False), (900, 9, False)]
)
def test_a_chinese_note_with_code_may_be_longer_where_it_stands_whole(chinese: int, code: int, whole: bool) -> None:
    text = "假期。" * (chinese // 3) + "\n\n```\n" + "make leave\n" * (code // 11) + "```"
    answer = answered(candidates=[candidate(0, language="zh", text=text, start=0, end=len(text))])
    assert answer is not None
    assert (answer.passages[0].text == text) == whole
    assert len(answer.text) <= (1300 if whole else 700)


def test_the_words_around_it_are_in_the_language_asked_for() -> None:
    weak = [candidate(0, channels={}, final_score=0.0, covered=0.0)]
    answer = answered(candidates=weak, context={"language": "zh"})
    assert answer is not None
    assert (answer.sureness, answer.text.splitlines()[0]) == ("unsure", "不确定：以下内容未必回答了这个问题。")


def test_a_ledger_that_is_gone_leaves_what_is_in_memory_unjoined() -> None:
    answer = answered(notes=Notes(fails=True))
    assert answer is not None
    assert [passage.text for passage in answer.passages[:2]] == TEXTS[:2]
    with pytest.raises(EngineUnavailableError):
        answered(notes=Notes(fails=True), context={"strict": True})


def test_only_the_first_notes_neighbours_are_read() -> None:
    notes = Notes()
    answered(notes=notes, candidates=FOUND[:1])
    assert notes.asked == [("leave.md#1", "leave.md#2", "leave.md#3")]


def test_a_dense_store_that_is_gone_leaves_parts_of_notes_to_their_words() -> None:
    found = {"dense": ChannelResult(channel="dense")}
    long = " ".join(["Ask your lead."] * 60)
    cut = [candidate(0, text=f"{long} Parental leave lasts long. {long}")]
    answer = answered(candidates=cut, channel_results=found, answers={"passage_characters_en": 300})
    assert answer is not None
    assert "Parental leave lasts long." in answer.passages[0].text
    with pytest.raises(EngineUnavailableError):
        answered(
            candidates=cut,
            channel_results=found,
            answers={"passage_characters_en": 300},
            context={"strict": True},
        )
