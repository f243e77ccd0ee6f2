"""Broken JSON read, and an honest account of what the reading changed.

A text that is valid JSON once comments, trailing commas and control characters are gone needs no more than the standard
parser. Any other is read by the json_repair library. Two things are added, because a repair may lose nothing without
saying so:

1. What the library would alter is given to it, or taken from it, as it stands: numbers that are none (`12:30`, `0789`,
   `50%`) stay text, a key without a value is null instead of an empty text, literals of Python and JavaScript are
   written as JSON first, control characters are removed, full-width marks count as marks.
2. The words of the text are compared with the words of the value; what is on one side only is reported.

The account (`Repaired.repairs`) is drawn up when it is asked for: most callers want the value alone.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from theworld.errors import ModelError
from theworld.packages import import_package
from theworld.structure.reading.foreign import BLANK, before, json_literals, without_comments
from theworld.structure.reading.provenance import changes, cleanings, invented, surplus
from theworld.structure.report import Repair

WINDOW = 4_000
MOST_FILLS = 8
MORE_FIELDS = re.compile(r"\s*+,\s*+(?:\"[^\"\n]{1,80}+\"|'[^'\n]{1,80}+')\s*+:")
"""After an object: it was closed too early."""
TOO_DEEP = re.compile(r"(?:[{\[][^{}\[\]]*+){120,}+")
WORD = re.compile(r"[^\s,，;；、{}\[\]()｝］\"'“”/#]++(?:/(?![/*])[^\s,{}\[\]()\"'/#]*+)*+")
NUMBER = re.compile(r"-?(?:0|[1-9][\d_]*)?(?:\.\d*)?(?:[eE][-+]?\d*)?[-+/]?")
OPENING = re.compile(r"[{\[]")
SURROGATES = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")
LENIENT = json.JSONDecoder(strict=False)
CONSTANTS = {"none": None, "nil": None, "undefined": None, "true": True, "false": False, "null": None}


class TooDeepError(ValueError):
    """The text is nested deeper than the library reads."""

    def __init__(self, position: int) -> None:
        self.position = position
        super().__init__(f"nested too deeply up to position {position}")


class LibraryMissingError(ValueError):
    """Only json_repair could read the text, and it is not installed; the message says how to install it."""


@dataclass
class Repaired:
    """A value read from broken text, and what it took."""

    raw: str
    """The text of the value."""
    end: int
    value: Any
    notes: list[str] | None = None
    """The library's messages, None where cleaning was enough."""
    cut: bool = False
    """Whether the library came to the end of the text."""

    @cached_property
    def truncated(self) -> bool:
        """True when the text broke off inside the value."""
        if not self.cut:
            return False
        raw = self.raw.rstrip("`; \t\r\n")
        brackets = "{}" if isinstance(self.value, dict) else "[]"
        return raw[-1:] not in ("}", "]") or surplus(raw, self.value, *brackets) > 0

    @cached_property
    def repairs(self) -> tuple[Repair, ...]:
        """Everything the reading changed, and `guess` where it may have."""
        if self.notes is None:
            return tuple(cleanings(self.raw))
        found = list(changes(self.raw, self.value, self.notes))
        if self.truncated:
            found.append(Repair("truncated", "the text breaks off inside the value"))
        return tuple(found) or (Repair("syntax", "not valid JSON as it stands: commas, quotes or brackets repaired"),)


def repair_json(text: str, start: int = 0, end: int | None = None) -> Repaired:
    """Read the object or array whose bracket is at `start`.

    The reader is shown a window of the text that grows while the value does not end in it: the library looks far ahead,
    and so the time stays linear in the text. Raises ValueError (TooDeepError, LibraryMissingError) when it finds none.
    """
    stop = len(text) if end is None else end
    deep = TOO_DEEP.match(text, start, stop) if stop - start > 120 else None
    if deep:
        innermost = [match.start() for match in OPENING.finditer(text, start, deep.end())][-100:]
        raise TooDeepError(innermost[0])
    width = WINDOW
    while True:
        limit = min(stop, start + width)
        shown = text[start:limit]
        repaired = _read_cleaned(shown) or _read(shown)
        if limit == stop or repaired.end < len(shown):
            repaired.end += start
            return repaired
        width *= 8


