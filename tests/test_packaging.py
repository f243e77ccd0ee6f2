"""The package as it is installed: nothing forgotten in the wheel, which works elsewhere; a light import."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
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


def data_files() -> list[tuple[str, str]]:
    """Return (package, path below its folder) of every file that is no module."""
    folders = package_folders()
    owners = {folder: name for name, folder in folders.items()}
    files = []
    for name, folder in folders.items():
        for file in folder.rglob("*") if name != "theworld" else folder.glob("*"):
            if not file.is_file() or file.suffix in {".py", ".pyc"}:
                continue
            owner = next(parent for parent in file.parents if parent in owners)
            if owner == folder:
                files.append((name, file.relative_to(folder).as_posix()))
    return files


def run(code: str, *, cwd: Path, path: Path | None = None) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "THEWORLD"))}
    if path is not None:
        env["PYTHONPATH"] = str(path)
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


@pytest.mark.slow
def test_a_wheel_holds_everything_and_works_from_an_empty_folder(tmp_path: Path) -> None:
    source, wheels, unpacked, empty = (tmp_path / name for name in ("source", "wheels", "unpacked", "empty"))
    source.mkdir()
    empty.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    junk = shutil.ignore_patterns("__pycache__", "*.egg-info", ".*")
    for name in ("src", "graph", "nodes", "prompts", "state"):
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=junk)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    built = subprocess.run(
        [*command, "--wheel-dir", str(wheels), str(source)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    [wheel] = wheels.glob("theworld-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if name.startswith("theworld/")}
        archive.extractall(unpacked)
    assert inside == expected_in_wheel()
    code = (
        "import theworld, sys\nfor name in theworld.__all__: getattr(theworld, name)\n"
        "import theworld.graph, theworld.nodes, theworld.state, theworld.prompts, theworld.cli\n"
        "print(*{m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'theworld'}, sep='\\n')"
    )
    files = run(code, cwd=empty, path=unpacked).splitlines()
    assert files
    assert all(file.startswith(str(unpacked)) for file in files)


def expected_in_wheel() -> set[str]:
    names = {f"{package.replace('.', '/')}/{file}" for package, file in data_files()}
    for package, folder in package_folders().items():
        names |= {f"{package.replace('.', '/')}/{file.name}" for file in folder.glob("*.py")}
    return names
