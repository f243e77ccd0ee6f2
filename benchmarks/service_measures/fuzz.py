"""schemathesis against a server of the demo's corpus, over the OpenAPI it publishes, valid and invalid bodies alike.

Every request has a key that may do everything for any tenant, so that it gets as far as it can.

schemathesis lives in an environment of its own in the user's cache (its jsonschema-rs is not LangGraph's), made at
the first run. It is run with one seed after the other until the server has counted so many replies. Holds when none
was a server error and every reply had a documented status, content type and form.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path

import httpx
from platformdirs import user_cache_path

from service_measures.serving import PATIENT, scratch, served
from theworld.cli.ingesting import ingest_paths
from theworld.demo import corpus_dir
from theworld.settings import Settings
from theworld.stores.ledger.api_keys import KeyRing
from theworld.stores.ledger.opening import open_database

VERSION = "4.32.5"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
MOST_RUNS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--schemathesis", type=Path, help="program to use instead of the one in the cache")


def program() -> Path:
    """Return schemathesis's command, installed where it is not there yet."""
    folder = user_cache_path("theworld") / "benchmarks" / f"schemathesis-{VERSION}"
    scripts = folder / ("Scripts" if sys.platform == "win32" else "bin")
    if not any(scripts.glob("schemathesis*")):
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(scripts / "python"), "-m", "pip", "install", "--quiet", f"schemathesis=={VERSION}"]
        subprocess.run(install, check=True)
    return scripts / "schemathesis"


def run(arguments: argparse.Namespace) -> bool:
    schemathesis = arguments.schemathesis or program()
    failed = seed = 0
    with scratch() as folder:
        settings = Settings.load(store=folder / "store")
        ingest_paths([corpus_dir()], settings)
        with open_database(settings.store, writable=True) as ledger:
            bearer = f"Authorization: Bearer {KeyRing(ledger).create('fuzz', ['*'])}"
        with served(settings.store, **PATIENT) as (_, url):
            document = httpx.get(f"{url}/openapi.json", timeout=120).json()
            operations = sum(len(path) for path in document["paths"].values())
            while (missing := arguments.cases - replies(url).total()) > 0 and seed < MOST_RUNS:
                seed += 1
                examples = max(2, -(-missing // operations))
                command = [str(schemathesis), "run", f"{url}/openapi.json", f"--header={bearer}"]
                failed += bool(subprocess.run(command + options(examples, seed), check=False, cwd=folder).returncode)
            found = replies(url)
    errors = sum(count for status, count in found.items() if 500 <= status < 600)
    print(f"{found.total():,} replies over {operations} operations; by status {dict(found)}")
    print(f"internal errors: {errors}; runs with a 5xx or a reply not as documented: {failed} of {seed}")
    return not errors and not failed and found.total() >= arguments.cases


def options(examples: int, seed: int) -> list[str]:
    """Return what schemathesis is told; what does not depend on the seed is tried with the first one only."""
    phases = "examples,coverage,fuzzing" if seed == 1 else "fuzzing"
    return [
        f"--phases={phases}", f"--max-examples={examples}", f"--checks={CHECKS}", "--continue-on-failure",
        f"--seed={seed}", "--request-timeout=120", "--generation-database=none", "--suppress-health-check=all",
        "--warnings=off",
    ]  # fmt: skip


def replies(url: str) -> Counter[int]:
    """Return how many replies the server has counted, by HTTP status."""
    found = Counter[int]()
    for line in httpx.get(f"{url}/metrics", timeout=120).text.splitlines():
        if line.startswith("theworld_requests_total"):
            found[int(line.partition('code="')[2].partition('"')[0])] += int(float(line.rpartition(" ")[2]))
    return Counter(dict(sorted(found.items())))
