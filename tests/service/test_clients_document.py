"""What docs/clients.md shows runs, word for word but for the address."""

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

pytestmark = pytest.mark.slow
DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "clients.md").read_text("utf-8")
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
