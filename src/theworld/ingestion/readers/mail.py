"""What mail programs save: messages (.eml), calendars and contacts (iCalendar, vCard: RFC 5545, 6350).

Offsets refer to the Markdown that is made of them. Of a message that is who wrote to whom and when, its text (written
in HTML alone, read like a page), and what is attached, read as a file of its kind and only named where there is none;
of a calendar or contacts a section for each event or person.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from theworld.errors import IngestionError
from theworld.ingestion.readers import html
from theworld.ingestion.readers.document import (
    Reader,
    SourceDocument,
    read_bytes,
    read_text,
    require_text,
    title_from_name,
)
from theworld.ingestion.readers.markdown import described
from theworld.ingestion.report import FailedSource

EXTENSIONS = (".eml",)
CALENDARS = (".ics", ".vcf")
LONGEST_ENDING = 20
_SHOWN = ("From", "To", "Cc", "Date")

_FOLDED = re.compile(r"\r?\n[ \t]")
_FIELD = re.compile(r"(?:[\w-]+\.)?(?P<name>[\w-]+)(?P<options>(?:;(?:\"[^\"]*\"|[^\":;])*)*):(?P<value>.*)")
_MOMENT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_ESCAPED = re.compile(r"\\(.)")
_NAMES = {"DTSTART": "Start", "DTEND": "End", "DUE": "Due", "RRULE": "Repeats", "TEL": "Phone", "ADR": "Address"}
_DAYS = {
    "MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday", "SA": "Saturday",
    "SU": "Sunday",
}  # fmt: skip
_REPEATS = {"FREQ": "", "INTERVAL": "every", "BYDAY": "on"}
_DURATION = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:\d+S)?)?")
_UNITS = ("weeks", "days", "h", "min")
_TITLES = ("SUMMARY", "FN")
_KEPT = {
    *_NAMES, "LOCATION", "DESCRIPTION", "ORGANIZER", "ATTENDEE", "URL", "CATEGORIES", "DURATION", "BDAY", "EMAIL",
    "NICKNAME", "NOTE", "ORG", "ROLE", "TITLE",
}  # fmt: skip


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
    of_a_page = body is not None and body.get_content_subtype() == "html"
    return fields, html.markdown_of(words) if of_a_page else words, files


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
    """Return a rule of recurrence (RFC 5545) in words: "weekly, every 2, on Monday, until 2026-12-15"."""
    parts = dict(part.split("=", 1) for part in rule.split(";") if "=" in part)
    for name, value in parts.items():
        if name == "BYDAY":
            parts[name] = ", ".join(_DAYS.get(day, day) for day in value.split(","))
        else:
            parts[name] = value.lower() if name == "FREQ" else _said(name, "", value)
    return ", ".join(f"{_REPEATS.get(name, name.lower())} {value}".strip() for name, value in parts.items())
