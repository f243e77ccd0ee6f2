"""What mail programs save: messages (.eml, .mbox), calendars and contacts (iCalendar, vCard: RFC 5545, 6350).

Also pages that a browser saved with their pictures (.mht, .mhtml), which have the form of messages.

Offsets refer to the Markdown that is made of them. Of a message that is who wrote to whom and when, its text (written
in HTML alone, read like a page), and what is attached, read as a file of its kind and only named where there is none;
of a mailbox, a calendar or contacts a section for each message, event or person.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import date, timedelta
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from email.policy import EmailPolicy
from mailbox import mbox
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any

from theworld.errors import IngestionError
from theworld.ingestion.readers import html
from theworld.ingestion.readers.document import (
    Reader,
    SourceDocument,
    codec_of,
    decode,
    read_bytes,
    read_text,
    require_text,
    title_from_name,
)
from theworld.ingestion.readers.markdown import described
from theworld.ingestion.report import FailedSource

EXTENSIONS = (".eml",)
PAGES = (".mht", ".mhtml")
CALENDARS = (".ics", ".vcf")
LONGEST_ENDING = 20
_SHOWN = ("From", "To", "Cc", "Date")

_CODED = re.compile(r"(?<==\?)[\w-]+(?=\?[bqBQ]\?)|(?<=\*=)[\w-]+(?=')")
"""The encoding's name before a piece of a header: `=?gb2312?B?...`, `filename*=gb2312''...`."""
_FOLDED = re.compile(r"\r?\n[ \t]")
_FIELD = re.compile(r"(?:[\w-]+\.)?(?P<name>[\w-]+)(?P<options>(?:;(?:\"[^\"]*\"|[^\":;])*)*):(?P<value>.*)")
_MOMENT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_ESCAPED = re.compile(r"\\(.)")
_NAMES = {"DTSTART": "Start", "DTEND": "End", "DUE": "Due", "RRULE": "Repeats", "TEL": "Phone", "ADR": "Address"}
_DAYS = {
    "MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday", "SA": "Saturday",
    "SU": "Sunday",
}  # fmt: skip
_REPEATS = {"FREQ": "", "BYDAY": "on", "BYMONTHDAY": "on"}
_EVERY = {"daily": "days", "weekly": "weeks", "monthly": "months", "yearly": "years"}
_WHICH = re.compile(r"([+-]?)(\d*)([A-Z]*)")
_DURATION = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:\d+S)?)?")
_UNITS = ("weeks", "days", "h", "min")
MUCH_LONGER = 2
"""How many times as long as the plain text its page must be to be read instead of it: that says "See the HTML" then."""
_TITLES = ("SUMMARY", "FN")
_KEPT = {
    *_NAMES, "LOCATION", "DESCRIPTION", "ORGANIZER", "ATTENDEE", "URL", "CATEGORIES", "DURATION", "BDAY", "EMAIL",
    "NICKNAME", "NOTE", "ORG", "ROLE", "TITLE",
}  # fmt: skip


class _AsRead(EmailPolicy):
    """How the fields of a message are parsed: bytes that are not ASCII, which none may hold, by what they look like."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        """Return a field by its text as the parser found it, where bytes that are not ASCII are lone surrogates."""
        if not value.isascii():
            data = value.encode("utf-8", "surrogateescape")
            with suppress(IngestionError):
                value = decode(data, Path(name))
        return super().header_fetch_parse(name, _CODED.sub(lambda label: codec_of(label[0]), value))


_AS_READ: Any = _AsRead(refold_source="none")
"""Fields of attached messages stay as they are written."""


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
            name = name or " ".join(str(message["Subject"] or "message").split())
            content, ending = bytes(message), ".eml"
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


def read_mailbox(path: Path, attached: Reader) -> Iterator[SourceDocument | FailedSource]:
    """Yield a mailbox's one document, and what of its messages cannot be read, by their numbers."""
    read_bytes(path)  # an error where that is not possible
    sections = list[str]()
    with closing(mbox(path, create=False)) as box, TemporaryDirectory(prefix="theworld-mail-") as folder:
        for number, key in enumerate(box.iterkeys(), 1):
            message = Path(folder) / f"{number}.eml"
            message.write_bytes(box.get_bytes(key))
            try:
                for found in attached(message):
                    if isinstance(found, FailedSource):
                        yield replace(found, path=found.path.replace(str(message), f"{path}:{number}"))
                    else:
                        sections.append(f"## {found.title}\n\n" + found.text.replace("\n## ", "\n### "))
            except IngestionError as error:
                yield FailedSource(f"{path}:{number}", error.what)
    yield described(require_text("\n".join(sections), path), path, title=title_from_name(path))


