"""E-mail (.eml): subject as title, who wrote to whom and when, the text of the message and of what is attached to it.

Offsets refer to the Markdown that is made of it. A message written in HTML alone is read like a page; what is attached
is read as a file of its kind, and only named where it holds no text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from importlib.util import find_spec
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from theworld.errors import IngestionError
from theworld.ingestion.readers import html
from theworld.ingestion.readers.document import Reader, SourceDocument, needs_extra, read_bytes, require_text
from theworld.ingestion.readers.markdown import described
from theworld.ingestion.report import FailedSource

EXTENSIONS = (".eml",)
LONGEST_ENDING = 20
_SHOWN = ("From", "To", "Cc", "Date")


def read(path: Path, attached: Reader, kinds: Collection[str]) -> Iterator[SourceDocument | FailedSource]:
    """Yield the message as one document, and what is attached but cannot be read.

    `attached` reads the file that an attachment is written to; of other than these `kinds` (endings) it may fail.
    """
    fields, words, files = _parts_of(path)
    text = "\n".join([f"{name}: {fields[name]}" for name in _SHOWN if name in fields]) + f"\n\n{words.strip()}\n"
    unread: list[str] = []
    for file in files:
        name = " ".join(PurePath((file.get_filename() or "").replace("\\", "/")).name.split())
        content, said, ending = file.get_payload(decode=True), "", PurePath(name).suffix
        if file.get_content_type() == "message/rfc822":
            message = file.get_content()
            name, content, ending = name or " ".join(str(message["Subject"]).split()), bytes(message), ".eml"
        try:
            said = _text_of(content, ending, attached) if name and isinstance(content, bytes) else ""
        except IngestionError as error:
            if ending.lower() in kinds:
                yield FailedSource(f"{path}: {name}", " ".join(filter(None, (error.what, error.remedy))))
        if said:
            text += f"\n## {name}\n\n{said}\n"
        elif name and file.is_attachment():  # what stands within the text is a picture of it
            unread.append(name)
    text += f"\nAttached: {', '.join(unread)}\n" if unread else ""
    if not (words.strip() or files):
        raise IngestionError("there is no text in it", where=str(path))
    document = described(require_text(text, path), path, title=fields.pop("Subject", ""))
    yield replace(document, metadata={name.lower(): value for name, value in fields.items()})


def _parts_of(path: Path) -> tuple[dict[str, str], str, list[EmailMessage]]:
    """Return the fields of a message, its text as Markdown, and what is attached; raises IngestionError."""
    message = BytesParser(EmailMessage, policy=policy.default).parsebytes(read_bytes(path))
    try:
        fields = {name: " ".join(str(message[name]).split()) for name in ("Subject", *_SHOWN) if message[name]}
        body = message.get_body(("plain", "html"))
        words = "" if body is None else str(body.get_content())
        files = [part for part in message.iter_attachments() if isinstance(part, EmailMessage)]
    except (LookupError, ValueError, AttributeError) as error:
        raise IngestionError(
            f"its text cannot be decoded ({error})",
            where=str(path),
            remedy="Open it in a mail program and save it anew.",
        ) from error
    if body is None or body.get_content_subtype() != "html":
        return fields, words, files
    if find_spec("markdownify") is None:
        raise needs_extra(path)
    return fields, html.markdown_of(words), files


def _text_of(content: bytes, ending: str, attached: Reader) -> str:
    """Return the text of an attachment whose name ends so; raises IngestionError where it has none."""
    with TemporaryDirectory(prefix="theworld-mail-") as folder:
        written = Path(folder) / f"attached{ending[:LONGEST_ENDING]}"  # its own name may be longer than a system's may
        written.write_bytes(content)
        return "\n\n".join(one.text for one in attached(written) if isinstance(one, SourceDocument)).strip()
