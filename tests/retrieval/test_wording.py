"""Evidence paths in words."""

from __future__ import annotations

import pytest

from theworld.retrieval.graph import distinct_paths, word_path, word_paths
from theworld.state import EvidencePath, PathStep


def path(note_id: str, *names_and_relations: str) -> EvidencePath:
    """Return the path `A, relation, B, relation, C`."""
    names, relations = names_and_relations[::2], names_and_relations[1::2]
    steps = (PathStep(source=a, relation=r, target=b) for a, r, b in zip(names, relations, names[1:], strict=False))
    return EvidencePath(note_id=note_id, steps=tuple(steps))


CHAIN = path("m#0", "Metropolis", "mentions", "Lang", "title_of", "Fritz Lang")


def test_in_both_languages() -> None:
    assert word_path(CHAIN.steps, "en") == "Metropolis —mentions→ Lang —is the title of→ Fritz Lang"
    assert word_path(CHAIN.steps, "zh") == "Metropolis —提到→ Lang —是其标题→ Fritz Lang"


def test_a_relation_without_words_is_shown_by_name() -> None:
    assert word_path(path("a#0", "a", "inherits", "b").steps, "en") == "a —inherits→ b"


@pytest.mark.parametrize(
    ("way", "words"),
    [
        (("Metropolis", "mentions", "Vienna", "title_of", "Vienna"), "Metropolis —mentions→ Vienna"),
        (("Vienna", "has_title", "vienna", "mentioned_in", "Danube"), "vienna —mentioned in→ Danube"),
        (("Mercury", "title_of", "Mercury (planet)"), "Mercury —is the title of→ Mercury (planet)"),
        (("杭州", "has_title", "杭州", "mentioned_in", "京杭大运河"), "杭州 —mentioned in→ 京杭大运河"),
    ],
)
def test_a_document_and_its_title_are_one(way: tuple[str, ...], words: str) -> None:
    (told,) = word_paths([path("x#0", *way)], "en")
    assert told.text == words
    assert told.steps == path("x#0", *way).steps, "the steps stay: hops are counted by them"


@pytest.mark.parametrize(
    "way",
    [
        (),
        ("Vienna", "title_of", "Vienna"),
        ("Vienna", "has_title", "Vienna", "title_of", "Vienna"),
        ("Vienna", "mentions", "1867", "mentioned_in", "Vienna"),
        ("Mercury", "mentions", "Sun", "mentioned_in", "Comet", "mentions", "Sun", "mentioned_in", "Voyager"),
        ("郭守敬", "mentions", "元代", "mentioned_in", "水利", "mentions", "1276年", "mentioned_in", "郭守敬"),
    ],
)
def test_a_way_that_leads_nowhere_or_back_is_left_out(way: tuple[str, ...]) -> None:
    assert [told.note_id for told in word_paths([path("v#1", *way), CHAIN], "zh")] == ["m#0"]


def test_a_way_is_told_once_for_all_notes_of_a_document() -> None:
    other = path("x#0", "Berlin", "mentioned_in", "Metropolis")
    told = word_paths([CHAIN, other, CHAIN.model_copy(update={"note_id": "m#1"})], "en")
    assert [one.note_id for one in told] == ["m#0", "x#0", "m#1"]
    assert [one.note_id for one in distinct_paths(told)] == ["m#0", "x#0"]
