"""Markdown and MDX with optional YAML front matter. Offsets refer to the cleaned text (`markdown_cleaning`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from theworld.errors import IngestionError
from theworld.ingestion.readers.document import (
    SourceDocument,
    names_in,
    plain_metadata,
    read_text,
    require_text,
    title_from_name,
    without_surrogates,
)
from theworld.ingestion.readers.markdown_blocks import markdown_blocks
from theworld.ingestion.readers.markdown_cleaning import cleaned

EXTENSIONS = (".md", ".markdown", ".mdx")

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(?P<yaml>(?:.*?\r?\n)?)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)


class _Loader(yaml.SafeLoader):
    """Safe, and without references (`*name`): with them a few bytes can stand for gigabytes, or for themselves."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            untyped: Any = self
            mark = untyped.peek_event().start_mark
            raise yaml.composer.ComposerError(None, None, "references (*name) are not supported", mark)
        return super().compose_node(parent, index)


def read(path: Path) -> Iterator[SourceDocument]:
    """Yield the file's one document; raises IngestionError for bad front matter or no text.

    The title is the front matter's, else the first heading, else the file's name.
    """
    text = require_text(read_text(path), path)
    fields, start = _front_matter(text, path)
    title = " ".join(without_surrogates(str(_field(fields, "title", path, str) or "")).split())
    aliases = names_in(_field(fields, "aliases", path, str | list) or _field(fields, "alias", path, str | list))
    document = described(text[:start] + cleaned(text[start:]), path, start=start, title=title)
    yield replace(document, aliases=aliases, metadata=plain_metadata(fields))


def described(text: str, path: Path, *, start: int = 0, title: str = "") -> SourceDocument:
    """Return the document that is written in Markdown from `start` on; raises IngestionError where there is no text.

    The title is the one given, else the first heading, else the file's name. A first heading that says the same is no
    part of the body.
    """
    if not text[start:].strip():
        raise IngestionError("there is no text in it", where=str(path))
    blocks = markdown_blocks(text, start)
    heading = next((block for block in blocks if block.kind == "heading"), None)
    found = heading.section[-1] if heading and heading.section else ""
    title = title or found or title_from_name(path)
    if found == title:
        blocks = markdown_blocks(text, start, title)
        if blocks[0].kind == "heading" and len(blocks) > 1:
            blocks = blocks[1:]
    return SourceDocument(title, text, body_start=blocks[0].start if blocks else start, blocks=blocks)


def _field(fields: dict[object, object], name: str, path: Path, kinds: Any) -> object:
    """Take a field out of the front matter; raises IngestionError when it is of another kind."""
    value = fields.pop(name, None)
    if isinstance(value, dict | list) and not isinstance(value, kinds):
        raise IngestionError(f"`{name}` in the front matter is a {type(value).__name__}, not text", where=str(path))
    return value


def _front_matter(text: str, path: Path) -> tuple[dict[object, object], int]:
    """Return the front matter's fields and the offset after it; a file without any gives no fields and 0."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, 0
    try:
        fields = yaml.load(match["yaml"], _Loader)  # noqa: S506 (it derives from SafeLoader)
    except Exception as error:  # on a value that cannot be (month 13) constructors raise whatever they come upon
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 2}" if mark else ""
        raise IngestionError(
            f"the front matter is not valid YAML{line}: {getattr(error, 'problem', None) or error}",
            where=str(path),
            remedy="Quote values that contain a colon or begin with a special character.",
        ) from error
    if fields is None:
        fields = {}
    return (fields, match.end()) if isinstance(fields, dict) else ({}, 0)
