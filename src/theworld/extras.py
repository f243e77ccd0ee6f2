"""Optional parts: how to install what one needs, from wherever this program itself was installed.

No package index carries the project, so `pip install "theworld[service]"` alone would find nothing. What was installed
from a folder or a file is named by it (PEP 610, `direct_url.json`).
"""

from __future__ import annotations

import importlib
import json
from importlib.metadata import PackageNotFoundError, distribution
from types import ModuleType
from urllib.parse import unquote, urlsplit

from theworld.errors import ModelError


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this very installation."""
    try:
        origin = json.loads(distribution("theworld").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    url = str(origin.get("url", ""))
    if "dir_info" in origin:
        folder = unquote(urlsplit(url).path)
        return f'pip install {"-e " if origin["dir_info"].get("editable") else ""}"{folder}[{extra}]"'
    return f'pip install "theworld[{extra}] @ {url}"' if url else f'pip install "theworld[{extra}]"'


def import_package(module: str, install: str = "", *, extra: str = "") -> ModuleType:
    """Import a package; raise ModelError with the exact command when it is missing or broken.

    `install` is what pip is told to install, `extra` the extra of this project that brings it.
    """
    try:
        return importlib.import_module(module)
    except (ImportError, OSError) as error:
        command = install_command(extra) if extra else f"pip install {install}"
        raise ModelError(
            f"the package `{module}` cannot be imported ({error})", remedy=f"Install it: {command}"
        ) from error
