"""E-mail (.eml): subject as title, who wrote to whom and when, the text of the message and of what is attached to it.

Offsets refer to the Markdown that is made of it. A message written in HTML alone is read like a page; what is attached
is read as a file of its name would be, and only named where it holds no text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from theworld.errors import IngestionError
from theworld.ingestion.readers import html
from theworld.ingestion.readers.document import Reader, SourceDocument, read_bytes, require_text
from theworld.ingestion.readers.markdown import described

EXTENSIONS = (".eml",)
_SHOWN = ("From", "To", "Cc", "Date")


def read(path: Path, attached: Reader) -> Iterator[SourceDocument]:
    """Yield the message as one document; `attached` reads the file that an attachment is written to."""
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
    if body is not None and body.get_content_subtype() == "html":
        words = html.markdown_of(words)
    text = "\n".join([f"{name}: {fields[name]}" for name in _SHOWN if name in fields]) + f"\n\n{words.strip()}\n"
    for file in files:
        name = PurePath((file.get_filename() or "").replace("\\", "/")).name
        text += f"\n## {name}\n\n{_text_of(file, name, attached)}\n" if name else ""
    if not (words.strip() or files):
        raise IngestionError("there is no text in it", where=str(path))
    document = described(require_text(text, path), path, title=fields.pop("Subject", ""))
    yield replace(document, metadata={name.lower(): value for name, value in fields.items()})


def _text_of(file: EmailMessage, name: str, attached: Reader) -> str:
    """Return the text of an attachment, nothing where it has none or cannot be read."""
    content = file.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""  # a message within the message
    with TemporaryDirectory(prefix="theworld-mail-") as folder:
        written = Path(folder) / name
        written.write_bytes(content)
        try:
            found = [one.text for one in attached(written) if isinstance(one, SourceDocument)]
        except IngestionError:
            return ""
    return "\n\n".join(found).strip()