def read_page(path: Path) -> Iterator[SourceDocument]:
    """Yield the one document of a page that a browser saved, as of the page itself."""
    message = _parsed(path)
    try:
        part = message.get_body(("html",))
        if part is None:
            raise IngestionError("there is no page in it", where=str(path), remedy="Save the page anew, as HTML.")
        yield html.page(_words_of(part, path), path, " ".join(str(message["Subject"] or "").split()))
    except (LookupError, ValueError, AttributeError) as error:
        raise _undecodable(path, error) from error


def _parsed(path: Path) -> EmailMessage:
    data = read_bytes(path)
    if marked := data.startswith((BOM_UTF8, BOM_UTF16_LE, BOM_UTF16_BE)):
        data = decode(data, path).encode()
    message: EmailMessage = BytesParser(EmailMessage, policy=_AS_READ).parsebytes(data)
    for part in message.walk() if marked else ():  # an editor saved it so, whatever it declares
        if str(part.get("Content-Transfer-Encoding", "8bit")).lower() in {"7bit", "8bit", "binary"}:
            part.set_param("charset", "utf-8")
    return message


def _undecodable(path: Path, error: Exception) -> IngestionError:
    remedy = "Open it in the program that saved it, and save it anew."
    return IngestionError(f"its text cannot be decoded ({error})", where=str(path), remedy=remedy)


def _words_of(part: MIMEPart, path: Path) -> str:
    """Return what a part says, in the encoding that it declares for itself, else as a file of its kind is read."""
    content = bytes(part.get_payload(decode=True))
    label = part.get_content_charset("us-ascii")
    if label != "us-ascii":
        return content.decode(codec_of(label), "replace")
    try:
        return html.markup_of(content, path) if part.get_content_subtype() == "html" else decode(content, path)
    except IngestionError:
        return content.decode("utf-8", "replace")


def _parts_of(path: Path) -> tuple[dict[str, str], str, list[EmailMessage]]:
    """Return the fields of a message, its text as Markdown, and what is attached; raises IngestionError."""
    message = _parsed(path)
    try:
        fields = {name: " ".join(str(message[name]).split()) for name in ("Subject", *_SHOWN) if message[name]}
        words = _body_of(message, path)
        files = [part for part in message.iter_attachments() if isinstance(part, EmailMessage)]
    except (LookupError, ValueError, AttributeError) as error:
        raise _undecodable(path, error) from error
    return fields, words, files


def _body_of(message: EmailMessage, path: Path) -> str:
    """Return what a message says: its plain text, or its page as Markdown where that says much more and can be read."""
    plain, page = (message.get_body((kind,)) for kind in ("plain", "html"))
    said = "" if plain is None else _words_of(plain, path)
    try:
        shown = "" if page is None else html.markdown_of(_words_of(page, path))
    except (LookupError, ValueError):
        if not said.strip():
            raise
        return said
    return said if len(said.strip()) * MUCH_LONGER > len(shown) else shown


def _text_of(content: bytes, ending: str, attached: Reader) -> str:
    """Return the text of an attachment whose name ends so; raises IngestionError where it has none."""
    with TemporaryDirectory(prefix="theworld-mail-") as folder:
        written = Path(folder) / f"attached{ending[:LONGEST_ENDING]}"  # its own name may be longer than a system's may
        written.write_bytes(content)
        return "\n\n".join(one.text for one in attached(written) if isinstance(one, SourceDocument)).strip()


