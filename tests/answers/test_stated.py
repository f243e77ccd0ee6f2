"""Comparisons over small notes, from the table beside this file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from theworld.answers.comparisons import answer_comparison
from theworld.questions import read_question
from theworld.state import Candidate, Mention
from theworld.text import detect_language, entity_key

SETS = yaml.safe_load(Path(__file__).with_name("stated.yaml").read_text(encoding="utf-8"))
PEOPLE = ["Ridley Scott", "Steven Spielberg", "Sigourney Weaver", "Lord Byron", "张艺谋"]
PLACES = ["South Shields", "England"]


def notes_of(table: dict[str, str]) -> list[Candidate]:
    """Notes with the mentions a tagger would find."""
    notes = []
    for title, text in table.items():
        found = [
            Mention(surface=name, type=kind, start=match.start(), end=match.end(), key=entity_key(name))
            for names, kind in ((PEOPLE, "person"), (PLACES, "place"))
            for name in names
            for match in re.finditer(name, text)
        ]
        mentions = tuple(sorted(found, key=lambda mention: mention.start))
        notes.append(
            Candidate(
                note_id=f"{title}#0",
                document_id=title,
                title=title,
                text=text,
                end=len(text),
                language=detect_language(text),
                final_score=0.8,
                mentions=mentions,
            )
        )
    return notes


@pytest.mark.parametrize(
    ("notes", "question", "expected"),
    [(group["notes"], question, expected) for group in SETS for question, expected in group["questions"]],
)
def test_stated_answers(notes: dict[str, str], question: str, expected: str | None) -> None:
    evidence, asked = notes_of(notes), read_question(question)
    found = answer_comparison(asked, evidence)
    assert (found.text if found else None) == expected
    for support in found.support if found else ():
        assert evidence[support.note].text[support.start : support.end]


def test_an_empty_question_or_no_evidence_is_no_answer() -> None:
    nothing: list[Any] = []
    for question in ("", "Who?", "Which is older, A or B?"):
        assert answer_comparison(read_question(question), nothing) is None
