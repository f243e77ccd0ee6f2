"""TheWorld answers questions over a body of knowledge with one typed LangGraph state graph."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

__version__ = "0.2.0"

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))  # the one list of public names
_MODULE_OF = {
    name.name: str(line.module) for line in _STUB.body if isinstance(line, ast.ImportFrom) for name in line.names
}

__all__ = sorted([*_MODULE_OF, "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `import theworld` stays light."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'theworld' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
