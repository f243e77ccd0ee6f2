"""Where a passage stands, in words a person finds it by: `leave.md › Parental leave › Eligibility`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote

PATH_SEPARATOR = " › "
"""Between the parts of a place or section path."""

_FILE = re.compile(r".*[^\s.]\.[A-Za-z][A-Za-z0-9]{0,7}")
_OF_ITS_FOLDER = frozenset({"index", "_index", "readme", "__init__"})
"""Names of files, without their ending, that say nothing without their folder."""
_QUERY = re.compile(r"[?#]")
_WORD = re.compile(r"[^\W_]+")


def place_of(document_id: str, source: str, title: str, section: Sequence[str], *, whole_path: bool = False) -> str:
    """Return the file's name or whole path, the title unless the file is named so, and the headings.

    A part that is the one before it, or that one without its brackets, says nothing new and is left out.
    """
    headings = [" ".join(heading.split()) for heading in section if heading.strip()]
    title = " ".join(title.split())
    name = _file_name(document_id, source, whole_path=whole_path)
    named_so = title and _words(title) in (_words(name), _words(PurePosixPath(name).stem))
    parts = [name, "" if named_so else title] if name else [title or document_id]
    shown = [part for part in (*parts, *headings) if part]
    bare = [part.replace("（", " (").partition(" (")[0] for part in shown]
    before = [([],), *zip(map(_words, shown), map(_words, bare), strict=True)]
    kept = [part for part, names in zip(shown, before, strict=False) if _words(part) not in names]
    return PATH_SEPARATOR.join(kept or shown)


def _file_name(document_id: str, source: str, *, whole_path: bool = False) -> str:
    """Return the name of the document's own file or page, with its folder if need be; "" where there is none.

    A path as source is not looked at: the file may hold many documents.
    """
    address = source.partition("://")[2]
    page = unquote(_QUERY.split(address.partition("/")[2])[0])
    found = next(
        (path for path in map(PurePosixPath, (document_id, page)) if _FILE.fullmatch(path.name)), PurePosixPath()
    )
    if whole_path and found.name:
        return str(found)
    folder = found.parent.name if found.stem.casefold() in _OF_ITS_FOLDER else ""
    return f"{folder}/{found.name}" if folder else found.name


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
