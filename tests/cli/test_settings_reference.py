"""docs/settings.md is what the settings are."""

import re
import runpy
from pathlib import Path

from theworld.settings import Settings
from theworld.settings.sources import leaves

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "settings.md"
WRITER = runpy.run_path(str(ROOT / "benchmarks" / "settings_reference.py"))
reference, is_advanced = WRITER["reference"], WRITER["is_advanced"]


def test_the_document_is_up_to_date():
    assert DOCUMENT.read_text("utf-8") == reference(), "the settings have changed: run `make docs`"


def test_those_to_begin_with_exist():
    first, _, everything = reference().partition("## What they are")
    named = re.findall(r"`(THEWORLD_\w+)`", first)
    assert len(named) > 10
    assert [name for name in named if f"| `{name}` |" not in everything] == []


def test_every_setting_stands_in_one_part():
    common, advanced = reference().split("## What they are")[1].split("## Advanced")
    for name, _ in leaves(Settings):
        assert (f"| `{name}` |" in common, f"| `{name}` |" in advanced) == (not is_advanced(name), is_advanced(name))
    assert 40 < common.count("\n| `") < 60
