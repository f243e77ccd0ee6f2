"""What docs/clients.md and the READMEs show runs, word for word but for the address."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from service_cases import settings_over
from service_process import listening
from theworld.cli.ingesting import ingest_paths
from theworld.service.app import create_app
from theworld.service.runtime import open_service

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "clients.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
HERE = re.compile(r"http://127\.0\.0\.1:8321|localhost:8321")
CURL = [
    command
    for language, block in BLOCKS
    if language == "sh"
    for command in block.replace("\\\n", " ").splitlines()
    if command.startswith("curl")
]


def block(language):
    (found,) = [text for kind, text in BLOCKS if kind == language]
    return found


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize(("number", "said"), [(0, "Fritz Lang"), (1, "范钦"), (2, '"index":1')])
def test_the_curl_examples(live, number, said):
    assert len(CURL) == 3
    command = shlex.split(HERE.sub(live, CURL[number]))
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert said in done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_example_of_the_readme(tmp_path):
    """Over the folder that the READMEs ingest before it; test_documents.py holds that both show the same."""
    request = re.search(r"(?m)^\$ (curl .*(?:\n +.*)*)\n(.*)$", (ROOT / "README.md").read_text("utf-8"))
    settings = settings_over(tmp_path / "my.store")
    ingest_paths([ROOT / "docs"], settings)
    with open_service(settings, bound_to="127.0.0.1") as service, listening(create_app(service)) as url:
        command = shlex.split(HERE.sub(url, request[1]).replace("\\\n", " "))
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert re.match(".*".join(map(re.escape, request[2].split("..."))), said)


def test_the_python_example(live):
    done = subprocess.run(
        [sys.executable, "-c", HERE.sub(live, block("python"))], capture_output=True, text=True, check=True, timeout=120
    )
    assert "Fritz Lang" in done.stdout


def test_the_configurations_can_be_read():
    (server,) = json.loads(block("json"))["mcpServers"].values()
    assert (server["command"], server["args"][:2]) == ("theworld", ["mcp", "--store"])
    (endpoint,) = yaml.safe_load(block("yaml"))["endpoints"]["custom"]
    assert endpoint["models"]["default"] == ["theworld"]
    assert endpoint["baseURL"] == "HOST/v1"
