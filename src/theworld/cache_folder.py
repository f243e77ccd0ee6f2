"""Where a user's caches lie: what can be made or fetched anew."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return this program's folder among the user's caches, where each system keeps them; it need not exist."""
    places = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("", "Library/Caches")}
    variable, usual = places.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    return Path(os.environ.get(variable) or Path.home() / usual) / "theworld"
