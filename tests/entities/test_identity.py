"""Names of one entry are one entity: in EFSA's sums and exclusions, and in the answer's id and URL."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from theworld.answers.efsa import trace_efsa
from theworld.answers.efsa_input import EvidenceNote
from theworld.entities import DeterministicJudge, SnapshotKnowledge, entry_of, same_names
from theworld.entities.knowledge import look_up
from theworld.errors import StoreError
from theworld.nodes.answer_with_entity import answer_with_entity
from theworld.nodes.link_answer import link_answer
from theworld.questions import read_question
from theworld.settings import AnswerSettings
from theworld.state import Answer, Candidate, EntityCandidate, EntityJudgement, Mention, QueryState
from theworld.text import detect_language, entity_key
from theworld.wikidata import NamedEntry


def linked(mention: str, qid: str, label: str, *aliases: str) -> EntityJudgement:
    entry = EntityCandidate(id=qid, url=f"https://www.wikidata.org/wiki/{qid}", label=label, aliases=aliases)
    return EntityJudgement(label=mention, matched=True, confidence=0.9, selection=entry)


JUDGEMENTS = [
    linked("UK", "Q145", "United Kingdom", "Great Britain", "Britain"),
    linked("Britain", "Q145", "United Kingdom", "Great Britain"),
    linked("Newton", "Q935", "Isaac Newton"),
    EntityJudgement(label="Zorbia"),
]


def test_all_names_of_an_entry_become_its_first_mention() -> None:
    names = same_names(JUDGEMENTS)
    assert names == {"United Kingdom": "UK", "Great Britain": "UK", "Britain": "UK", "Isaac Newton": "Newton"}


def test_a_name_of_two_entries_is_nobodys() -> None:
    both = [linked("D.C.", "Q61", "Washington, D.C.", "Washington"), linked("G. W.", "Q23", "Washington")]
    assert "Washington" not in same_names(both)
    assert entry_of("Washington", both) is None


@pytest.mark.parametrize(("name", "qid"), [("britain", "Q145"), ("Isaac Newton", "Q935"), ("Zorbia", None)])
def test_the_entry_of_a_name(name: str, qid: str | None) -> None:
    entry = entry_of(name, JUDGEMENTS)
    assert (entry.id if entry else None) == qid


def test_sums_and_exclusions_know_all_names() -> None:
    def note(*names: str) -> EvidenceNote:
        return EvidenceNote(
            entities={name.casefold(): name for name in names},
            score=0.5,
            hop=1,
            document=names[0],
            paragraphs=(names[0],),
            text=" ".join(names),
        )

    notes = [note("Great Britain", "Paris"), note("United Kingdom"), note("Paris")]
    aliases = same_names(JUDGEMENTS)
    ranking = trace_efsa(notes, "Which country?", aliases=aliases).ranking
    assert {item.key: len(item.contributions) for item in ranking} == {"uk": 2, "paris": 2}
    assert trace_efsa(notes, "Where?", "Britain", aliases=aliases).excluded == {"uk": "bridge"}
    assert trace_efsa(notes, "Who rules the UK?", aliases=aliases).excluded == {"uk": "query"}


class Knowledge:
    def __init__(self, fails: bool = False) -> None:
        self.fails = fails

    def search(self, label: str, language: str, limit: int) -> list[Mapping[str, Any]]:
        if self.fails:
            raise StoreError("gone")
        found = {"id": "Q1741", "label": "Vienna", "description": "capital of Austria", "sitelinks": 250}
        return [found] if label == "Vienna" else []


def answered(kind: str = "place") -> QueryState:
    mention = Mention(surface="Vienna", type=kind, start=10, end=16, key="vienna")  # type: ignore[arg-type]
    note = Candidate(
        note_id="n", document_id="d", title="Lang", text="Lang from Vienna, in Austria.", mentions=(mention,)
    )
    return QueryState(
        question="Where was Lang born?",
        query="Where was Lang born?",
        evidence=[note],
        result=Answer(text="Vienna", kind="entity", confidence=0.9, entity="vienna"),
    )


def test_the_answer_gets_its_id_and_url() -> None:
    update = link_answer(answered(), None, knowledge=Knowledge(), judge=DeterministicJudge())  # type: ignore[arg-type]
    result = update["result"]
    assert (result.qid, result.url) == ("Q1741", "https://www.wikidata.org/wiki/Q1741")
    assert [item.label for item in update["judgements"]] == ["Vienna"]


def test_dates_are_not_looked_up_and_a_failure_leaves_the_answer() -> None:
    judge = DeterministicJudge()
    assert link_answer(answered("date"), None, knowledge=Knowledge(), judge=judge) == {}  # type: ignore[arg-type]
    update = link_answer(answered(), None, knowledge=Knowledge(fails=True), judge=judge)  # type: ignore[arg-type]
    assert "result" not in update
    assert update["degradations"][0].stage == "link_answer"


class Slow:
    def __init__(self) -> None:
        self.free = threading.Event()

    def search(self, label: str, language: str, limit: int) -> list[Mapping[str, Any]]:
        if label == "slow":
            self.free.wait(60)
        return [{"id": "Q1", "label": label}]


def test_a_late_name_leaves_the_others() -> None:
    knowledge = Slow()
    began = time.monotonic()
    found, failures = look_up(knowledge, ["a", "slow", "b"], "en", 3, timeout_s=0.3)
    knowledge.free.set()
    assert time.monotonic() - began < 20
    assert list(found) == ["a", "b"]
    assert isinstance(failures["slow"], TimeoutError)


def test_names_are_asked_side_by_side() -> None:
    together = threading.Barrier(3, timeout=5)

    class Waiting:
        def search(self, label: str, language: str, limit: int) -> list[Mapping[str, Any]]:
            together.wait()
            return []

    assert set(look_up(Waiting(), ["a", "b", "c"], "en", 3)[0]) == {"a", "b", "c"}


def mentioning(text: str, **types: str) -> Candidate:
    """A note with mentions, name=type; `_` stands for a space."""
    names = [(name.replace("_", " "), kind) for name, kind in types.items()]
    mentions = tuple(
        Mention(surface=name, type=kind, start=text.index(name), end=text.index(name) + len(name), key=entity_key(name))
        for name, kind in names
    )
    return Candidate(
        note_id=text, document_id=text, text=text, end=len(text), language=detect_language(text), mentions=mentions
    )


def test_names_of_notes_are_one_entity_where_the_snapshot_has_but_one_entry() -> None:
    notes = [
        mentioning("Holland is flat.", Holland="place"),
        mentioning("荷兰很平。", 荷兰="place"),
        mentioning("The Netherlands are flat.", Netherlands="place"),
    ]
    found = same_names([], notes, entries=SnapshotKnowledge())
    assert found["荷兰"] == found["Netherlands"] == "Holland"
    assert same_names([], notes) == {}


def test_a_name_of_two_entries_is_left_alone() -> None:
    class Entries:
        def entries_named(self, keys: Sequence[str]) -> dict[str, list[NamedEntry]]:
            two = [NamedEntry("Q308", ("Mercury", "水星"), "planet"), NamedEntry("Q925", ("Mercury", "汞"), "element")]
            one = [NamedEntry("Q925", ("Mercury", "汞"), "element")]
            return {key: two if key == "mercury" else one for key in keys}

    notes = [mentioning("Mercury is hot.", Mercury="other"), mentioning("汞很重。", 汞="other")]
    assert same_names([], notes, entries=Entries()) == {}
    assert same_names([], notes[1:], read_question("Is Mercury heavy?"), Entries()) == {}
    metal = linked("Mercury", "Q925", "Mercury", "汞")
    assert same_names([metal], notes, entries=Entries()) == {"汞": "Mercury"}
    planet = linked("Mercury", "Q308", "Mercury", "水星")
    assert "汞" not in same_names([planet], notes, entries=Entries())


def test_a_judge_goes_before_the_only_entry_and_a_tagged_person_is_no_place() -> None:
    notes = [mentioning("Holland is flat.", Holland="place"), mentioning("荷兰很平。", 荷兰="place")]
    none = EntityJudgement(label="Holland")
    assert "Netherlands" not in same_names([none], notes[:1], entries=SnapshotKnowledge())
    other = linked("Holland", "Q9", "Holland, Michigan")
    assert same_names([other], notes, entries=SnapshotKnowledge()).get("荷兰") is None
    person = same_names([], [mentioning("Holland sang.", Holland="person"), notes[1]], entries=SnapshotKnowledge())
    assert "Holland" not in person.values()


@pytest.mark.parametrize(
    ("question", "language", "answer"),
    [
        ("Which country fought Holland in the war of 1652?", "en", "England"),
        ("荷兰在1652年的战争中对抗哪个国家？", "zh", "英格兰"),
    ],
)
def test_another_name_of_what_is_asked_about_is_no_answer(question: str, language: str, answer: str) -> None:
    note = (
        mentioning("In the war of 1652 the Netherlands fought England.", Netherlands="place", England="place")
        if language == "en"
        else mentioning("在1652年的战争中尼德兰对抗英格兰。", 尼德兰="place", 英格兰="place")
    )
    evidence = [note.model_copy(update={"final_score": 0.9})]
    state = QueryState(question=question, query=question, language=language, evidence=evidence)
    open_minded = AnswerSettings(min_confidence=0.0)

    class Entries:
        def entries_named(self, keys: Sequence[str]) -> dict[str, list[NamedEntry]]:
            entry = NamedEntry("Q55", ("Netherlands", "Holland", "荷兰", "尼德兰"), "country in Europe")
            return {key: [entry] for key in keys if key in {"netherlands", "尼德兰"}}

    answers = {
        bool(entries): answer_with_entity(state, None, settings=open_minded, entries=entries)["result"]  # type: ignore[arg-type]
        for entries in (Entries(), None)
    }
    assert answers[True].text == answer
    assert "1 of 1" in answers[True].reason
    assert "of 2" in answers[False].reason


def test_a_damaged_snapshot_costs_other_names_only() -> None:
    class Damaged:
        def entries_named(self, keys: Sequence[str]) -> dict[str, list[NamedEntry]]:
            raise StoreError("the file is damaged")

    note = mentioning("The winner of the war of 1652 was England.", England="place")
    note = note.model_copy(update={"final_score": 0.9})
    question = "Which country was the winner of the war of 1652?"
    state = QueryState(question=question, query=question, evidence=[note])
    settings = AnswerSettings(min_confidence=0.0)
    update = answer_with_entity(state, None, settings=settings, entries=Damaged())  # type: ignore[arg-type]
    assert update["result"].text == "England"
    assert "the file is damaged" in update["degradations"][0].reason
