"""The lines of AsciiDoc that count: without comments, with what a file includes and the values of attributes.

Attributes are those a file sets, and those of its component in Antora's `antora.yml`. What stands under a condition is
kept unless the text has another for the contrary: which attributes are set is often told to the program that builds a
manual, and known to no file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import yaml

from theworld.errors import IngestionError
from theworld.ingestion.readers.document import read_text
from theworld.ingestion.readers.folder import ASCIIDOC, nearest, resolved

_CHARACTERS = {
    "nbsp": " ", "sp": " ", "empty": "", "blank": "", "zwsp": "", "wj": "", "amp": "&", "lt": "<", "gt": ">",
    "plus": "+", "asterisk": "*", "vbar": "|", "tilde": "~", "caret": "^", "backtick": "`", "apos": "'", "quot": '"',
    "startsb": "[", "endsb": "]", "cpp": "C++", "deg": "°", "lsquo": "‘", "rsquo": "’", "ldquo": "“", "rdquo": "”",
}  # fmt: skip
"""Attributes that every document has."""
_SET = re.compile(r":(?P<off>!?)(?P<name>\w[\w-]*)(?P<unset>!?):(?:[ \t]+(?P<value>.*))?")
_USED = re.compile(r"(?<!\\)(?<!\$)\{(?:counter2?:)?(?P<name>\w[\w-]*)\}")
_DIRECTIVE = re.compile(r"(?P<kind>include|ifn?def|ifeval|endif)::(?P<target>[^\[]*)\[(?P<text>.*)\]\s*")
_CODE = re.compile(r"-{4,}|\.{4,}|\+{4,}|`{3}.*")
"""Begins a block in which only directives count."""
_CODE_MARK = re.compile(r"(?<=```).*")
_COMMENT = re.compile(r"//(?!/)|////+\Z")
_IF_NOT = re.compile(r"^ifndef::([^\[\n]+)\[", re.M)
_TAG_LINE = re.compile(r"\b(?P<kind>tag|end)::(?P<name>[^\[\]\s]+)\[\]")
UNDERLINES = "=-~^+"
"""Of headings on two lines, by level."""
OFFSET = ":leveloffset: "
"""Begins a line that says by how much the headings below are lower, counted from the document's own."""
_PASSED = re.compile(r"\Apass:\w*(?:,\w+)*\[(.*)\]\Z")
_LEVEL = re.compile(r"(?:[+-]?\d)?")
_LINES = re.compile(r"(\d+)(?:(\.\.)(\d*))?")
_NAMED = re.compile(r"(?P<name>[\w-]+)=(?:\"(?P<quoted>[^\"]*)\"|(?P<plain>[^,\"]*))")
MOST_INCLUDED, MOST_USED, LONGEST_VALUE = 500, 100, 1000
"""Files in a document, attributes in a line, characters of one; more is a mistake, or meant to fill memory."""


