"""The application as servers start it: from the settings of the process.

`theworld serve` runs `application` as a factory; langgraph.json mounts `app` into its own server, which decides the
address, so there the address a request came in on decides whether a key is needed.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from theworld.native_memory import share_heaps
from theworld.service.app import create_app
from theworld.settings import Settings

HEAPS = 2
"""Of the C library in a process of the service: one interpreter works in one thread at a time."""


def application() -> FastAPI:
    """Return the application bound as the settings say; the process is its alone."""
    share_heaps(HEAPS)
    settings = Settings.load()
    return create_app(settings=settings, bound_to=settings.service.host)


def __getattr__(name: str) -> Any:
    """Make `app` when it is asked for, so that importing this module costs nothing."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = found = create_app()
    return found
