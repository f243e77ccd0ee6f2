"""Formats of lines: calendars and contacts (iCalendar, vCard: RFC 5545, 6350) and subtitles (WebVTT, SubRip).

Offsets refer to the Markdown that is made of them: a section for each event or contact, its fields below; what is said
in paragraphs, each with the time at which it begins and who speaks, where that is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from theworld.ingestion.readers.document import SourceDocument, read_text, require_text, title_from_name
from theworld.ingestion.readers.markdown import described

CALENDARS, SUBTITLES = (".ics", ".vcf"), (".srt", ".vtt")
FULL_PARAGRAPH = 300
"""Characters of what is said from which the end of a sentence ends the paragraph."""

_FOLDED = re.compile(r"\r?\n[ \t]")
_FIELD = re.compile(r"(?:[\w-]+\.)?(?P<name>[\w-]+)(?P<options>(?:;(?:\"[^\"]*\"|[^\":])*)*):(?P<value>.*)")
_MOMENT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_ESCAPED = re.compile(r"\\(.)")
_NAMES = {"DTSTART": "Start", "DTEND": "End", "DUE": "Due", "RRULE": "Repeats", "TEL": "Phone", "ADR": "Address"}
_TITLES = ("SUMMARY", "FN")
_SHOWN = {
    *_NAMES, "LOCATION", "DESCRIPTION", "ORGANIZER", "ATTENDEE", "URL", "CATEGORIES", "DURATION", "BDAY", "EMAIL",
    "NICKNAME", "NOTE", "ORG", "ROLE", "TITLE",
}  # fmt: skip
_CUE = re.compile(r"(?:(\d+):)?(\d\d):(\d\d)[.,]\d+\s+\Z")
_SPEAKER = re.compile(r"<v(?:\.[\w.]+)?\s+([^>]+)>")
_TAG = re.compile(r"</?[^<>\n]*>|\{\\[^{}]*\}")
_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’)]*$")


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
    yield described(require_text("\n\n".join(parts), path), path, title=title or title_from_name(path))


def _section(fields: list[tuple[str, str]]) -> str:
    heading = next((value for title in _TITLES for name, value in fields if name == title), "")
    rows = [f"- {_NAMES.get(name) or name.capitalize()}: {value}" for name, value in fields if name in _SHOWN and value]
    return "\n".join([f"## {heading or '…'}", "", *rows])


def _said(name: str, options: str, value: str) -> str:
    """Return a field's value as a person writes it: moments as in ISO 8601, in the zone that it names."""
    if moment := _MOMENT.fullmatch(value):
        year, month, day, hour, minute, utc = moment.groups()
        zone = re.search(r"TZID=\"?([^;\":]+)", options)
        clock = f" {hour}:{minute}" + (" UTC" if utc else f" ({zone[1]})" if zone else "") if hour else ""
        return f"{year}-{month}-{day}{clock}"
    if name in {"ATTENDEE", "ORGANIZER"} and (known := re.search(r"CN=\"?([^;\":]+)", options)):
        return known[1]
    if name in {"ADR", "ORG"}:
        value = ", ".join(part for part in value.split(";") if part)
    shown = _ESCAPED.sub(lambda one: " " if one[1] in "nN" else one[1], value.removeprefix("mailto:"))
    return " ".join(shown.split())


def read_subtitles(path: Path) -> Iterator[SourceDocument]:
    """Yield the one document of subtitles, or of a meeting's transcript."""
    parts, said, speaker = list[str](), "", ""
    for block in read_text(path).replace("\r\n", "\n").split("\n\n"):
        cue, _, words = block.rpartition("-->")
        named, time = _SPEAKER.search(words), _CUE.search(cue)
        who, words = named[1].strip() if named else "", " ".join(_TAG.sub("", words.partition("\n")[2]).split())
        if not time or not words:
            continue
        if not parts or who != speaker or (len(said) >= FULL_PARAGRAPH and _SENTENCE_END.search(said)):
            parts.append(f"[{int(time[1] or 0)}:{time[2]}:{time[3]}] " + f"{who}: " * bool(who))
            said, speaker = "", who
        said += words
        parts[-1] += f"{words} "
    yield SourceDocument(title_from_name(path), require_text("\n\n".join(map(str.strip, parts)), path))
