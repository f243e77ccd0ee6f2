"""Text to notes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.ingestion.notes import LONGEST_HEADING, PASSAGE_FACTOR, split_notes
from theworld.settings import NoteSettings

LIMITS = NoteSettings(max_characters_en=120, max_characters_zh=60)
TEXTS = st.lists(
    st.sampled_from(
        [
            "# Head\n",
            "\n\n",
            "\r\n\r\n",
            "A sentence here. ",
            "word ",
            "一个句子。",
            "中文，",
            "x" * 150,
            "\n",
            "  ",
            "- item\n",
        ]
    )
    | st.text(max_size=20),
    max_size=40,
).map("".join)


@given(TEXTS, st.booleans())
def test_exact_ordered_and_complete(text: str, passage: bool) -> None:
    notes = split_notes(text, LIMITS, passage=passage)
    assert all(note.text == text[note.start : note.end] for note in notes)
    assert all(note.text and note.text == note.text.strip() for note in notes)
    assert all(left.end <= right.start for left, right in pairwise(notes))
    covered = {i for note in notes for i in range(note.start, note.end)}
    assert all(text[i].isspace() for i in range(len(text)) if i not in covered)


@given(TEXTS, st.booleans())
def test_no_note_beyond_the_limit(text: str, passage: bool) -> None:
    longest = PASSAGE_FACTOR * 120 if passage else 120 + LONGEST_HEADING
    assert all(len(note.text) <= longest for note in split_notes(text, LIMITS, passage=passage))


@given(TEXTS, st.integers(0, 30))
def test_start_is_respected(text: str, start: int) -> None:
    assert all(note.start >= min(start, len(text)) for note in split_notes(text, LIMITS, start=start))


SENTENCE = "This sentence has forty characters, yes. "  # 41 with its space
CASES = [
    ("two paragraphs stay two", f"{SENTENCE * 2}\n\n{SENTENCE * 2}", [81, 81]),
    ("small ones are joined", "One.\n\nTwo.\n\nThree.", [18]),
    ("a small last one joins", f"{SENTENCE * 2}\n\nEnd.", [88]),
    ("a heading goes with what follows", f"{SENTENCE * 2}\n\n# Head\n\n{SENTENCE * 2}", [81, 89]),
    ("a small section stays alone", f"{SENTENCE * 2}\n\n# Head\n\nEnd.", [81, 12]),
    ("long ones are cut at sentences, evenly", SENTENCE * 4, [81, 81]),
]


@pytest.mark.parametrize(("name", "text", "lengths"), CASES, ids=[case[0] for case in CASES])
def test_shapes(name: str, text: str, lengths: list[int]) -> None:
    assert [len(note.text) for note in split_notes(text, LIMITS)] == lengths


def test_passage_stays_whole_up_to_twice_the_limit() -> None:
    whole = (SENTENCE * 5).strip()
    assert len(split_notes(whole, LIMITS)) > 1
    assert [note.text for note in split_notes(whole, LIMITS, passage=True)] == [whole]
    assert len(split_notes(SENTENCE * 7, LIMITS, passage=True)) > 1
    assert len(split_notes(f"{SENTENCE * 2}\n\n{SENTENCE * 2}", LIMITS, passage=True)) == 2


def test_chinese_has_its_own_limit() -> None:
    text = "天一阁坐落在宁波市月湖西侧，是中国现存最早的私家藏书楼。" * 4
    notes = split_notes(text, LIMITS)
    assert {note.language for note in notes} == {"zh"}
    assert [len(note.text) for note in notes] == [56, 56]
    assert all(note.text.endswith("。") for note in notes)


def test_endless_sentence_is_cut_at_spaces() -> None:
    notes = split_notes("word " * 100, LIMITS)
    assert all(note.text.replace("word", "").strip() == "" for note in notes)
    assert all(len(note.text) <= 120 for note in notes)


def test_language_is_the_notes_own() -> None:
    notes = split_notes(f"{SENTENCE * 2}\n\n{'天一阁由范钦主持建造，位于宁波月湖西侧，是著名的藏书楼。' * 2}", LIMITS)
    assert [note.language for note in notes] == ["en", "zh"]


def test_default_limits_keep_typical_passages() -> None:
    sentence = "The waltz was first performed in the city in that year, as is well known. "
    assert len(split_notes(sentence * 16, NoteSettings())) == 1
    assert len(split_notes(sentence * 30, NoteSettings(), passage=True)) == 1
