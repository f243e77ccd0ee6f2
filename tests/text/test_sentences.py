"""Where an English sentence ends behind a single capital letter."""

from __future__ import annotations

import pytest

from theworld.text import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It melts at 412 °C. It is soft.", ["It melts at 412 °C.", "It is soft."]),
        ("Water boils at 212 ° F. Steam rises.", ["Water boils at 212 ° F.", "Steam rises."]),
        ("He met J. K. Lind. She left.", ["He met J. K. Lind.", "She left."]),
        ("A room of George C. Scott.", ["A room of George C. Scott."]),
    ],
)
def test_a_unit_of_temperature_ends_a_sentence_and_an_initial_does_not(text: str, sentences: list[str]) -> None:
    assert [one.text for one in split_sentences(text)] == sentences
