"""Texts that users read: the field's terms, not those this project once had; one spelling; Chinese punctuation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRIVATE = re.compile(
    r"\b(told|tells?|patience|rehears\w*|mend(s|ed|ing)?|left behind|opinions|conduct|deeds?)\b", re.IGNORECASE
)
AMERICAN = re.compile(
    r"\b(behavior|color|favor|neighbor|((normal|optim|summar|initial|general)i|anal)y?z)\w*|\b(label|cancel)ed\b"
)
HALF_WIDTH = re.compile("[\u4e00-\u9fff][,;:!?()][\u4e00-\u9fff]")
FILES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/*.md"),
    *ROOT.glob("prompts/*.md"),
    *ROOT.glob("src/theworld/service/page/data/**/*.yaml"),
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_words_and_punctuation(file: Path) -> None:
    lines = re.sub("`[^`\n]*`", "", file.read_text(encoding="utf-8")).splitlines()
    found = [line for line in lines for one in (PRIVATE, AMERICAN, HALF_WIDTH) if one.search(line)]
    assert not found, "\n".join(found)


def test_help_has_none_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    from typer.main import get_command

    from theworld.cli.app import app

    def helps(command: object, prefix: str) -> list[str]:
        texts = [f"{prefix}: {getattr(command, 'help', '') or ''}"]
        texts += [f"{prefix} {p.name}: {getattr(p, 'help', '') or ''}" for p in getattr(command, "params", [])]
        for name, inner in getattr(command, "commands", {}).items():
            texts += helps(inner, f"{prefix} {name}")
        return texts

    found = [text for text in helps(get_command(app), "theworld") if PRIVATE.search(text)]
    assert not found, "\n".join(found)
