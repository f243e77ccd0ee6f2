"""Who did what to whom, from the table beside this file, and which spans another part of a deed keeps out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from theworld.nodes.answer_with_entity.clauses.asked_deed import asked_deed
from theworld.nodes.answer_with_entity.clauses.deed_answers import answer_deed, plays_other_part
from theworld.nodes.answer_with_entity.clauses.deeds import deeds_in
from theworld.nodes.answer_with_entity.clauses.verbs import deed_of, verb_table
from theworld.nodes.answer_with_entity.spans.persons import reads_as_person
from theworld.state import Candidate, Mention
from theworld.text import detect_language, entity_key

CASES = yaml.safe_load(Path(__file__).with_name("deeds.yaml").read_text(encoding="utf-8"))


def note(text: str, title: str = "") -> Candidate:
    return Candidate(note_id="n", document_id="n", title=title, text=text, language=detect_language(text))


@pytest.mark.parametrize(("title", "text", "question", "expected"), CASES)
def test_the_asked_part_of_a_deed(title: str, text: str, question: str, expected: str | None) -> None:
    found = answer_deed(question, detect_language(question), [note(text, title)])
    assert (found and found.text) == expected
    if found and found.text != title:
        place = found.support[0]
        assert text[place.start : place.end] == expected


@pytest.mark.parametrize(
    ("question", "text", "span", "other"),
    [
        ("When was Lowmere College founded?", "Acme was founded in 1974 by two men of Lowmere College.", "1974", True),
        ("When was Lowmere College founded?", "Lowmere College was founded in 1421.", "1421", False),
        ("When was Lowmere College founded?", "In 1421 he founded Lowmere College.", "1421", False),
        ("When did Sobol leave Acme?", "Acme was begun in 1974 by Marsh and Sobol.", "1974", True),
        ("When did Sobol leave Acme?", "Sobol left Acme in 1983.", "1983", False),
        ("Who killed Brandt?", "Brandt killed Munk.", "Munk", True),
        ("Who killed Brandt?", "Munk killed Brandt.", "Munk", False),
        (
            "Which river does the Cam join?",
            "It crosses the Fens and joins the Great Ouse at Pope's Corner.",
            "Pope's",
            True,
        ),
        ("Who burned the mill?", "It was built by Munk in 1764 and burned the mill.", "Munk", True),
        ("How tall is Brandt?", "Brandt killed Munk.", "Munk", False),
    ],
)
def test_a_span_in_another_part_of_the_deed_is_no_answer(question: str, text: str, span: str, other: bool) -> None:
    asked, at = asked_deed(question), text.index(span)
    assert (asked is not None and plays_other_part(asked, note(text), at, at + len(span))) == other


@pytest.mark.parametrize(
    ("text", "name", "kind", "person"),
    [
        ("It was designed by the architect Ana Lund.", "Ana Lund", "place", True),
        ("Its chief executive since 2016 is Anneke de Vries.", "Anneke de Vries", "organization", True),
        ("They met Ana Lund, who had come from Oslo.", "Ana Lund", "organization", True),
        ("It was bought by Norsk Marine.", "Norsk Marine", "organization", False),
        ("She was director, Lowmere University.", "Lowmere University", "organization", False),
        ("The architect Lund drew it.", "Lund", "place", False),
    ],
)
def test_names_that_stand_where_a_person_does(text: str, name: str, kind: str, person: bool) -> None:
    at = text.index(name)
    mention = Mention(surface=name, type=kind, start=at, end=at + len(name), key=entity_key(name))
    assert reads_as_person(note(text), mention) == person


def test_every_form_of_a_verb_tells_the_same() -> None:
    assert deed_of("wrote") == deed_of("written") == deed_of("writes") == deed_of("writing")
    assert deed_of("co-founded") == deed_of("founded") != deed_of("found")
    assert all(re.fullmatch(r"[a-z]+", past) for past in verb_table().bases)


@given(st.text(alphabet="Ab ,.;()'wkilledbyhoms1-", max_size=200))
def test_parts_of_any_text_lie_within_it(text: str) -> None:
    for deed in deeds_in(text, "kill"):
        for start, end in (part for part in (deed.agent, deed.patient) if part):
            assert 0 <= start <= end <= len(text)
    asked_deed(text)
