"""The service in a process of its own, as its users start it."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx

START_S = 300
RUNNING = re.compile(r"(?:Uvicorn running on|Open) (http://[\d.]+:\d+)")
fetch = partial(httpx.request, timeout=START_S)
"""Calls a server, with time for a busy machine."""
THEWORLD = [sys.executable, "-c", "import sys; from theworld.cli.app import run; sys.exit(run(sys.argv[1:]))"]


@contextmanager
def served(
    store: Path | str, *arguments: str, folder: Path | None = None
) -> Iterator[tuple[subprocess.Popen[str], httpx.Client, list[str]]]:
    """A server on a port that the system chooses, with a client and the lines of its standard error."""
    environment = {"THEWORLD_RETRIEVAL__DEADLINE_MS": "60000", "THEWORLD_SERVICE__PORT": "0", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*THEWORLD, "serve", "--store", str(store), *arguments],
        env=os.environ | environment,
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    lines: list[str] = []
    urls: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            for found in RUNNING.findall(line):
                urls.put(found)
        urls.put(None)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        url = urls.get(timeout=START_S)
        assert url is not None, "".join(lines)
        with httpx.Client(base_url=url, timeout=START_S) as client:
            while not answers(client):  # workers listen only when they have started
                assert process.poll() is None, "".join(lines)
                time.sleep(0.1)
            yield process, client, lines
    finally:
        with suppress(ProcessLookupError):  # its workers too: they would hold the pipe open
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
        reader.join(10)
        if process.stderr is not None:
            process.stderr.close()


def answers(client: httpx.Client) -> bool:
    """Return whether the server listens."""
    try:
        return client.get("/healthz").status_code == 200
    except httpx.ConnectError:
        return False


@contextmanager
def listening(app: object) -> Iterator[str]:
    """The address of an application in a real server on a thread, on a port that the system chooses."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))  # type: ignore[arg-type]
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + START_S
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < end
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(60)
