"""What the measures share: a dataset's store, a copy of it, and a server over it in a process of its own."""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from theworld.cli.ingesting import ingest_paths
from theworld.evaluation.datasets import Dataset, load_dataset, store_path
from theworld.evaluation.metrics import percentile
from theworld.settings import Settings

PATIENT = {"THEWORLD_RETRIEVAL__DEADLINE_MS": "60000"}
"""Deadline of servers whose answers must not depend on how busy the machine is."""
API = "/api/v1"
SEARCH, ASK, EXPLAIN = f"{API}/retrieval/search", f"{API}/ask", f"{API}/retrieval/explain/"
START_S = 120.0


def dataset_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", type=Path, metavar="DATASET", help="BEIR folder")


def prepared(folder: Path, store: Path | None = None) -> tuple[Dataset, Settings]:
    """Read a dataset and make its store, unless it is there."""
    dataset = load_dataset(folder)
    settings = Settings.load(store=store or store_path(dataset, Settings.load()))
    if not settings.store.exists():
        ingest_paths([dataset.corpus], settings)
    return dataset, settings


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a folder for one measure."""
    with tempfile.TemporaryDirectory(prefix="theworld-bench-") as folder:
        yield Path(folder)


@contextmanager
def copied(store: Path) -> Iterator[Path]:
    """Copy a store for a server to write its records into."""
    with scratch() as folder:
        yield Path(shutil.copytree(store, folder / "store"))


@contextmanager
def served(store: Path, **environment: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Serve a store in a process of its own, on loopback; its log is shown when it does not start."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    code = "import sys; from theworld.cli.app import run; sys.exit(run(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "serve", "--store", str(store), "--port", str(port)]
    url = f"http://127.0.0.1:{port}"
    with scratch() as folder, (folder / "log").open("w+b") as log:
        process = subprocess.Popen(command, env=os.environ | environment, stderr=log)
        try:
            _wait_until_ready(process, url, Path(log.name))
            yield process, url
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(60)
            process.kill()
            process.wait()
            if b"Traceback" in Path(log.name).read_bytes():
                sys.stderr.write(f"the server logged errors:\n{Path(log.name).read_text('utf-8', 'replace')[-20_000:]}")


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        if process.poll() is not None:
            sys.exit(f"the server did not start:\n{log.read_text('utf-8', 'replace')}")
        with suppress(httpx.TransportError):
            httpx.get(f"{url}/readyz", timeout=30)
            return
        time.sleep(0.1)
    sys.exit(f"the server did not start within {START_S:.0f} s")


def percentiles(name: str, values: list[float]) -> str:
    """Return the percentiles of times in milliseconds as one line."""
    shown = ", ".join(f"P{round(100 * p)} {percentile(values, p):7.2f} ms" for p in (0.5, 0.95, 0.99))
    return f"{name:24} {shown} (n {len(values)})"


def processor_ms(pid: int) -> float:
    """Return the processor time a process has used, in milliseconds; NaN where the system does not tell."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")
    return float("nan")


def metric(url: str, name: str) -> float:
    """Return the sum of one metric of a server over its labels."""
    text = httpx.get(f"{url}/metrics", timeout=120).text
    lines = [line for line in text.splitlines() if line.startswith((f"{name} ", f"{name}{{"))]
    return sum(float(line.rpartition(" ")[2]) for line in lines)
