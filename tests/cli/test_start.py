"""Starting the program: fast, light, and installed under its name."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from theworld.cli.app import app

HEAVY = ["langgraph", "langchain_core", "numpy", "scipy", "sqlalchemy", "tantivy", "spacy", "onnxruntime", "pydantic"]


def _commands(command: Any) -> Iterator[list[str]]:
    for name, below in getattr(command, "commands", {}).items():
        yield [name]
        yield from ([name, *rest] for rest in _commands(below))


def test_help_names_every_command(cli) -> None:
    done = cli("--help")
    assert done.code == 0
    for command in ("ingest", "ask", "resolve", "info", "eval", "demo", "delete"):
        assert command in done.out
    for command in ("ingest", "ask", "resolve", "info", "demo", "delete"):
        assert cli(command, "--help").code == 0
    assert "retrieval" in cli("eval", "--help").out


def test_help_is_fast_and_imports_nothing_heavy() -> None:
    """Processor time of the whole process, so that a busy machine does not count."""
    code = (
        "import sys, time; from theworld.cli.app import run; run(['--help'])\n"
        f"print(time.process_time(), *sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    times = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        seconds, *heavy = done.stdout.splitlines()[-1].split()
        assert not heavy
        times.append(float(seconds))
    assert min(times) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("command", list(_commands(typer.main.get_command(app))), ids=" ".join)
def test_help_is_no_mark_up(cli, command: list[str]) -> None:
    """What stands in square brackets is taken for mark-up and not shown."""
    assert cli(*command, "--help").code == 0
    found = typer.main.get_command(app)
    for name in command:
        found = found.commands[name]
    assert [text for text in (found.help, *(getattr(p, "help", "") for p in found.params)) if "[" in (text or "")] == []


def test_defaults_that_are_settings_are_told(cli) -> None:
    said = " ".join(cli("serve", "--help").out.split())
    assert "[default: (the setting store)]" in said
    assert "[default: (the setting service.port)]" in said


def test_version(cli) -> None:
    assert cli("--version").out.strip() == f"theworld {importlib.metadata.version('theworld')}"


@pytest.mark.parametrize(("word", "near"), [("version", "--version"), ("hlep", "--help"), ("lst", "'list'")])
def test_an_unknown_command_names_what_was_meant(cli, word: str, near: str) -> None:
    done = cli(word)
    assert done.code == 2
    assert f"No such command '{word}'. Did you mean {near}?" in done.err


def test_the_program_is_installed_under_its_name() -> None:
    [entry] = importlib.metadata.entry_points(group="console_scripts", name="theworld")
    assert entry.value == "theworld.cli:main"
    assert callable(entry.load())


@pytest.mark.slow
def test_chinese_goes_in_and_out_in_any_locale() -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-c", "from theworld.cli import main; main()", "resolve", "你刚才说了什么？"]
    done = subprocess.run(command, capture_output=True, env=plain, check=False)
    assert done.returncode == 0, done.stderr
    assert "你刚才说了什么？" in done.stdout.decode("utf-8")


def test_the_package_can_be_run_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "theworld", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"theworld {importlib.metadata.version('theworld')}"
