"""The part of a note that is shown."""

from __future__ import annotations

import pytest

from theworld.answers.excerpts import QuestionCoverage, best_excerpt
from theworld.questions.words import QuestionWords
from theworld.stores.records import StoredNote

LINE = f"+{'-' * 60}+"
ROWS = [f"| {'job ' + str(n):<58} |" for n in range(9)]
LONG = "| x | " + "First of all words. " * 5 + "The end. |"
CASES = [
    (
        "the border behind a row's last sentence goes with it",
        f"| a | b |\n|---|---|\n{LONG}\n| y | The port is 80. |\n| z | " + "Other words. " * 9 + "|",
        "port",
        "| y | The port is 80. |",
        70,
    ),
    (
        "a piece of code is told by its lead",
        "- a: 1. Go\n  port: 2. Come\n  c: 3\n" * 9,
        "port",
        "  port: 2. Come\n  c: 3",
        50,
    ),
    (
        "the lines of a console table say nothing",
        "\n".join([LINE, *(f"{row}\n{LINE}" for row in ROWS)]),
        "what",
        ROWS[0],
        99,
    ),
]


@pytest.mark.parametrize(("name", "text", "word", "shown", "room"), CASES, ids=[case[0] for case in CASES])
def test_no_part_without_a_word(name: str, text: str, word: str, shown: str, room: int) -> None:
    note = StoredNote(
        "a#0", "a", "default", "A", "a.md", 0, text, 0, len(text), "en", {}, lead="" if "---|" in text else "```"
    )
    start, end, _, _ = best_excerpt(note, QuestionCoverage(QuestionWords([word], [text])), room, note.lead)
    assert text[start:end].startswith(shown)
