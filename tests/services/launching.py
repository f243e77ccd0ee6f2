"""Real servers as child processes: jars of Maven Central, the system's packages or a binary; no container needed.

Each class knows how to start one engine in a data folder on a free port of the loopback address. `kill`, `suspend`,
`resume` and `start` (again, on the same port and data) are what the tests of faults need.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
import xml.etree.ElementTree as ElementTree
from abc import ABC, abstractmethod
from http import HTTPStatus
from pathlib import Path

import platformdirs
import yaml
from filelock import FileLock

HERE = Path(__file__).parent
LONGEST_START_S = 300.0
HEAP = os.environ.get("THEWORLD_TEST_HEAP", "768m")


class CannotStartError(Exception):
    """This machine lacks what the server needs; the text says what."""


def free_port(following: int = 0) -> int:
    """Return a port on which, and on so many `following` it, nothing listened a moment ago.

    They lie below those that systems give to outgoing connections: a server may take a minute until it binds its own,
    and one that was killed must find it free.
    """
    while True:
        port = random.randrange(15_000, 32_000)
        with contextlib.ExitStack() as probes, contextlib.suppress(OSError):
            for number in range(following + 1):
                probes.enter_context(socket.socket()).bind(("127.0.0.1", port + number))
            return port


def _is_ok(url: str) -> bool:
    """Return whether an address answers, and with 200."""
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as reply:
        return bool(reply.status == HTTPStatus.OK)
    return False


class Server(ABC):
    """One engine in one data folder."""

    name: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._log = folder / "server.log"

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients reach it."""

    @abstractmethod
    def command(self) -> list[str]:
        """Return what starts it in the foreground; CannotStartError when the machine lacks something."""

    def is_ready(self) -> bool:
        """Return whether it has said that it answers."""
        return b"\nready\n" in b"\n" + self._log.read_bytes()

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = self.command()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self.kill()
            raise

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + LONGEST_START_S
        while not self.is_ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} did not start: {self._log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """End it at once, as a power cut would; what it had not written is lost."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGCONT)
            os.killpg(self._process.pid, how)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None

    def suspend(self) -> None:
        """Let it hang: connections are accepted by the system, and nothing is ever answered."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after `suspend`."""
        self._signal(signal.SIGCONT)

    def _signal(self, what: signal.Signals) -> None:
        assert self._process is not None, f"{self.name} is not running"
        os.killpg(self._process.pid, what)


class JavaServer(Server):
    """An engine whose jars Maven fetches once; the version is that of the pom."""

    launcher: Path
    short_lived = False
    """Whether to compile quickly rather than well: half of the processor time up to the first answers."""

    def command(self) -> list[str]:
        """Return the JVM's command line."""
        java = shutil.which("java")
        if java is None or shutil.which("javac") is None:
            raise CannotStartError("no JDK 17 or newer (java, javac) is installed")
        jars = fetch_jars(self.launcher.parent)
        options = [f"-Xmx{HEAP}", "-XX:+UseSerialGC", f"-Djava.io.tmpdir={self._temporary()}"]
        if self.short_lived:
            options.append("-XX:TieredStopAtLevel=1")
        where = [str(self.folder / "data"), str(self.port)]
        return [java, *options, "-cp", f"{jars}/*", str(self.launcher), *where]

    def _temporary(self) -> Path:
        folder = self.folder / "tmp"
        folder.mkdir(parents=True, exist_ok=True)
        return folder


class OpenSearchServer(JavaServer):
    """OpenSearch over HTTP."""

    name = "opensearch"
    launcher = HERE / "opensearch" / "OpenSearchLauncher.java"

    @property
    def url(self) -> str:
        """Where clients reach it."""
        return f"http://127.0.0.1:{self.port}"

    def is_ready(self) -> bool:
        """Ask for its health once it listens: until it has recovered its state it refuses every index with 503."""
        return super().is_ready() and _is_ok(f"{self.url}/_cluster/health?wait_for_status=yellow&timeout=4s")


class Neo4jServer(JavaServer):
    """Neo4j Community over Bolt."""

    name = "neo4j"
    launcher = HERE / "neo4j" / "Neo4jLauncher.java"

    @property
    def url(self) -> str:
        """Where clients reach it."""
        return f"bolt://127.0.0.1:{self.port}"


class QdrantServer(Server):
    """Qdrant over HTTP, and over gRPC on the next port, where its program is on the PATH: no package carries it."""

    name = "qdrant"

    def __init__(self, folder: Path) -> None:
        """Take two ports."""
        super().__init__(folder)
        self.port = free_port(following=1)

    @property
    def url(self) -> str:
        """Where clients reach it."""
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        """Return the server's command line, with its settings in a file in the folder."""
        program = shutil.which("qdrant")
        if program is None:
            raise CannotStartError("the program qdrant, which no package carries, is not on the PATH")
        service = {"host": "127.0.0.1", "http_port": self.port, "grpc_port": None}
        storage = {"storage_path": str(self.folder / "data"), "snapshots_path": str(self.folder / "snapshots")}
        settings = {"service": service, "storage": storage, "telemetry_disabled": True}
        file = self.folder / "config.yaml"
        file.write_text(yaml.safe_dump(settings), encoding="utf-8")
        return [program, "--config-path", str(file)]

    def is_ready(self) -> bool:
        """Ask whether it answers."""
        return _is_ok(f"{self.url}/readyz")


class PostgresServer(Server):
    """PostgreSQL as the system packages it."""

    name = "postgres"

    @property
    def url(self) -> str:
        """Where clients reach it."""
        return f"postgresql://theworld@127.0.0.1:{self.port}/postgres"

    def command(self) -> list[str]:
        """Return the server's command line; its data folder is made on first use."""
        programs, data = _postgres_programs(), self.folder / "data"
        as_owner = _as_postgres(self.folder)
        if not (data / "PG_VERSION").exists():
            options = ["--username=theworld", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
            subprocess.run([*as_owner, programs / "initdb", "-D", data, *options], check=True, capture_output=True)
        settings = [f"--port={self.port}", f"--unix_socket_directories={data}", "--listen_addresses=127.0.0.1"]
        return [*as_owner, str(programs / "postgres"), "-D", str(data), *settings]

    def _signal(self, what: signal.Signals) -> None:
        # Each connection is served by a process with a process group of its own.
        assert self._process is not None, f"{self.name} is not running"
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        for one in [pid, *map(int, children)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, what)

    def kill(self) -> None:
        """End it and all its processes at once."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
        super().kill()

    def is_ready(self) -> bool:
        """Ask whether it accepts connections."""
        asked = [_postgres_programs() / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(asked, check=False).returncode == 0


def _postgres_programs() -> Path:
    """Return the folder of the newest PostgreSQL's programs."""
    on_path = shutil.which("postgres")
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda file: int(file.parts[-3]))
    found = packaged or ([Path(on_path).resolve()] if on_path else [])
    if not found:
        raise CannotStartError("PostgreSQL (initdb, postgres) is not installed")
    return found[-1].parent


def _as_postgres(folder: Path) -> list[str]:
    """PostgreSQL refuses to run as the superuser: return what runs it as its own user, who gets the folder."""
    if os.name != "posix" or os.geteuid() != 0:
        return []
    for parent in reversed([folder, *folder.parents][:-1]):
        if parent.owner() == "root" and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    shutil.chown(folder, "postgres", "postgres")
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]


def fetch_jars(folder: Path) -> Path:
    """Return the folder of a pom's jars, fetched from Maven Central the first time it is asked for."""
    version = ElementTree.parse(folder / "pom.xml").getroot().findtext("{*}version")
    cache = Path(os.environ.get("THEWORLD_TEST_JARS") or platformdirs.user_cache_path("theworld") / "test-servers")
    jars = cache / f"{folder.name}-{version}"
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f"{folder.name}.lock"):
        if not jars.exists():
            _fetch(folder / "pom.xml", jars)
    return jars


def _fetch(pom: Path, jars: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise CannotStartError("Maven (mvn), which fetches the server's jars, is not installed")
    partial = jars.with_name(jars.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={partial}"]
    done = subprocess.run([maven, "-q", "-B", "-f", pom, *goal], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotStartError(f"Maven could not fetch the jars of {pom.parent.name}: {done.stdout.strip()[:500]}")
    partial.rename(jars)
