"""The package as it is installed: every folder a package, every dependency described, a light import."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import theworld

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "theworld"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HEAVY = [
    "langgraph", "langchain_core", "numpy", "scipy", "openai", "neo4j", "opensearchpy", "qdrant_client", "onnxruntime",
    "spacy", "sqlalchemy", "tantivy", "typer", "rich", "pydantic",
]  # fmt: skip


def package_folders() -> dict[str, Path]:
    """Return every package below theworld and its folder, the symlinked ones resolved."""
    roots = {"theworld": PACKAGE} | {
        f"theworld.{child.name}": child.resolve() for child in PACKAGE.iterdir() if child.is_dir()
    }
    found = {"theworld": PACKAGE}
    for name, folder in roots.items():
        if name != "theworld":
            for init in folder.rglob("__init__.py"):
                found[".".join([name, *init.parent.relative_to(folder).parts])] = init.parent
    return found


def run(code: str, *, cwd: Path) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "THEWORLD"))}
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_folder_with_modules_is_a_package() -> None:
    for name, folder in package_folders().items():
        loose = {file.parent for file in folder.rglob("*.py") if not (file.parent / "__init__.py").exists()}
        assert not loose, name


def test_the_version_is_said_once() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    assert theworld.__version__ == importlib.metadata.version("theworld")


def test_every_dependency_is_told_of() -> None:
    told = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    extras = PROJECT["project"]["optional-dependencies"]
    shown = [name for name in re.findall(r"^\| (\w+) \|", told, re.MULTILINE) if name in extras]
    needed = [*PROJECT["project"]["dependencies"], *(one for name in shown for one in extras[name])]
    names = {re.split(r"[^\w-]", one)[0] for one in needed} - {"theworld"}
    grammars = {name for name in names if name.startswith("tree-sitter-")}
    assert [name for name in sorted(names - grammars) if not re.search(rf"[| ]{name}[ ,]", told)] == []
    assert [name for name in sorted(grammars) if f"-{name.removeprefix('tree-sitter-')}" not in told] == []
    assert len(shown) >= 10


def test_import_is_light(tmp_path: Path) -> None:
    code = (
        "import sys, time; start = time.process_time(); import theworld; took = time.process_time() - start\n"
        f"print(took, *sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    runs = [run(code, cwd=tmp_path).split() for _ in range(3)]
    assert all(len(each) == 1 for each in runs), f"heavy modules were imported: {runs[0][1:]}"
    assert min(float(each[0]) for each in runs) < 0.3


def test_every_public_name_can_be_imported() -> None:
    for name in theworld.__all__:
        assert getattr(theworld, name) is not None
    assert set(dir(theworld)) >= set(theworld.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = theworld.no_such_name


SAMPLE = """
from theworld import Context, Message, Settings, build_graph, nonsense, open_resources
from theworld.integrations.langchain import TheWorldRetriever

Context(top_k="many")
with open_resources(Settings(store="my.store")) as resources:
    graph = build_graph(resources)
    graph.invoke({"question": "Who?", "history": [Message("user", "x"), {"role": "user", "content": "x"}]})
    graph.invoke({"question": "Who?"}, context={"tenant": "acme"})
TheWorldRetriever(store="my.store", k=5)
"""


@pytest.mark.slow
def test_type_checkers_know_the_public_names(tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(SAMPLE, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", f"--config-file={os.devnull}", "sample.py"]
    env = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert re.findall(r"sample.py:(\d+): error", done.stdout) == ["2", "5", "9"], done.stdout