def _read_cleaned(text: str) -> Repaired | None:
    """Read a text that only has to be cleaned; None where that is not enough."""
    cleaned = without_comments(text)
    try:
        value, end = LENIENT.raw_decode(cleaned)
    except (ValueError, RecursionError):
        return None
    if MORE_FIELDS.match(text, end):
        return None
    as_it_is = cleaned[:end] == text[:end] and BLANK not in text[:end]
    return Repaired(text[:end], end, value if as_it_is else _without_blanks(value))


def _read(text: str) -> Repaired:
    """Read a text by the library, once more for each member whose value or colon is missing."""
    written, edits = json_literals(text)
    parser, value = _parse(written)
    fills: list[tuple[int, int]] = []
    while parser.missing and len(fills) < MOST_FILLS:
        position, new = parser.missing
        written = f"{written[:position]}{new}{written[position:]}"
        fills.append((position + len(new), len(new)))
        notes = parser.notes
        parser, value = _parse(written)
        parser.notes[:0] = notes
    if not isinstance(value, (dict, list)):
        raise ValueError("json_repair found no object or array")
    cut = parser.index > len(written)
    last = value if cut and written.rstrip().endswith(":") else None
    while last and isinstance(last, (dict, list)):  # null where the text breaks off before the last value
        place = next(reversed(last)) if isinstance(last, dict) else len(last) - 1
        last[place] = None if last[place] == "" else last[place]
        last = last[place]
    if BLANK in written or "\\u" in written:
        value = _without_blanks(value)
    end = min(parser.index, len(written))
    for fill in reversed(fills):
        end = before(end, [fill])
    end = max(before(end, edits), 1)
    if fills and invented(value, text[:end]):
        raise ValueError("json_repair made words that are not in the text")
    return Repaired(text[:end], end, value, parser.notes, cut=cut)


def _parse(written: str) -> tuple[Any, Any]:
    """Run the library's parser; return it and the value."""
    try:
        parser = parser_class()(written)
        return parser, parser.parse_json()
    except ModelError as error:
        raise LibraryMissingError(str(error)) from error
    except RecursionError as error:
        raise ValueError("nested too deeply for json_repair") from error
    except (IndexError, AssertionError, TypeError, AttributeError) as error:
        raise ValueError(f"json_repair failed: {type(error).__name__}: {error}") from error


@cache
def parser_class() -> Any:
    """Return the library's parser with what is kept of numbers, nulls and notes; the library is slow to import."""
    import_package("json_repair", extra="structured")
    from json_repair.json_parser import JSONParser

    class Parser(JSONParser):  # type: ignore[misc, unused-ignore]
        """Reads one value from the start of a text."""

        def __init__(self, text: str) -> None:
            super().__init__(text, None, True)
            self.notes: list[str] = []
            self.missing: tuple[int, str] | None = None

        def _log(self, text: str) -> None:
            self.notes.append(text)
            if "value we found a stray" in text:
                self.missing = self.missing or (self.index, " null")
            elif "missed a : after a key" in text:
                self.missing = self.missing or (self.index, ":")

        def parse_number(self) -> Any:
            """Read a number, or as text what is none: a time, a share, a code with leading zeros."""
            start, text = self.index, str(self.json_str)
            word = WORD.match(text, start)
            if word is None or NUMBER.fullmatch(word[0]) or not (word[0][-1].isdigit() or word[0][-1] == "%"):
                value = super().parse_number()
                return value if value not in (float("inf"), float("-inf")) else text[start : self.index]
            self.index = word.end()
            return word[0]

    return Parser


def _without_blanks(value: Any) -> Any:
    """Return plain data whose strings hold no control characters and no halves of a character."""
    if isinstance(value, str):
        text = value.replace(BLANK, "")
        return SURROGATES.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    if isinstance(value, dict):
        return {_without_blanks(key): _without_blanks(item) for key, item in value.items()}
    return [_without_blanks(item) for item in value] if isinstance(value, list) else value


def literal(token: str) -> Any:
    """Return the value of a bare token as JSON, Python or JavaScript write it; other words as text."""
    if token.lower() in CONSTANTS:
        return CONSTANTS[token.lower()]
    try:
        return json.loads(token) if len(token) < 400 else token
    except ValueError:
        return token
