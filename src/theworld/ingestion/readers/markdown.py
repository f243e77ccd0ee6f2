"""Markdown with optional YAML front matter. The text is kept as written, so offsets refer to the file itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from theworld.errors import IngestionError
from theworld.ingestion.readers.document import (
    SourceDocument,
    names_in,
    plain_metadata,
    require_text,
    title_from_name,
    without_surrogates,
)
from theworld.ingestion.readers.encoding import read_text

EXTENSIONS = (".md", ".markdown")

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(?P<yaml>(?:.*?\r?\n)?)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_HEADING = re.compile(
    r"^#{1,6}[ \t]+(?P<title>[^\r\n]*?)[ \t#]*\r?$|^(?P<over>[^\s#>|-][^\r\n]*)\r?\n=+[ \t]*\r?$", re.M
)


class _Loader(yaml.SafeLoader):
    """Safe, and without references (`*name`): with them a few bytes can stand for gigabytes, or for themselves."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            untyped: Any = self
            mark = untyped.peek_event().start_mark
            raise yaml.composer.ComposerError(None, None, "references (*name) are not supported", mark)
        return super().compose_node(parent, index)


def read(path: Path) -> Iterator[SourceDocument]:
    """Yield the file's one document."""
    yield from_markdown(read_text(path), path)


def from_markdown(text: str, path: Path, *, with_front_matter: bool = True) -> SourceDocument:
    """Return the document a Markdown text describes; raises IngestionError for bad front matter or no text."""
    text = require_text(text, path)
    fields, start = front_matter(text, path) if with_front_matter else ({}, 0)
    given = " ".join(without_surrogates(str(_text(fields, "title", path, str) or "")).split())
    aliases = names_in(_text(fields, "aliases", path, str | list) or _text(fields, "alias", path, str | list))
    if not text[start:].strip():
        raise IngestionError("there is no text after the front matter", where=str(path))
    heading = _HEADING.search(text, start)
    found = plain_heading(heading) if heading else ""
    title = given or found or title_from_name(path)
    if heading and found == title and not text[start : heading.start()].strip() and text[heading.end() :].strip():
        start = heading.end()
    return SourceDocument(title, text, aliases=aliases, metadata=plain_metadata(fields), body_start=start)


def _text(fields: dict[object, object], name: str, path: Path, kinds: Any) -> object:
    """Take a field out of the front matter; raises IngestionError when it is of another kind."""
    value = fields.pop(name, None)
    if isinstance(value, dict | list) and not isinstance(value, kinds):
        raise IngestionError(f"`{name}` in the front matter is a {type(value).__name__}, not text", where=str(path))
    return value


def plain_heading(heading: re.Match[str]) -> str:
    """Return a heading's words without emphasis, code and link markup."""
    words = heading["title"] or heading["over"] or ""
    return re.sub(r"[*`]|!?\[|\]\([^)]*\)", "", words).strip()


def front_matter(text: str, path: Path) -> tuple[dict[object, object], int]:
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
        return {}, match.end()
    return (fields, match.end()) if isinstance(fields, dict) else ({}, 0)