def read_calendar(path: Path) -> Iterator[SourceDocument]:
    """Yield a calendar's or contacts file's one document, titled by its name for itself, else by the file's."""
    title, parts = "", list[str]()
    fields, within = list[tuple[str, str]](), list[str]()
    for line in _FOLDED.sub("", read_text(path)).splitlines():
        if (field := _FIELD.fullmatch(line.strip())) is None:
            continue
        name, value = field["name"].upper(), field["value"].strip()
        if name == "BEGIN":
            within.append(value.upper())
            fields = fields if within[-1] == "VALARM" else []
        elif name == "END":
            ended = within.pop() if within else ""
            if ended not in {"VALARM", "VTIMEZONE", "VCALENDAR", "STANDARD", "DAYLIGHT"} and fields:
                parts.append(_section(fields))
        elif name == "X-WR-CALNAME":
            title = value
        elif within[-1:] != ["VALARM"]:
            fields.append((name, _said(name, field["options"], value)))
    text = require_text("\n\n".join(parts), path)
    yield described(text, path, title=title or title_from_name(path), only_headings=True)


def _section(fields: list[tuple[str, str]]) -> str:
    heading = next((value for title in _TITLES for name, value in fields if name == title), "")
    end, start = (next((value for name, value in fields if name == wanted), "") for wanted in ("DTEND", "DTSTART"))
    if len(end) == len("2026-12-24") and end < start:  # some programs end a whole day with itself
        fields = [one for one in fields if one[0] != "DTEND"]
    rows = [f"- {_NAMES.get(name) or name.capitalize()}: {value}" for name, value in fields if name in _KEPT and value]
    return "\n".join([f"## {heading or '…'}", "", *rows])


def _said(name: str, options: str, value: str) -> str:
    """Return a field's value as a person writes it: moments as in ISO 8601, in the zone that it names."""
    if moment := _MOMENT.fullmatch(value):
        year, month, day, hour, minute, utc = moment.groups()
        if name == "DTEND" and not hour:  # of whole days the one after the last
            with suppress(ValueError):
                return str(date(int(year), int(month), int(day)) - timedelta(days=1))
        zone = re.search(r"TZID=\"?([^;\":]+)", options)
        clock = f" {hour}:{minute}" + (" UTC" if utc else f" ({zone[1]})" if zone else "") if hour else ""
        return f"{year}-{month}-{day}{clock}"
    if name == "DURATION" and (lasts := _DURATION.fullmatch(value)):
        return " ".join(f"{count} {unit}" for count, unit in zip(lasts.groups(), _UNITS, strict=True) if count)
    if name == "RRULE":
        return _repeats(value)
    if name in {"ATTENDEE", "ORGANIZER"} and (known := re.search(r"CN=\"?([^;\":]+)", options)):
        return known[1]
    if name in {"ADR", "ORG"}:
        value = ", ".join(part for part in value.split(";") if part)
    shown = _ESCAPED.sub(lambda one: " " if one[1] in "nN" else one[1], value.removeprefix("mailto:"))
    return " ".join(shown.split())


def _repeats(rule: str) -> str:
    """Return a rule of recurrence (RFC 5545) in words: "every 2 weeks, on Monday, until 2026-12-15"."""
    parts = dict(part.split("=", 1) for part in rule.split(";") if "=" in part)
    every = parts.pop("INTERVAL", "1")
    for name, value in parts.items():
        if name in {"BYDAY", "BYMONTHDAY"}:
            parts[name] = ", ".join(map(_which, value.split(",")))
        elif name == "FREQ":
            often = value.lower()
            parts[name] = often if every == "1" else f"every {every} {_EVERY.get(often, often)}"
        else:
            parts[name] = _said(name, "", value)
    return ", ".join(f"{_REPEATS.get(name, name.lower())} {value}".strip() for name, value in parts.items())


def _which(day: str) -> str:
    """Return a day of a rule in words: "the 4th Monday" for 4MO, "the last" for -1, "the 2nd last" for -2."""
    which = _WHICH.fullmatch(day.strip().upper())
    if which is None or not (which[2] or which[3] in _DAYS):
        return day
    number, name = which[2].lstrip("0"), _DAYS.get(which[3], which[3])
    if not number:
        return name
    ending = "th" if number[-2:-1] == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(number[-1], "th")
    ordinal = f"{number}{ending}"
    if which[1] == "-":
        ordinal = "last" if number == "1" else f"{ordinal} last"
    return f"the {ordinal} {name}".strip()
