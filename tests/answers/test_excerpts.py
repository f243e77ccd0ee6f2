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


STEPS = "1. Open the lid.\n2. Pull the filter out.\n3. Rinse it and put it back.\n4. Close the lid again."
TABLE = "| part | price |\n|---|---|\n| lid | 3 euros |\n| filter | 9 euros |\n| pump | 20 euros |"
ANNOUNCED = [
    (
        "a list that does not fit with its announcement is shown in part",
        f"Nothing else matters here.\n\nTo clean the kettle takes these steps:\n\n{STEPS}",
        "clean",
        f"To clean the kettle takes these steps:\n\n{STEPS[:40]}",
        100,
    ),
    (
        "a table that does not is shown whole, without it",
        f"The prices of all parts of the kettle are these:\n\n{TABLE}\n\nAsk first.",
        "filter",
        TABLE,
        len(TABLE) + 5,
    ),
    (
        "an item with a colon before the next one announces nothing that is left out",
        STEPS.replace("out.", "out:"),
        "lid",
        STEPS[:39] + ":",
        45,
    ),
    (
        "one with items of its own is not shown without them",
        f"- Open the lid.\n- Take the filter out:\n  - {'with care ' * 12}",
        "lid",
        "- Open the lid.",
        50,
    ),
]


@pytest.mark.parametrize(("name", "text", "word", "shown", "room"), ANNOUNCED, ids=[case[0] for case in ANNOUNCED])
def test_what_announces_and_what_is_announced(name: str, text: str, word: str, shown: str, room: int) -> None:
    note = StoredNote("a#0", "a", "default", "A", "a.md", 0, text, 0, len(text), "en", {})
    start, end, lead, _ = best_excerpt(note, QuestionCoverage(QuestionWords([word], [text])), room, "")
    assert (lead, text[start:end]) == ("", shown)


CAFE = "The cafe is open unless one of these holds:\n\n* {}the owner sleeps\n* it is the second Sunday\n"
INTRODUCED = [
    (CAFE.format("today " * 30), "Sunday", "The cafe is open unless one of these holds:"),
    ("1. Go in:\n   - {}sit\n   - call the Sunday waiter\n".format("slowly " * 26), "waiter", "1. Go in:"),
    (f"{'It has many rooms. ' * 25}Closed are:\n\n* {'both ' * 36}\n* the Sunday hall\n", "Sunday", "Closed are:"),
    (CAFE.replace("holds:", "holds.").format("today " * 30), "Sunday", ""),
]


@pytest.mark.parametrize(("text", "word", "lead"), INTRODUCED)
def test_an_item_stands_under_what_announces_it(text: str, word: str, lead: str) -> None:
    note = StoredNote("a#0", "a", "default", "A", "a.md", 0, text, 0, len(text), "en", {})
    found = best_excerpt(note, QuestionCoverage(QuestionWords([word.lower()], [text])), 190, "")
    assert word in text[found.start : found.end]
    assert found.lead == lead


@pytest.mark.parametrize(
    ("text", "word", "room", "shown"),
    [
        (f"Prices.\n\n{TABLE}", "pump", 70, "| pump | 20 euros |"),
        (
            "Is it open?\n\nOn Mondays.\n\nAre dogs allowed?\n\nOn a lead.",
            "lead",
            32,
            "Are dogs allowed?\n\nOn a lead.",
        ),
        ("Is it open?\n\nOn Mondays.\n\nAre dogs allowed?\n\nOn a lead.", "lead", 26, "On a lead."),
        ("Is it open?\n\nOn Mondays.\n\nDogs out.", "monday", 25, "Is it open?\n\nOn Mondays."),
        ("Is it open?\n\nOn Mondays.\n\nDogs stay out.", "dog", 30, "Dogs stay out."),
    ],
    ids=[
        "no rule without header",
        "its question",
        "which does not fit",
        "it before more",
        "no orphan",
    ],
)
def test_where_a_part_begins(text: str, word: str, room: int, shown: str) -> None:
    note = StoredNote("a#0", "a", "default", "A", "a.md", 0, text, 0, len(text), "en", {})
    start, end, _, _ = best_excerpt(note, QuestionCoverage(QuestionWords([word], [text])), room, "")
    assert text[start:end] == shown
