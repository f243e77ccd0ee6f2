"""Which files hold text for a reader: those of a known kind, and any others whose first bytes are text.

What a program wrote for a program (lock files, minified code, source maps), pictures, fonts and keys are not read even
where they are text.
"""

from __future__ import annotations

from pathlib import Path

from theworld.ingestion.readers import READERS
from theworld.ingestion.readers.beir import CORPUS
from theworld.ingestion.readers.encoding import is_text

NOT_DOCUMENTS = frozenset(
    ".lock .map .sum .svg .eps .ps .png .jpg .jpeg .gif .webp .bmp .ico .tif .tiff .ttf .otf .woff .woff2 .eot .pem "
    ".key .crt .cer .sig".split()
)
"""Endings of what is no document."""
LOCK_FILES = frozenset({"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "packages.lock.json"})
MINIFIED = (".min.js", ".min.css", ".min.mjs", ".bundle.js")
INSTALLED = frozenset({"node_modules", "site-packages", "__pycache__", "bower_components"})
"""Folders of what others wrote and a program put there."""


def is_document(path: Path) -> bool:
    """Return whether a file is read: its kind is known, or it begins with text and is nothing of the above."""
    name, ending = path.name.lower(), path.suffix.lower()
    if ending in NOT_DOCUMENTS or name in LOCK_FILES or name.endswith(MINIFIED) or _belongs_to_corpus(path):
        return False
    return ending in READERS or is_text(path)


def _belongs_to_corpus(path: Path) -> bool:
    """Return whether a file holds the questions or relevance marks of a corpus in the BEIR layout."""
    if path.name == CORPUS or path.suffix.lower() not in {".jsonl", ".tsv"}:
        return False
    return (path.parent / CORPUS).exists() or (path.parent.name == "qrels" and (path.parent.parent / CORPUS).exists())
