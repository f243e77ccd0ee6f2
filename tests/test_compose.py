"""The servers of compose.yaml, as far as it can be checked without Docker: settings, versions, health checks."""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from theworld.settings import Settings

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "compose.yaml").read_text(encoding="utf-8")
SERVICES: dict[str, Any] = yaml.safe_load(TEXT)["services"]
SECTIONS = {"opensearch": "sparse", "qdrant": "dense", "neo4j": "graph", "postgres": "ledger"}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in re.findall(r"THEWORLD_\w+", TEXT):
        monkeypatch.delenv(name, raising=False)


def test_the_environment_it_shows_is_read_and_names_its_ports(tmp_path: Path) -> None:
    lines = re.findall(r"(?m)^#   (\w+=\S+)$", TEXT)
    assert {line.split("=")[0] for line in lines} >= set(re.findall(r"\$\{(THEWORLD_\w+)", TEXT))
    (tmp_path / ".env").write_text("\n".join(lines), encoding="utf-8")
    settings = Settings.load()
    for name, service in SERVICES.items():
        address = urlsplit(getattr(settings, SECTIONS[name]).url)
        published = [port.split(":") for port in service["ports"]]
        assert {host for host, _, _ in published} == {"127.0.0.1"}
        assert str(address.port) in {port for _, port, _ in published}
    assert settings.dense.api_key is not None
    assert (settings.graph.username, settings.ledger.username) == ("neo4j", "theworld")


def test_images_are_pinned_to_the_versions_that_tests_run() -> None:
    tags = {name: service["image"].rpartition(":")[2] for name, service in SERVICES.items()}
    for name in ("opensearch", "neo4j"):
        pom = ElementTree.parse(ROOT / "tests" / "services" / name / "pom.xml")
        assert tags[name].removesuffix("-community") == pom.findtext("{*}version")
    assert all(re.fullmatch(r"v?\d+\.\d+(\.\d+)?(-community)?", tag) for tag in tags.values()), tags


def test_every_server_is_watched_and_keeps_its_data() -> None:
    volumes = yaml.safe_load(TEXT)["volumes"]
    for name, service in SERVICES.items():
        assert service["healthcheck"]["test"][0] == "CMD-SHELL", name
        # As Compose hands it to the container's shell: a doubled dollar is one.
        command = service["healthcheck"]["test"][1].replace("$$", "$")
        subprocess.run(["sh", "-n", "-c", command], check=True)
        assert {volume.split(":")[0] for volume in service["volumes"]} <= set(volumes), name
