"""Files that are either wholly there or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any


def write_atomically(path: Path, value: Any) -> None:
    """Write JSON so that a crash leaves either the old file or the new one."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def read_json(path: Path) -> Any:
    """Return the JSON value of a file; None when there is no file or it is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def sync_file(path: Path) -> None:
    """Wait until a file's content is on disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until a folder's entries are on disk, where the system can do that."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def bytes_under(path: Path) -> int:
    """Return the size of all files of a folder, or of one file."""
    if not path.is_dir():
        return bytes_of([path])
    return sum(bytes_of(Path(folder, name) for name in names) for folder, _, names in os.walk(path))


def bytes_of(files: Iterable[Path]) -> int:
    """Return the size of some files; those that are gone by now have none."""
    size = 0
    for file in files:
        with suppress(FileNotFoundError):
            size += file.stat().st_size
    return size
