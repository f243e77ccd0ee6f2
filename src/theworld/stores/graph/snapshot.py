"""The graph on disk: one file of arrays for each tenant, and a manifest that says which, and what they reflect.

    manifest.json    {"format", "applied", "weighing", "tenants": {tenant: {"file", "bytes", "checksum"}}}
    *.graph          see theworld.stores.graph.array_file and theworld.stores.graph.columns

Files are never changed. The manifest is replaced atomically once a new file is on disk; what it no longer names is then
removed, and a reader that still maps it keeps it.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from theworld.errors import StoreError
from theworld.stores.files import read_json, write_atomically
from theworld.stores.graph.array_file import Arrays, checksum, map_arrays, write_arrays
from theworld.stores.graph.columns import Columns

FORMAT = 3
"""Raised whenever the arrays or the keys change, so that what an older program wrote is built anew."""
_TRIES = 5
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Saved:
    """What a manifest says, and the files it names, mapped."""

    applied: int = 0
    weighing: str | None = None
    """What the edges of the walks were weighed with."""
    tenants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    columns: Mapping[str, Columns] = field(default_factory=dict)


class Snapshot:
    """The folder of the graph."""

    def __init__(self, folder: Path, *, writable: bool) -> None:
        self.folder, self._writable = folder, writable
        self._manifest = folder / "manifest.json"
        if writable:
            folder.mkdir(parents=True, exist_ok=True)

    def load(self, known: Saved, *, verify: bool = False) -> Saved:
        """Return what is on disk, files that are mapped already not mapped again; nothing, and a warning, when damaged.

        Sizes and headers are checked always, with `verify` also the content.
        """
        for attempt in range(_TRIES):
            try:
                return self._read(known, verify)
            except (OSError, ValueError, KeyError, TypeError) as error:
                # A writer may have replaced a file between our reading of the manifest and of it.
                if attempt == _TRIES - 1:
                    _LOG.warning("the graph in %s is damaged and will be built from the ledger: %s", self.folder, error)
        return Saved()

    def _read(self, known: Saved, verify: bool) -> Saved:
        manifest = read_json(self._manifest)
        if manifest is None and not self._manifest.exists():
            return Saved()
        if manifest["format"] != FORMAT:
            _LOG.warning("the graph in %s has another format and will be built from the ledger", self.folder)
            return Saved()
        columns = {}
        for tenant, described in manifest["tenants"].items():
            if known.tenants.get(tenant) == described:
                columns[tenant] = known.columns[tenant]
                continue
            path = self.folder / described["file"]
            if path.stat().st_size != described["bytes"]:
                raise ValueError(f"{path.name} has {path.stat().st_size} bytes instead of {described['bytes']}")
            if verify and checksum(path) != described["checksum"]:
                raise ValueError(f"the content of {path.name} does not match its checksum")
            columns[tenant] = Columns(map_arrays(path))
        return Saved(int(manifest["applied"]), manifest["weighing"], manifest["tenants"], columns)

    def save(self, before: Saved, changed: Mapping[str, Arrays], applied: int, weighing: str) -> Saved:
        """Write the arrays of changed tenants (those without notes are left out), publish them, and return all."""
        if not self._writable:
            raise StoreError("the graph was opened for reading.", where=str(self.folder))
        tenants = {tenant: described for tenant, described in before.tenants.items() if tenant not in changed}
        for tenant, arrays in sorted(changed.items()):
            if len(arrays["document"]):
                path = self.folder / f"{secrets.token_hex(6)}.graph"
                digest = write_arrays(path, arrays)
                tenants[tenant] = {"file": path.name, "bytes": path.stat().st_size, "checksum": digest}
        manifest = {"format": FORMAT, "applied": applied, "weighing": weighing, "tenants": tenants}
        write_atomically(self._manifest, manifest)
        saved = self._read(before, verify=False)
        self.remove_unused(saved)
        return saved

    def remove_unused(self, saved: Saved) -> None:
        """Remove what a crash or a later file left behind."""
        used = {described["file"] for described in saved.tenants.values()}
        for path in self.folder.glob("*.graph"):
            if path.name not in used:
                with contextlib.suppress(OSError):  # where a mapped file cannot be removed, a later writer does it
                    path.unlink()
