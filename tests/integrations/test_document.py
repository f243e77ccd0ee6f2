"""The examples of docs/integrations.md run as they stand, over a real store."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

import pytest

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "integrations.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
NEEDED = {"llamaindex": "llama_index.core", "haystack": "haystack"}


def test_every_library_has_an_example() -> None:
    assert len(EXAMPLES) == 4


@pytest.mark.slow
@pytest.mark.parametrize("code", EXAMPLES)
def test_it_runs(code: str, demo_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library, module in NEEDED.items():
        if f"integrations.{library}" in code:
            pytest.importorskip(module, reason=f"the extra `{library}` is not installed")
    shutil.copytree(demo_store, tmp_path / "my.store")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example.py").write_text(code, "utf-8")
    runpy.run_path(str(tmp_path / "example.py"))
