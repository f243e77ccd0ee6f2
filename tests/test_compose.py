"""The servers of compose.yaml, as far as it can be checked without Docker: settings, versions, health checks."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from theworld.doctor.projections import OLDEST_SERVER, OLDEST_SERVERS, is_older
from theworld.settings import Settings

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "compose.yaml").read_text(encoding="utf-8")
SERVICES: dict[str, Any] = yaml.safe_load(TEXT)["services"]
SECTIONS = {"opensearch": "sparse", "qdrant": "dense", "neo4j": "graph", "postgres": "ledger"}
SERVERS = {name: SERVICES[name] for name in SECTIONS}


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
    for name, service in SERVERS.items():
        address = urlsplit(getattr(settings, SECTIONS[name]).url)
        published = [port.split(":") for port in service["ports"]]
        assert {host for host, _, _ in published} == {"127.0.0.1"}
        assert str(address.port) in {port for _, port, _ in published}
    assert settings.dense.api_key is not None
    assert (settings.graph.username, settings.ledger.username) == ("neo4j", "theworld")


def test_images_are_pinned_to_the_versions_that_tests_run() -> None:
    tags = {name: service["image"].rpartition(":")[2] for name, service in SERVERS.items()}
    for name in ("opensearch", "neo4j"):
        pom = ElementTree.parse(ROOT / "tests" / "services" / name / "pom.xml")
        assert tags[name].removesuffix("-community") == pom.findtext("{*}version")
    documented = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    for name, called in (("opensearch", "OpenSearch"), ("qdrant", "Qdrant"), ("neo4j", "Neo4j")):
        oldest = OLDEST_SERVERS[SECTIONS[name]]
        assert not is_older(tags[name], oldest), name
        assert f"| {called} {oldest[0]}.{oldest[1]} or newer" in documented
    assert int(tags["postgres"].partition(".")[0]) >= OLDEST_SERVER
    assert all(re.fullmatch(r"v?\d+\.\d+(\.\d+)?(-community)?", tag) for tag in tags.values()), tags


def test_the_service_reads_the_servers_beside_it_once_they_are_healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    service = SERVICES["theworld"]
    for name, value in service["environment"].items():
        monkeypatch.setenv(name, re.sub(r"\$\{\w+\}", "long-enough", value))
    settings = Settings.load()
    needed = {name for name, section in SECTIONS.items() if section != "ledger"}
    assert (
        {urlsplit(getattr(settings, SECTIONS[name]).url).hostname for name in needed}
        == needed
        == {*service["depends_on"]}
    )
    assert {one["condition"] for one in service["depends_on"].values()} == {"service_healthy"}
    assert service["ports"] == [f"127.0.0.1:{settings.service.port}:{settings.service.port}"]
    assert service["healthcheck"]["test"][1] in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_every_server_is_watched_and_keeps_its_data() -> None:
    volumes = yaml.safe_load(TEXT)["volumes"]
    for name, service in SERVICES.items():
        assert service["healthcheck"]["test"][0] == "CMD-SHELL", name
        # As Compose hands it to the container's shell: a doubled dollar is one.
        command = service["healthcheck"]["test"][1].replace("$$", "$")
        subprocess.run(["sh", "-n", "-c", command], check=True)
        assert {volume.split(":")[0] for volume in service["volumes"]} <= set(volumes), name


@pytest.fixture
def first_run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a copy of the script where `docker` and `theworld` only write down how they were called."""
    shutil.copy(ROOT / "first-run.sh", tmp_path)
    programs = tmp_path / "programs"
    programs.mkdir()
    for system in ("sh", "dirname", "head", "od", "tr", "touch", "tail", "grep"):
        where = shutil.which(system)
        assert where is not None, system
        (programs / system).symlink_to(where)

    def run(*arguments: str, **exits: int) -> subprocess.CompletedProcess[str]:
        for name, code in exits.items():
            program = programs / name
            program.write_text(f'#!/bin/sh\necho {name} "$@"\nexit {code}\n', encoding="utf-8")
            program.chmod(0o755)
        command = ["sh", str(tmp_path / "first-run.sh"), *arguments]
        return subprocess.run(command, env={"PATH": str(programs)}, capture_output=True, text=True, check=False)

    return run


def test_the_first_run_writes_what_is_missing_starts_the_servers_and_then_moves_the_store(
    first_run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("THEWORLD_GRAPH__PASSWORD=chosen by hand", encoding="utf-8")
    for _ in range(2):
        done = first_run("--json", docker=0, theworld=0)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines() == ["docker compose up --wait", "theworld sync --verify --json"]
    written = (tmp_path / ".env").read_text(encoding="utf-8").splitlines()
    names = [line.partition("=")[0] for line in written]
    assert len(names) == len(set(names))
    assert written[0] == "THEWORLD_GRAPH__PASSWORD=chosen by hand"
    assert set(re.findall(r"\$\{(THEWORLD_\w+):\?", TEXT)) <= set(names)
    settings = Settings.load()
    assert settings.dense.api_key is not None
    assert len(settings.dense.api_key.get_secret_value()) == 48


def test_servers_that_do_not_come_up_are_not_written_to(
    first_run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = first_run(docker=3, theworld=0)
    assert (done.returncode, done.stdout) == (3, "docker compose up --wait\n")
    assert (tmp_path / ".env").stat().st_mode & 0o077 == 0
    assert first_run("--no-start", docker=3, theworld=0).stdout == "theworld sync --verify\n"


def test_a_program_that_is_missing_is_named_before_anything_is_written(
    first_run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    for named, there in (("theworld", {}), ("docker", {"theworld": 0})):
        done = first_run(**there)
        assert done.returncode == 127
        assert f"{named} is not on the PATH" in done.stderr
        assert not (tmp_path / ".env").exists()
    assert first_run("--no-start").returncode == 0
