"""What docs/service.md shows runs, word for word but for the port."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from service_process import THEWORLD, served
from theworld.demo import corpus_dir

pytestmark = pytest.mark.slow
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "service.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", DOCUMENT.read_text("utf-8"), re.MULTILINE | re.DOTALL)
SHELL = [block for language, block in BLOCKS if language == "sh"]
PYTHON = [block for language, block in BLOCKS if language == "python"]
PORT = re.compile(r"(localhost|127\.0\.0\.1):8321")
COMMANDS = [
    shlex.split(command, comments=True)
    for block in SHELL
    for command in block.replace("\\\n", " ").splitlines()
    if command.strip()
]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """The newcomer's folder with the demo's documents, ingested and served by the commands of the document."""
    folder = tmp_path_factory.mktemp("newcomer")
    shutil.copytree(corpus_dir(), folder / "documents")
    ingest, serve = (
        command[1:] for command in COMMANDS if command[0] == "theworld" and command[1] in {"ingest", "serve"}
    )
    subprocess.run([*THEWORLD, *ingest], cwd=folder, check=True, timeout=600)
    assert serve[:2] == ["serve", "--store"]
    with served(*serve[2:], folder=folder) as (_, client, _):
        yield client.base_url.netloc.decode("ascii")


def test_the_document_shows_how_to_install_ingest_and_serve():
    assert [command[:2] for command in COMMANDS[:3]] == [
        ["pip", "install"],
        ["theworld", "ingest"],
        ["theworld", "serve"],
    ]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize(
    ("number", "expected"), [(0, "Vienna"), (1, "范钦"), (2, "青蒿素")], ids=["ask", "stream", "search"]
)
def test_the_curl_examples(running, number, expected):
    curl = [command for command in COMMANDS if command[0] == "curl"]
    assert len(curl) == 3
    command = [PORT.sub(running, part) for part in curl[number]]
    reply = subprocess.run(command, capture_output=True, check=True, timeout=300).stdout.decode("utf-8")
    assert expected in reply
    if number != 1:
        assert json.loads(reply)["code"] == 0
    else:
        assert reply.startswith("event: stage\n")
        assert "\nevent: final\n" in reply


def test_the_python_example(running, tmp_path):
    (example,) = PYTHON
    script = tmp_path / "example.py"
    script.write_text(PORT.sub(running, example), encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, check=False, timeout=300)
    told = done.stdout.decode("utf-8")
    assert done.returncode == 0, done.stderr.decode("utf-8")
    assert "Hucknall" in told.partition("Route:")[0]
    assert "Route:" in told
