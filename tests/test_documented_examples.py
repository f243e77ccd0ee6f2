"""The Python of the READMEs and documents is typed and runs as it stands; what needs a server runs in its folder."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = {
    f"{page.stem}_{number}": code
    for page in (ROOT / "README.md", ROOT / "README.zh.md", *sorted((ROOT / "docs").glob("*.md")))
    for number, code in enumerate(BLOCK.findall(page.read_text("utf-8")))
}
HERE = [name for name in EXAMPLES if name.startswith(("README", "index", "ingestion", "integrations"))]
ELSEWHERE = ["clients_0", "service_0", "wikidata_0", "wikidata_1", *(f"library_{number}" for number in range(4))]
NEEDED = {"llamaindex": "llama_index.core", "haystack": "haystack"}


def test_every_example_is_run_by_a_test() -> None:
    assert sorted(EXAMPLES) == sorted(HERE + ELSEWHERE)


@pytest.mark.slow
def test_all_are_typed(tmp_path: Path) -> None:
    for name, code in EXAMPLES.items():
        (tmp_path / f"{name.replace('.', '_')}.py").write_text(code, "utf-8")
    files = sorted(str(file) for file in tmp_path.glob("*.py"))
    done = subprocess.run([sys.executable, "-m", "mypy", *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", HERE)
def test_it_runs(name: str, demo_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library, module in NEEDED.items():
        if f"integrations.{library}" in EXAMPLES[name]:
            pytest.importorskip(module, reason=f"the extra `{library}` is not installed")
    shutil.copytree(demo_store, tmp_path / "my.store")
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "leave.md").write_text("# Leave\n\nParents take twelve weeks.\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "example.py").write_text(EXAMPLES[name], "utf-8")
    runpy.run_path(str(tmp_path / "example.py"))
