"""reStructuredText of docutils and Sphinx. Offsets refer to the Markdown that `rst_markdown` writes of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theworld.ingestion.readers.document import (
    LONGEST_LINE,
    SourceDocument,
    needs_extra,
    plain_metadata,
    read_plain,
    read_text,
    require_text,
)
from theworld.ingestion.readers.markdown import described

if TYPE_CHECKING:
    from docutils import nodes

EXTENSIONS = (".rst", ".rest")

_SETTINGS: Mapping[str, Any] = {
    "_disable_config": True,
    "doctitle_xform": False,
    "file_insertion_enabled": False,  # but for the directives that look where the file lies (`rst_directives`)
    "halt_level": 6,
    "input_encoding": "utf-8-sig",
    "line_length_limit": LONGEST_LINE,
    "raw_enabled": True,
    "report_level": 6,
    "smart_quotes": False,
    "syntax_highlight": "none",
}


def read(path: Path, root: Path | None = None) -> Iterator[SourceDocument]:
    """Yield the file's one document; `include` and the like may name files below `root` (the file's folder)."""
    text = require_text(read_text(path), path)
    if find_spec("docutils") is None:
        raise needs_extra(path)
    from docutils.core import publish_doctree

    from theworld.ingestion.readers.rst_directives import register_unknown, sphinx_known
    from theworld.ingestion.readers.rst_markdown import MarkdownWriter

    settings = {**_SETTINGS, "root_prefix": str(root or path.parent)}
    try:
        with sphinx_known(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            register_unknown(text)
            tree = publish_doctree(text, source_path=str(path), settings_overrides=settings)
    except Exception:  # docutils fails on some texts with whatever it comes upon: then it is read as it is written
        yield from read_plain(path)
        return
    fields = _front_matter(tree)
    markdown = require_text(MarkdownWriter(tree).text(), path)
    yield replace(described(markdown, path), metadata=plain_metadata(fields))


def _front_matter(tree: nodes.document) -> dict[str, str]:
    """Take the fields before the text, and those docutils knows (author, date), out of the tree."""
    from docutils import nodes

    for info in tree.findall(nodes.docinfo):
        fields = {}
        for field in info.children:
            name, body = field.children if isinstance(field, nodes.field) else (None, field)
            fields[name.astext() if name is not None else field.tagname] = body.astext()  # type: ignore[attr-defined]
        info.parent.remove(info)
        return fields
    return {}
