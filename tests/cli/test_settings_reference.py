"""docs/settings.md is what the settings are."""

from pathlib import Path

from theworld.cli.settings_reference import reference

DOCUMENT = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_document_is_up_to_date():
    assert DOCUMENT.read_text("utf-8") == reference(), "the settings have changed: run `make docs`"
