"""Jupyter notebooks by nbformat (extra `documents`): text cells as they are, code and its text outputs fenced.

Offsets refer to the Markdown that is made of the cells. Images and widgets are dropped: no note can show them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from theworld.errors import IngestionError
from theworld.ingestion.readers.document import SourceDocument, fenced, read_text, require_text
from theworld.ingestion.readers.markdown import described
from theworld.ingestion.readers.markdown_cleaning import cleaned

EXTENSIONS = (".ipynb",)
LONGEST_OUTPUT = 2_000
"""Characters of one output; logs of a training run say nothing more after that."""

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_EMBEDDED = re.compile(r"(?<=\]\()(?:data|attachment):[^)]*")


def read(path: Path) -> Iterator[SourceDocument]:
    """Yield the notebook's one document; its title is the first heading, else the file's name."""
    import nbformat

    text = read_text(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cells without ids, which older programs write
            untyped: Any = nbformat
            notebook = untyped.reads(text, as_version=4)
    except Exception as error:  # on what is no notebook, the conversion of old formats raises whatever it meets
        reason = " ".join(f"{type(error).__name__} {error}".split())[:200]
        raise IngestionError(
            f"it is no notebook ({reason})", where=str(path), remedy="Open it in Jupyter and save it anew."
        ) from error
    about = notebook.metadata
    language = str(about.get("language_info", {}).get("name") or about.get("kernelspec", {}).get("language") or "")
    parts = (part.strip("\n") for cell in notebook.cells for part in _cell(cell, language))
    text = "\n\n".join(part for part in parts if part.strip())
    yield described(require_text(text + "\n", path), path, title=" ".join(str(about.get("title") or "").split()))


def _cell(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    source = str(cell["source"])
    if cell["cell_type"] != "code":
        yield cleaned(_EMBEDDED.sub("", source))
    elif source.strip():
        yield fenced(source.strip("\n"), language)
        for output in cell["outputs"]:
            kind, data = output["output_type"], output.get("data", {})
            if kind == "stream":
                said = str(output["text"])
            elif kind == "error":
                said = f"{output['ename']}: {output['evalue']}"
            elif any(name.startswith(("image/", "application/vnd.")) for name in data):
                said = ""  # an image or a widget
            else:
                said = str(data.get("text/plain", ""))
            said = _COLOURS.sub("", said).strip("\n")
            if said.strip():
                yield fenced(said if len(said) <= LONGEST_OUTPUT else said[:LONGEST_OUTPUT].rstrip() + " …", "text")