class Source:
    """The lines of a file and of those it includes, and the attributes that are set on the way."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path, self.root = path, root
        self.attributes = {**_CHARACTERS, **_of_component(path.parent, root)}
        self.described: dict[str, str] = {}
        """The attributes that the file itself sets: its author, keywords and the like."""
        self._files = 0

    def lines(self, text: str, path: Path, level: int = 0, within: Sequence[Path] = ()) -> Iterator[str]:
        """Yield the lines of a file that count; `level` is by how much its headings are lower, where it is included."""
        conditions, either = list[bool](), set(_IF_NOT.findall(text))
        given = iter(map(str.rstrip, text.splitlines()))
        code = before = ""  # what ends the block of code, and the line before
        for line in given:
            if found := _DIRECTIVE.fullmatch(line):
                kind, said = found["kind"], found["text"]
                holds = self._holds(kind, found["target"], either)
                if kind == "endif":
                    del conditions[-1:]
                elif kind != "include" and (kind == "ifeval" or not said):
                    conditions.append(holds)
                elif holds and all(conditions):
                    name = self.valued(found["target"])
                    yield from [said] if kind != "include" else self._included(path, name, said, level, within)
            elif not all(conditions) or _TAG_LINE.search(line):
                continue
            elif code or (_CODE.fullmatch(line) and not is_underline(before, line)):
                code = "" if line == code else code or _CODE_MARK.sub("", line)
                yield self.valued(line)
            elif _COMMENT.match(line):
                while line.startswith("////") and next(given, line) != line:  # of several lines
                    pass
            elif found := _SET.fullmatch(line):
                yield from self._set(found, given, level, own=not within)
            else:
                yield self.valued(line)
            before = line

    def valued(self, text: str) -> str:
        """Return a text with the values of the attributes it names; unknown ones keep their names in braces."""
        if not 0 < text.count("{") <= MOST_USED:
            return text
        return _USED.sub(lambda name: self.attributes.get(name["name"].lower(), name[0]), text)

    def _set(self, entry: re.Match[str], rest: Iterator[str], level: int, *, own: bool) -> Iterator[str]:
        """Set an attribute, whose value may go on in the next lines; yield the line that changes headings."""
        name, value = entry["name"].lower(), entry["value"] or ""
        while value.endswith(" \\"):
            value = f"{value[:-2]} {next(rest, '').strip()}"
        value = self.valued(_PASSED.sub(r"\1", value).strip())
        if name == "leveloffset":
            yield f"{OFFSET}{level + int(value or 0) if _LEVEL.fullmatch(value) else level}"
        elif entry["off"] or entry["unset"]:
            self.attributes.pop(name, None)
        else:
            self.attributes[name] = value[:LONGEST_VALUE]
            if own and value:
                self.described[name] = value

    def _holds(self, kind: str, names: str, either: Collection[str]) -> bool:
        """Return whether a condition may hold: of a text for `either` case, that of an attribute that is not set.

        Without such a text an attribute may be set elsewhere. Other directives hold.
        """
        given = any(name.strip() in self.attributes for name in re.split("[,+]", names))
        return {"ifdef": given or names not in either, "ifndef": not given}.get(kind, True)

    def _included(self, path: Path, name: str, said: str, level: int, within: Sequence[Path]) -> Iterator[str]:
        """Yield the lines of a file that another includes, as a whole or by tags or numbers; none where it is not."""
        found, options, text = resolved(path, self.root, name), named(said), ""
        self._files += 1
        if found is None or found in (*within, path.resolve()) or self._files > MOST_INCLUDED:
            return
        with suppress(IngestionError):  # what cannot be read is named where it is read as a document
            text = read_text(found)
        wanted = re.split("[,;]", options.get("tags", options.get("tag", "")))
        lines = list(_tagged(text, wanted)) if any(wanted) else text.splitlines()
        if spans := _LINES.findall(options.get("lines", "")):
            ends = (int(last or (len(lines) if to else first)) for first, to, last in spans)
            lines = [line for span, end in zip(spans, ends, strict=True) for line in lines[int(span[0]) - 1 : end]]
        if found.suffix.lower() in ASCIIDOC:
            offset = options.get("leveloffset", "0")
            lower = level + int(offset or 0) if _LEVEL.fullmatch(offset) else level
            yield f"{OFFSET}{lower}"
            yield from self.lines("\n".join(lines), found, lower, (*within, path.resolve()))
            yield f"{OFFSET}{level}"
        else:
            yield from (line for line in lines if not _TAG_LINE.search(line))


def is_underline(line: str, below: str) -> bool:
    """Return whether a line is that below a heading: of one sign, and about as long."""
    same = len(below) > 2 and below[0] in UNDERLINES and not below.strip(below[0])
    return same and abs(len(below) - len(line)) <= 2


def named(said: str) -> dict[str, str]:
    """Return the named values in a list of attributes."""
    return {one["name"]: one["quoted"] or one["plain"] or "" for one in _NAMED.finditer(said)}


def _tagged(text: str, wanted: Sequence[str]) -> Iterator[str]:
    """Yield the lines between the marks of some tags; of `!name`, those that are not."""
    refused = {name[1:] for name in wanted if name.startswith("!")}
    asked = {name for name in wanted if name and not name.startswith("!")}
    within = list[str]()
    for line in text.splitlines():
        if mark := _TAG_LINE.search(line):
            if mark["kind"] == "tag":
                within.append(mark["name"])
            elif mark["name"] in within:
                within.remove(mark["name"])
        elif not refused.intersection(within) and (not asked or "**" in asked or asked.intersection(within)):
            yield line


def _of_component(folder: Path, root: Path) -> dict[str, str]:
    """Return the attributes in the nearest `antora.yml` from a folder up to a root."""
    try:
        given = yaml.safe_load(nearest(folder, root, "antora.yml")) or {}
        found = {"page-component-title": given.get("title"), "page-component-version": given.get("version")}
        found |= (given.get("asciidoc") or {}).get("attributes") or {}
    except (ValueError, AttributeError, TypeError, yaml.YAMLError):
        return {}
    known = {str(name).lower(): value for name, value in found.items() if isinstance(value, str | int | float)}
    return {name: str(value).removesuffix("@") for name, value in known.items()}
