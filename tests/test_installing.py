"""The package installed from its archives, on other versions of Python, and by the steps of the Dockerfile."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "src", "graph", "nodes", "prompts", "state")
NETWORK = re.compile(r"Temporary failure|Could not find a version|Max retries|Read timed out|Network is unreachable")

pytestmark = pytest.mark.slow


def interpreter(version: str) -> str:
    """Return a Python of this version that is on the PATH or known to pyenv; skip where there is none."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    known = sorted(root.glob(f"versions/{version}.*/bin/python"))
    found = str(known[-1]) if known else shutil.which(f"python{version}")
    if found is None:
        pytest.skip(f"no Python {version} on the PATH or known to pyenv")
    return found


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Return what a command prints; skip where it could not download, fail with what it says otherwise."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "THEWORLD", "VIRTUAL"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=kept | environment, capture_output=True, text=True, check=False
    )
    if done.returncode and NETWORK.search(done.stderr):
        pytest.skip(f"packages cannot be downloaded: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the package is built from."""
    folder = tmp_path_factory.mktemp("source")
    junk = shutil.ignore_patterns("__pycache__", "*.egg-info", ".*")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=junk)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def archives(source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source archive, and the wheel built from what it holds."""
    folder = tmp_path_factory.mktemp("archives")
    build = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"
    run(sys.executable, "-c", build, "build_sdist", folder, cwd=source)
    [sdist] = folder.glob("theworld-*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    run(sys.executable, "-c", build, "build_wheel", folder, cwd=folder / sdist.name.removesuffix(".tar.gz"))
    [wheel] = folder.glob("theworld-*.whl")
    return sdist, wheel


def test_both_archives_hold_the_package_all_of_it_and_no_tests(
    source: Path, archives: tuple[Path, Path], tmp_path: Path
) -> None:
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    run(sys.executable, "-c", build, tmp_path, cwd=source)
    [direct] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(direct) as one, zipfile.ZipFile(archives[1]) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())
        assert {name.split("/")[0].partition("-")[0] for name in one.namelist()} == {"theworld"}
        inside = {name for name in one.namelist() if name.startswith("theworld/")}
        one.extractall(tmp_path / "unpacked")
    walked = os.walk(source / "src" / "theworld", followlinks=True)
    assert inside == {str(Path(top, name).relative_to(source / "src")) for top, _, names in walked for name in names}
    code = "import theworld\nfor name in theworld.__all__: print(theworld.__file__, getattr(theworld, name))"
    assert "unpacked" in run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=str(tmp_path / "unpacked"))
    with tarfile.open(archives[0]) as archive:
        folders = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert not folders & {"tests", "benchmarks", "docs"}


@pytest.mark.parametrize("version", ["3.13"])
def test_the_wheel_answers_on_another_python(archives: tuple[Path, Path], tmp_path: Path, version: str) -> None:
    run(interpreter(version), "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    program = tmp_path / "venv" / "bin"
    run(program / "pip", "install", "--quiet", "--disable-pip-version-check", archives[1], cwd=tmp_path)
    answer_from_documents(program / "theworld", tmp_path)


def answer_from_documents(theworld: Path, folder: Path, **environment: str) -> None:
    """Put a document in, and ask about it in both languages."""
    documents = folder / "documents"
    documents.mkdir()
    (documents / "leave.md").write_text("# Leave\n\n## Parents\n\nParents take twelve weeks of leave.\n", "utf-8")
    (documents / "假期.md").write_text("# 假期\n\n## 父母\n\n父母可以休十二周的假。\n", "utf-8")
    store = folder / "store"
    run(theworld, "ingest", documents, "--store", store, cwd=folder, **environment)
    for question, said in (("How long is leave for parents?", "twelve weeks"), ("父母可以休多久的假？", "十二周")):
        answer = json.loads(run(theworld, "ask", question, "--store", store, "--json", cwd=folder, **environment))
        assert said in answer["answer"]


@pytest.fixture
def built_by_dockerfile(source: Path, tmp_path: Path) -> tuple[Path, dict[str, str], dict[str, str]]:
    """The root folder, environment and last instructions of the image, its steps run in a folder instead."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    version = re.findall(r"FROM python:(\d+\.\d+)-slim", text)[0]
    root, environment = tmp_path / "root", {"PATH": os.environ["PATH"]}
    (root / "src").mkdir(parents=True)
    (root / "data").mkdir()
    last: dict[str, str] = {}

    def within(words: str) -> str:
        return re.sub(r"(?<![\w.])/(opt|src|data)\b", rf"{root}/\1", words)

    for name, words in steps:
        if name == "COPY" and not words.startswith("--from"):
            *given, target = words.split()
            for one in given:
                place = root / "src" / target / ("" if target != "./" else one)
                shutil.copytree(source / one, place, symlinks=True) if (source / one).is_dir() else shutil.copy(
                    source / one, place
                )
        elif name == "RUN" and not words.startswith("useradd"):  # users are made in an image, not here
            command = within(words).replace("python -m", f"{interpreter(version)} -m")
            run("sh", "-ec", command, cwd=root / "src", **environment)
        elif name == "ENV":
            key, _, value = words.partition("=")
            environment[key] = within(value).replace("$PATH", environment["PATH"])
        else:
            last[name] = within(words)
    return root, environment, last


def test_the_image_serves_as_another_user_and_says_when_it_is_healthy(
    built_by_dockerfile: tuple[Path, dict[str, str], dict[str, str]],
) -> None:
    root, environment, last = built_by_dockerfile
    assert last["USER"] == "theworld"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment |= {"THEWORLD_SERVICE__PORT": port}
    check = last["HEALTHCHECK"].partition("CMD ")[2].replace(last["EXPOSE"], port)
    command = [*json.loads(last["ENTRYPOINT"]), *json.loads(last["CMD"])]
    program = shutil.which(command[0], path=environment["PATH"])
    assert program == str(root / "opt" / "theworld" / "bin" / "theworld")
    with subprocess.Popen(command, cwd=root / "data", env=environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            until = time.monotonic() + 120
            while subprocess.run(["sh", "-c", check], env=environment, check=False, capture_output=True).returncode:
                assert server.poll() is None, server.stderr and server.stderr.read()
                assert time.monotonic() < until, "it never became healthy"
                time.sleep(0.5)
            assert (root / "data" / "store" / "ledger.sqlite").exists()
        finally:
            server.terminate()
        assert server.wait(60) in {0, -signal.SIGTERM}
    answer_from_documents(Path(program), root, **environment)
