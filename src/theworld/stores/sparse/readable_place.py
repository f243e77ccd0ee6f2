"""Where an index is opened: a folder that may not be written to is read through links to its files."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import tantivy

_LOCK = ".lock"


class ReadablePlace:
    """The index's own folder, or a temporary one of links: tantivy makes a lock file even to read."""

    def __init__(self, folder: Path) -> None:
        """Choose the place for the index in `folder`."""
        self._folder = folder
        self._links = None if os.access(folder, os.W_OK) else TemporaryDirectory(prefix="theworld-index-")

    def path(self) -> Path:
        """Return the folder to open, in which all files are that the index has now."""
        if self._links is None:
            return self._folder
        place = Path(self._links.name)
        for file in self._folder.iterdir():
            link = place / file.name
            if file.suffix != _LOCK and not link.is_symlink():
                link.symlink_to(file.absolute())
        return place

    def reload(self, index: tantivy.Index) -> None:
        """Let an index opened here see the last commit; raises ValueError when its files are damaged."""
        self.path()
        try:
            index.reload()
        except ValueError:
            if self._links is None:
                raise
            # Another process committed after the files were linked, and no lock keeps it from that.
            self.path()
            index.reload()

    def close(self) -> None:
        """Remove the links."""
        if self._links is not None:
            self._links.cleanup()
