"""One file per format; text of any other kind is read as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from theworld.errors import IngestionError
from theworld.ingestion.readers import asciidoc, converted, folder, html, mail, markdown, notebook, source_code, tables
from theworld.ingestion.readers.document import Reader, SourceDocument, is_text, needs_extra, read_plain, read_subtitles
from theworld.ingestion.report import FailedSource


def _read_rst(path: Path, root: Path | None = None, walked: int = 0) -> Iterator[SourceDocument]:
    from theworld.ingestion.readers.rst import read

    return read(path, root, walked)


_NEWER = {
    **dict.fromkeys((".doc", ".rtf", ".wps"), ".docx"),
    ".et": ".xlsx",
    **dict.fromkeys((".ppt", ".pptm", ".dps"), ".pptx"),
    ".msg": ".eml",
}
"""Formats of documents that no reader knows, and what their programs also write."""


def _refuse(path: Path) -> Iterator[SourceDocument]:
    reason = f"files of the kind {path.suffix!r} cannot be read"
    raise IngestionError(reason, where=str(path), remedy=f"Save it as {_NEWER[path.suffix.lower()]}.")


_MODULES = (asciidoc, markdown, html, converted, notebook, tables, source_code)
READERS: dict[str, Reader] = {
    **dict.fromkeys((".txt", ".text"), read_plain),
    **{extension: module.read for module in _MODULES for extension in module.EXTENSIONS},
    **dict.fromkeys(folder.RST, _read_rst),
    **dict.fromkeys(_NEWER, _refuse),
    **dict.fromkeys((".jsonl", ".ndjson"), tables.read_lines),
    **dict.fromkeys(mail.EXTENSIONS, lambda path: mail.read(path, read_source, READERS.keys())),
    ".mbox": lambda path: mail.read_mailbox(path, read_source),
    **dict.fromkeys(mail.PAGES, mail.read_page),
    **dict.fromkeys(mail.CALENDARS, mail.read_calendar),
    **dict.fromkeys((".srt", ".vtt"), read_subtitles),
}
"""Reader by file extension, lower case with the dot."""


def read_source(path: Path, root: Path | None = None, walked: int = 0) -> Iterator[SourceDocument | FailedSource]:
    """Yield the documents of one file; raises IngestionError when the file as a whole cannot be read.

    `root` is the ingested folder, of which a file may include others, and name their headings where it was `walked`.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None and path.is_file() and not is_text(path):
        raise IngestionError(
            f"there is no text in files of the kind {path.suffix or path.name!r}",
            where=str(path),
            remedy=f"Supported: any text, and {', '.join(sorted(READERS.keys() - _NEWER))}.",
        )
    try:
        if reader is _read_rst:
            yield from _read_rst(path, root, walked)
        elif reader in (markdown.read, asciidoc.read, source_code.read):
            yield from reader(path, root)
        else:
            yield from (reader or read_plain)(path)
    except ModuleNotFoundError as error:
        raise needs_extra(path) from error


__all__ = ["READERS", "Reader", "SourceDocument", "read_source"]
