"""Texts that users read use the field's terms: none of the words this project once had for itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRIVATE = re.compile(
    r"\b(told|tells?|patience|rehears\w*|mend(s|ed|ing)?|left behind|opinions|conduct|deeds?)\b", re.IGNORECASE
)
FILES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/*.md"),
    *ROOT.glob("prompts/*.md"),
    *ROOT.glob("src/theworld/service/page/data/**/*.yaml"),
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_private_words(file: Path) -> None:
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
    found = [f"{number}: {line.strip()[:100]}" for number, line in lines if PRIVATE.search(line)]
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
