"""Mentions that are no name by themselves: definite descriptions, pronouns, titles, names with a head noun."""

from __future__ import annotations

import pytest

from theworld.entities.mention import MentionInText, holds_office, lacks_head, refers

SPAIN = {"id": "Q29", "label": "Spain", "description": "sovereign state in southwestern Europe"}
MADRID_CF = {"id": "Q8682", "label": "Real Madrid CF", "description": "association football club"}
US = {"id": "Q30", "label": "United States of America", "description": "sovereign state in North America"}
US_GOVERNMENT = {"id": "Q48525", "label": "Federal Government of the United States", "description": "government"}


@pytest.mark.parametrize(
    ("mention", "text", "candidate", "expected"),
    [
        ("the country", "They left the country.", SPAIN, 1.0),
        ("the country", "They left the country.", MADRID_CF, 0.0),
        ("its", "The United States held its first census.", US, 1.0),
        ("its", "Spain held its first census.", US, 0.0),
        ("its", "its United States", US, 0.0),
        ("Spain", "Spain won.", SPAIN, 0.0),
    ],
)
def test_what_a_description_or_pronoun_refers_to(
    mention: str, text: str, candidate: dict[str, str], expected: float
) -> None:
    assert refers(MentionInText.find(mention, text), candidate) == expected


def test_the_head_noun_of_a_name_must_be_somewhere_in_the_entry() -> None:
    mention = MentionInText.find("U.S. government", "The U.S. government paid.")
    assert (lacks_head(mention, US), lacks_head(mention, US_GOVERNMENT)) == (1.0, 0.0)
    assert lacks_head(MentionInText.find("Spain", "Spain"), US) == 0.0


def test_a_title_before_a_name_is_a_certain_office() -> None:
    titled = MentionInText.find("President", "President John Adams wrote.")
    plain = MentionInText.find("president", "The president of the club left.")
    assert holds_office(titled, "President of the United States") == 1.0
    assert holds_office(titled, "president") == 0.0
    assert holds_office(plain, "President of the United States") == 0.0
