"""Files that are either wholly there or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tenacity import Retrying, retry_if_exception, stop_after_attempt

_SUM = "sum"


def write_atomically(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON object, with its checksum, so that a crash leaves either the old file or the new one."""
    value = {**value, _SUM: _sum_of(value)}
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the object that was written; None when there is no file, it is damaged, or its checksum tells so."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return value if isinstance(value, dict) and value.pop(_SUM, None) == _sum_of(value) else None


def _sum_of(value: object) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()


def sync_folder(path: Path) -> None:
    """Wait until a folder's entries are on disk, where the system can do that."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_folder(path: Path) -> None:
    """Remove a folder and all in it.

    Opening a tantivy index starts a thread that makes a lock file there once, maybe only while the folder goes.
    """
    changed = retry_if_exception(lambda error: getattr(error, "errno", None) in {errno.ENOTEMPTY, errno.ENOENT})
    Retrying(retry=changed, stop=stop_after_attempt(5), reraise=True)(shutil.rmtree, path)


def bytes_under(path: Path) -> int:
    """Return the size of all files of a folder."""
    return sum(bytes_of(Path(folder, name) for name in names) for folder, _, names in os.walk(path))


def bytes_of(files: Iterable[Path]) -> int:
    """Return the size of some files; those that are gone by now have none."""
    size = 0
    for file in files:
        with suppress(FileNotFoundError):
            size += file.stat().st_size
    return size


DELETE = "Delete this folder: it is built again from the ledger when the store is next opened."
"""What to do about an index that is damaged."""
_FULL_OR_FORBIDDEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EMFILE})


def is_damage(error: BaseException) -> bool:
    """Return whether an error is what libraries raise over files that are damaged, cut off, orphaned or missing.

    tantivy panics; a full disk and missing rights are no damage.
    """
    if isinstance(error, OSError):
        return error.errno not in _FULL_OR_FORBIDDEN
    kinds = (ValueError, LookupError, TypeError, BufferError)
    return isinstance(error, kinds) or type(error).__name__ == "PanicException"


REREAD = Retrying(retry=retry_if_exception(is_damage), stop=stop_after_attempt(5), reraise=True)
"""Reads again what seems damaged: a writer may have replaced a file between our reading of its name and of it."""

Sums = Mapping[str, Sequence[Any]]
"""File name -> [size, checksum of both ends, checksum of the content], of files that never change."""
_EDGE = 4096


def sums_of(files: Iterable[Path], known: Sums | None = None) -> dict[str, Sequence[Any]]:
    """Return the sums of files; those of a known name and size are not read again."""
    found: dict[str, Sequence[Any]] = {}
    for file in files:
        size, before = file.stat().st_size, (known or {}).get(file.name)
        found[file.name] = before if before is not None and before[0] == size else [size, *_read_sums(file, size)]
    return found


def check_sums(folder: Path, sums: Sums, *, whole: bool) -> None:
    """Raise ValueError naming the first file that is not as summed: size and both ends, or with `whole` all of it."""
    for name, (size, edges, content) in sums.items():
        file = folder / name
        if not file.is_file() or file.stat().st_size != size:
            raise ValueError(f"{name} is missing or has another size")
        found = _read_sums(file, size, whole=whole)
        if found[0] != edges or (whole and found[1] != content):
            raise ValueError(f"the content of {name} has changed")


def _read_sums(file: Path, size: int, *, whole: bool = True) -> tuple[str, str]:
    """Return the checksum of both ends and, with `whole`, that of all."""
    with file.open("rb") as opened:
        first = opened.read(_EDGE)
        opened.seek(max(0, size - _EDGE))
        edges = hashlib.blake2b(first + opened.read(_EDGE), digest_size=16).hexdigest()
        opened.seek(0)
        return edges, hashlib.file_digest(opened, "blake2b").hexdigest()[:32] if whole else ""
