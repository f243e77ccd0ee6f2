"""The nodes: what is looked up, what reaches a judge, and what a failing source costs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from theworld.entities import DeterministicJudge, JudgedEntity, JudgeOutput, SnapshotKnowledge
from theworld.entities.identity import mentions_to_look_up
from theworld.errors import StoreError
from theworld.nodes.disambiguate_entities import accept_no_candidates, find_entity_candidates, judge_entities
from theworld.questions import read_question
from theworld.state import Candidate, Context, EntityCandidate, Mention, ModelUsage, QueryState


def note(title: str, text: str = "") -> Candidate:
    return Candidate(note_id=f"{title}#0", document_id=title, title=title, text=text)


class CountingJudge:
    """Counts its calls."""

    usage = ModelUsage()

    def __init__(self) -> None:
        self.calls = 0

    def judge(self, entity: JudgedEntity, context: str, candidates: Sequence[Mapping[str, Any]]) -> JudgeOutput:
        self.calls += 1
        return DeterministicJudge().judge(entity, context, candidates)


class BrokenKnowledge:
    def search(self, label: str, language: str, limit: int) -> list[Mapping[str, Any]]:
        raise StoreError("the disk is gone")


def test_names_of_the_question_come_before_titles() -> None:
    notes = [note("Alien (film)"), note("Ridley Scott"), note("Jaws")]
    names = mentions_to_look_up(read_question("Who directed Alien with Tom Skerritt?"), notes)
    assert names == ["Alien", "Tom Skerritt", "Ridley Scott", "Jaws"]


def test_a_name_within_another_word_is_not_named() -> None:
    mentions = [Mention(surface=name, type="work", start=0, end=3, key=name.lower()) for name in ("Art", "Main", "Tar")]
    notes = [note("X").model_copy(update={"mentions": mentions})]
    assert mentions_to_look_up(read_question("Who started the party in Maine?"), notes) == ["Maine"]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Where was Barack Obama's wife born?", ["Barack Obama"]),
        ("Who wrote Schindler's List?", ["Schindler's List"]),
        ("Who founded McDonald's?", ["McDonald's"]),
        ("Where is Sean O'Casey’s house?", ["Sean O'Casey"]),
        ("《红高粱》的导演是谁？", ["红高粱"]),
    ],
)
def test_possessives_and_quotes_are_no_part_of_a_name(question: str, names: list[str]) -> None:
    assert mentions_to_look_up(read_question(question), []) == names


def test_the_bundled_snapshot_in_both_languages() -> None:
    state = QueryState(question="Where is the Eiffel Tower in Paris?", query="Where is the Eiffel Tower in Paris?")
    found = find_entity_candidates(state, None, knowledge=SnapshotKnowledge())["entity_candidates"]  # type: ignore[arg-type]
    assert found["Eiffel Tower"][0].id == "Q243"
    assert found["Paris"][0].description == "capital and largest city of France"
    chinese = SnapshotKnowledge().search("巴黎", "zh", 3)[0]
    assert (chinese["id"], chinese["description"]) == ("Q90", "法国首都")


def test_the_snapshot_holds_each_entity_once_with_labels_in_both_languages() -> None:
    file = Path(__file__).parents[2] / "src" / "theworld" / "entities" / "data" / "entities.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    entities = content["entities"]
    assert len({item["id"] for item in entities}) == len(entities)
    assert all({"en", "zh"} <= set(item["labels"]) for item in entities)
    assert content["license"] == "CC0-1.0"


def test_zero_candidates_never_reach_a_judge() -> None:
    judge = CountingJudge()
    paris = EntityCandidate(
        id="Q90", url="https://www.wikidata.org/wiki/Q90", label="Paris", description="capital city"
    )
    state = QueryState(query="Is Paris in Zorbia?", entity_candidates={"Paris": [paris], "Zorbia": []})
    update = judge_entities(state, None, judge=judge)  # type: ignore[arg-type]
    assert judge.calls == 1
    assert [(item.label, item.matched, item.reason == "无候选") for item in update["judgements"]] == [
        ("Paris", True, False),
        ("Zorbia", False, True),
    ]
    assert update["usage"].calls == 0


def test_accepting_that_there_are_none() -> None:
    update = accept_no_candidates(QueryState(entity_candidates={"x": []}), None)  # type: ignore[arg-type]
    assert [(item.label, item.reason) for item in update["judgements"]] == [("x", "无候选")]


class StrictRuntime:
    context = Context(strict=True)


def test_a_failing_source_is_a_degradation_and_an_error_when_strict() -> None:
    state = QueryState(question="Where is Paris?", query="Where is Paris?")
    update = find_entity_candidates(state, None, knowledge=BrokenKnowledge())  # type: ignore[arg-type]
    assert update["entity_candidates"] == {}
    assert "the disk is gone" in update["degradations"][0].reason
    with pytest.raises(StoreError):
        find_entity_candidates(state, StrictRuntime(), knowledge=BrokenKnowledge())  # type: ignore[arg-type]


class HalfBrokenKnowledge(SnapshotKnowledge):
    def search(self, label: str, language: str, limit: int) -> list[Mapping[str, Any]]:
        if label == "Rome":
            raise RuntimeError
        return super().search(label, language, limit)


def test_a_name_that_fails_in_any_way_leaves_the_others() -> None:
    state = QueryState(question="Is Paris older than Rome?", query="Is Paris older than Rome?")
    update = find_entity_candidates(state, None, knowledge=HalfBrokenKnowledge())  # type: ignore[arg-type]
    assert list(update["entity_candidates"]) == ["Paris"]
    assert "'Rome' could not be looked up (RuntimeError)" in update["degradations"][0].reason
