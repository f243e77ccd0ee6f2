"""Files of data: the tables in the packages, and a user's caches, which can be made or fetched anew."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml


@cache
def load_table(package: str, name: str) -> dict[Any, Any]:
    """Return the content of a package's YAML file, read once: nobody may change it."""
    table: dict[Any, Any] = yaml.safe_load(files(package).joinpath(name).read_text("utf-8"))
    return table


def cache_folder() -> Path:
    """Return this program's folder among the user's caches, where each system keeps them; it need not exist."""
    places = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("", "Library/Caches")}
    variable, usual = places.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    return Path(os.environ.get(variable) or Path.home() / usual) / "theworld"
