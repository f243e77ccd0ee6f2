"""What a measurement was made on: printed above every table."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import version

from theworld.settings import Settings

PACKAGES = ("theworld", "langgraph", "numpy", "onnxruntime", "tantivy", "spacy")


def environment(settings: Settings | None = None) -> str:
    """Return interpreter, machine, load, versions and the hash of the effective settings, in two lines."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    return (
        f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, load {load}, "
        f"OMP threads {threads}\n"
        f"{', '.join(f'{name} {version(name)}' for name in PACKAGES)}, "
        f"settings {settings_hash(settings)}"
    )


def settings_hash(settings: Settings | None = None) -> str:
    """Return 8 hex digits of the effective settings, without the store's place and without keys."""
    settings = settings or Settings.load()
    config = settings.model_dump_json(exclude={"store": True, "model": {"api_key"}, "embedding": {"api_key"}})
    return hashlib.blake2b(config.encode(), digest_size=4).hexdigest()
