"""Questions for an attribute that no note states, from the table beside this file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from theworld.nodes.answer_with_extract.node import extractive_result
from theworld.nodes.answer_with_extract.unstated import leaves_unstated
from theworld.settings import AnswerSettings
from theworld.state import Candidate, Mention, QueryState
from theworld.text import entity_key

SETS = yaml.safe_load(Path(__file__).with_name("unstated.yaml").read_text(encoding="utf-8"))
NAMES = ("宁波", "绍兴", "朱安", "范钦")


def notes_of(table: dict[str, str]) -> list[Candidate]:
    """Notes with the names a tagger would find."""
    return [
        Candidate(
            note_id=title,
            document_id=title,
            title=title,
            text=text,
            end=len(text),
            language="zh",
            final_score=0.9,
            mentions=tuple(
                Mention(surface=name, type="other", start=at, end=at + len(name), key=entity_key(name))
                for name in NAMES
                if (at := text.find(name)) >= 0
            ),
        )
        for title, text in table.items()
    ]


@pytest.mark.parametrize(
    ("notes", "question", "expected"),
    [(group["notes"], question, expected) for group in SETS for question, expected in group["questions"]],
)
def test_the_table(notes: dict[str, str], question: str, expected: bool) -> None:
    assert leaves_unstated(question, notes_of(notes)) == expected


@pytest.mark.parametrize(("question", "shown"), [("天一閣的門票多少錢？", False), ("靈隱寺的門票多少錢？", True)])
def test_what_no_note_states_is_not_quoted(question: str, shown: bool) -> None:
    state = QueryState.model_validate(
        {"question": question, "query": question, "language": "zh", "evidence": notes_of(SETS[0]["notes"])}
    )
    assert (extractive_result(state, AnswerSettings()) is not None) == shown
