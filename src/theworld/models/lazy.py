"""Weights and packages that are loaded when they are first needed, once, whichever thread comes first."""

from __future__ import annotations

import hashlib
import importlib.util
import threading
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")

_SAMPLES = 64
_SAMPLE_BYTES = 65_536


class Lazy(Generic[T]):
    """A value made on first use by exactly one thread; a failure is raised and tried again next time."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: tuple[T] | None = None

    def get(self) -> T:
        """Return the value, making it first where needed."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = (self._make(),)
        return self._made[0]


def weights_id(*paths: Path) -> str:
    """Return 8 hex digits that change with the files' content.

    Large files are sampled (64 blocks of 64 KiB, evenly spread), so that naming a model never reads all of it.
    """
    digest = hashlib.sha256()
    for path in paths:
        size = path.stat().st_size
        digest.update(f"{path.name}:{size};".encode())
        step = max(_SAMPLE_BYTES, size // _SAMPLES)
        with path.open("rb") as file:
            for offset in range(0, size, step):
                file.seek(offset)
                digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:8]


def versioned(package: str) -> str:
    """Return a package's name with its version, without one where it is not installed."""
    try:
        return f"{package}-{version(package)}"
    except PackageNotFoundError:
        return package


def package_file(package: str, path: str) -> Path | None:
    """Return a data file of a package, which is not imported; None where there is none."""
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((found for folder in folders if (found := Path(folder) / path).is_file()), None)
