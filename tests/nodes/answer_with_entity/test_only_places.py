"""Places that a tagger took for people are no answer to who-questions."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from theworld.nodes.answer_with_entity import answer_with_entity
from theworld.nodes.answer_with_entity.spans.only_places import only_places
from theworld.settings import AnswerSettings
from theworld.state import Candidate, Mention, QueryState
from theworld.text import detect_language, entity_key


def note(
    text: str,
    people: Sequence[str] = (),
    places: Sequence[str] = (),
    organizations: Sequence[str] = (),
    title: str = "T",
) -> Candidate:
    found = [
        Mention(surface=name, type=kind, start=match.start(), end=match.end(), key=entity_key(name))  # type: ignore[arg-type]
        for names, kind in ((people, "person"), (places, "place"), (organizations, "organization"))
        for name in names
        for match in re.finditer(re.escape(name), text)
    ]
    return Candidate(
        note_id=f"{title}#0",
        document_id=title,
        title=title,
        text=text,
        end=len(text),
        language=detect_language(text),
        final_score=0.9,
        mentions=tuple(sorted(found, key=lambda mention: mention.start)),
    )


@pytest.mark.parametrize(
    ("text", "name", "place"),
    [
        ("A picture of boats over the Rhône hangs there.", "Rhône", True),
        ("The Old Light stands on Lundy.", "Lundy", True),
        ("It flows into Volga River at noon.", "Volga", True),
        ("Grey County was settled late.", "Grey", True),
        ("It was built by Ada Grey.", "Ada Grey", False),
        ("Ada Grey built it.", "Ada Grey", False),
        ("It is the Ada Grey house.", "Ada Grey", False),
        ("灯塔位于兰迪。", "兰迪", True),
        ("他前往兰迪定居。", "兰迪", True),
        ("兰迪境内有灯塔。", "兰迪", True),
        ("灯塔由兰迪建造。", "兰迪", False),
    ],
)
def test_a_name_looks_like_a_place(text: str, name: str, place: bool) -> None:
    assert (entity_key(name) in only_places([note(text, [name])], {})) == place


def test_mentions_outvote_each_other_and_an_entry_decides() -> None:
    person = note("Paris ran. Paris won.", ["Paris"])
    city = note("He lives in Paris.", [], ["Paris"], title="C")
    assert only_places([person, city], {}) == frozenset()
    assert only_places([city], {}) == {"paris"}
    assert only_places([person], {"paris": "place"}) == {"paris"}
    assert only_places([city], {"paris": "person"}) == frozenset()


@pytest.mark.parametrize(
    ("question", "text", "people", "answer"),
    [
        (
            "Who built the lighthouse?",
            "The lighthouse on Lundy was built by Ada Grey.",
            ["Lundy", "Ada Grey"],
            "Ada Grey",
        ),
        ("Who built the lighthouse?", "The lighthouse on Lundy was built in 1819.", ["Lundy"], None),
        ("谁建造了这座灯塔？", "这座灯塔位于兰迪，由李明建造。", ["兰迪", "李明"], "李明"),
        ("哪位建造了这座灯塔？", "这座灯塔位于兰迪，建造于1819年。", ["兰迪"], None),
    ],
)
def test_who_is_never_a_place(question: str, text: str, people: list[str], answer: str | None) -> None:
    state = QueryState(
        question=question, query=question, language=detect_language(question), evidence=[note(text, people)]
    )
    settings = AnswerSettings(min_share=0.0, min_margin=0.0, min_confidence=0.0)
    result = answer_with_entity(state, None, settings=settings)["result"]  # type: ignore[arg-type]
    assert (result.text if result else None) == answer


@pytest.mark.parametrize(
    ("question", "text", "organization", "answer"),
    [
        (
            "Who built the lighthouse?",
            "The lighthouse on Lundy was built by the Admiralty.",
            "Admiralty",
            "Admiralty",
        ),
        ("Who kept the lighthouse?", "The lighthouse on Lundy was kept by the Admiralty.", "Admiralty", "Admiralty"),
        ("Who saw the lighthouse?", "The lighthouse on Lundy is near the Admiralty.", "Admiralty", None),
        ("谁建造了这座灯塔？", "这座灯塔位于兰迪，由海务局建造。", "海务局", "海务局"),
        ("谁看守这座灯塔？", "这座灯塔位于兰迪，由海务局看守。", "海务局", None),
    ],
)
def test_who_built_may_be_an_organisation(question: str, text: str, organization: str, answer: str | None) -> None:
    place = "Lundy" if "Lundy" in text else "兰迪"
    evidence = [note(text, places=[place], organizations=[organization])]
    state = QueryState(question=question, query=question, language=detect_language(question), evidence=evidence)
    settings = AnswerSettings(min_share=0.0, min_margin=0.0, min_confidence=0.0)
    result = answer_with_entity(state, None, settings=settings)["result"]  # type: ignore[arg-type]
    assert (result.text if result else None) == answer
