"""docs/settings.md is what the settings are."""

import re
from pathlib import Path

from theworld.cli.settings_reference import reference

DOCUMENT = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_document_is_up_to_date():
    assert DOCUMENT.read_text("utf-8") == reference(), "the settings have changed: run `make docs`"


def test_those_to_begin_with_exist():
    first, _, everything = reference().partition("## All of them")
    named = re.findall(r"`(THEWORLD_\w+)`", first)
    assert len(named) > 10
    assert [name for name in named if f"| `{name}` |" not in everything] == []
