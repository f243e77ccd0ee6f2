"""Where the demo corpus lies."""

from __future__ import annotations

from pathlib import Path


def corpus_dir() -> Path:
    """Return the folder of the demo documents: Markdown, in `en` and `zh`."""
    return Path(__file__).with_name("corpus")
