"""Named arrays in one file that is mapped, not read, when it is opened.

The layout is that of safetensors: the length of the header (8 bytes, little-endian), the header (JSON: of each array
its type, shape and place), then the arrays, the widest types first, so that each lies at a multiple of its width.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
_TYPES = {"I64": "<i8", "U64": "<u8", "F64": "<f8", "I32": "<i4", "U8": "|u1"}
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items()}
_CHUNK = 1 << 22


def write_arrays(path: Path, arrays: Arrays) -> str:
    """Write a file, wait until it is on disk, and return its checksum."""
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    described: dict[str, Any] = {}
    place = 0
    for name, array in ordered:
        end = place + array.nbytes
        described[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [place, end]}
        place = end
    header = json.dumps(described).encode()
    header += b" " * (-len(header) % 8)
    digest = hashlib.blake2b(digest_size=16)
    with path.open("xb") as file:
        for part in (len(header).to_bytes(8, "little"), header, *(array for _, array in ordered if array.size)):
            data = part if isinstance(part, bytes) else np.ascontiguousarray(part).reshape(-1).view(np.uint8).data
            digest.update(data)
            file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def map_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file; raises OSError, ValueError or KeyError when it is damaged."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    length = int.from_bytes(mapped[:8], "little")
    if length > len(mapped) - 8:
        raise ValueError(f"{path.name} ends within its header")
    described = json.loads(mapped[8 : 8 + length])
    return {name: _array(mapped, 8 + length, one) for name, one in described.items()}


def _array(mapped: mmap.mmap, begin: int, described: Mapping[str, Any]) -> NDArray[Any]:
    kind, (start, end) = np.dtype(_TYPES[described["dtype"]]), described["data_offsets"]
    array = np.frombuffer(mapped, kind, (end - start) // kind.itemsize, begin + start)
    return array.reshape(described["shape"])


def checksum(path: Path) -> str:
    """Return the checksum of a file's content."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            digest.update(data)
    return digest.hexdigest()
