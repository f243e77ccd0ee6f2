"""Broken JSON read by the json_repair library, and an honest account of what the reading changed.

The library finds the value; three things are added, because a repair may lose nothing without saying so:

1. What it would alter is given to it, or taken from it, as it stands: numbers that are none (`12:30`, `0789`, `50%`)
   stay text, a key without a value is null instead of an empty text, literals of Python and JavaScript are written as
   JSON first, control characters are removed, full-width marks count as marks.
2. The words of the text are compared with the words of the value; what is on one side only is reported.
3. A text that is valid JSON once comments, trailing commas and control characters are gone counts as cleaned only.

The account (`Repaired.repairs`) is drawn up when it is asked for: most callers want the value alone.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cached_property
from typing import Any

from theworld.extras import import_package
from theworld.structure.errors import shorten
from theworld.structure.reading.foreign import BLANK, Edit, before, filled, json_literals, without_comments
from theworld.structure.reading.provenance import INVISIBLE, invented, leaves, lost_words, texts_of
from theworld.structure.report import Repair

WINDOW = 4_000
MOST_FILLS = 8
TOO_DEEP = re.compile(r"(?:[{\[][^{}\[\]]*+){120,}+")
WORD = re.compile(r"[^\s,，;；、{}\[\]()｝］\"'“”/#]++(?:/(?![/*])[^\s,{}\[\]()\"'/#]*+)*+")
NUMBER = re.compile(r"-?(?:0|[1-9][\d_]*)?(?:\.\d*)?(?:[eE][-+]?\d*)?[-+/]?")
OPENING = re.compile(r"[{\[]")
NUMERAL = re.compile(r"(?<![\w.])-?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
SYMBOL = re.compile(r"[^\w\s\"'`{}\[\](),:;.…+“”‘’：，；、｛｝［］\\/=#*-]")
"""What is neither of a word nor a mark of JSON, Python or prose."""
COMMENT = re.compile(
    r"\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z)|(?P<comment>//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/|\#[^\n]*+)",
    re.DOTALL,
)
SURROGATES = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")
KINDS = (
    ("comment", "comment"),
    ("stray '...'", "ellipsis"),
    ("value we found a stray", "missing-value"),
    ("invalidate the string", "dropped"),
    ("literal instead of a quote", "unquoted"),
    ("None literal", "literal"),
    ("missed a :", "missing-colon"),
    ("belongs to the string", "inner-quote"),
    ("different meaning here", "inner-quote"),
    ("quoted span", "inner-quote"),
    ("escape", "escape"),
    ("quote", "quote"),
    ("clos", "closer"),
    ("brace", "closer"),
)
"""Words in a message of the library, and the kind of repair it tells of; the first that occurs counts."""


class Repaired:
    """A value read from broken text, where it ends, and what it took."""

    def __init__(self, text: str, start: int, end: int, value: Any, *, notes: list[str], cut: bool) -> None:
        self.text, self.start, self.end, self.value = text, start, end, value
        self._notes, self._cut = notes, cut

    @cached_property
    def truncated(self) -> bool:
        """True when the text broke off inside the value."""
        if not self._cut:
            return False
        raw = self.text[self.start : self.end].rstrip("`; \t\r\n")
        brackets = "{}" if isinstance(self.value, dict) else "[]"
        return raw[-1:] not in ("}", "]") or _surplus(raw, self.value, *brackets) > 0

    @cached_property
    def repairs(self) -> tuple[Repair, ...]:
        """Everything the reading changed, and `guess` where it may have; never empty."""
        raw = self.text[self.start : self.end]
        cleaned = _cleaning(raw, self.value)
        if cleaned:
            return cleaned
        kinds = {_kind(message): message for message in reversed(self._notes)}
        found = [Repair(kind, _cut(kinds[kind].split(", ignoring")[0])) for kind in reversed(kinds)]
        found += _changes(raw, self.value)
        if self.truncated:
            found.append(Repair("truncated", "the text breaks off inside the value"))
        return tuple(found) or (Repair("syntax", "not valid JSON as it stands: commas, quotes or brackets repaired"),)


class TooDeepError(ValueError):
    """The text is nested deeper than the library reads."""

    def __init__(self, position: int) -> None:
        self.position = position
        super().__init__(f"nested too deeply up to position {position}")


def repair_json(text: str, start: int = 0, end: int | None = None, *, growing: bool = False) -> Repaired:
    """Read the object or array whose bracket is at `start`; `growing` keeps values stable while a text is written.

    The library is shown a window of the text that grows while the value does not end in it: it looks far ahead, and
    so the time stays linear in the text. Raises TooDeepError, ValueError when the library finds nothing.
    """
    stop = len(text) if end is None else end
    deep = TOO_DEEP.match(text, start, stop) if stop - start > 120 else None
    if deep:
        innermost = [match.start() for match in OPENING.finditer(text, start, deep.end())][-100:]
        raise TooDeepError(innermost[0])
    width = WINDOW
    while True:
        limit = min(stop, start + width)
        repaired = _read(text, start, limit, growing)
        if limit == stop or repaired.end < limit:
            return repaired
        width *= 8


def _read(text: str, start: int, limit: int, growing: bool) -> Repaired:
    """Read what stands between two positions."""
    written, edits = json_literals(text[start:limit])
    parser, value = _parse(written, growing)
    fills: list[list[Edit]] = []
    while parser.missing and len(fills) < MOST_FILLS:
        written, added = filled(written, parser.missing)
        fills.append(added)
        notes = parser.notes
        parser, value = _parse(written, growing)
        parser.notes[:0] = notes
    if not isinstance(value, (dict, list)):
        raise ValueError("json_repair found no object or array")
    cut = parser.index > len(written)
    if cut and written.rstrip().endswith(":"):
        _end_with_null(value)
    if BLANK in written or "\\u" in written:
        value = _plain(value)
    end = min(parser.index, len(written))
    for added in (*reversed(fills), edits):
        end = before(end, added)
    if fills and invented(value, text[start : start + end]):
        raise ValueError("json_repair made words that are not in the text")
    return Repaired(text, start, max(start + end, start + 1), value, notes=parser.notes, cut=cut)


def _parse(written: str, growing: bool) -> tuple[Any, Any]:
    """Run the library's parser; return it and the value."""
    parser = (_PARSER or _parser_class())(written, growing)
    try:
        return parser, parser.parse_json()
    except RecursionError as error:
        raise ValueError("nested too deeply for json_repair") from error
    except (IndexError, AssertionError, TypeError, AttributeError) as error:
        raise ValueError(f"json_repair failed: {type(error).__name__}: {error}") from error


def _end_with_null(value: Any) -> None:
    """Make the last value null where the text breaks off before it."""
    while value and isinstance(value, (dict, list)):
        last = next(reversed(value)) if isinstance(value, dict) else len(value) - 1
        if value[last] == "":
            value[last] = None
        value = value[last]


def literal(token: str) -> Any:
    """Return the value of a bare token as JSON, Python or JavaScript write it; other words as text."""
    constants = {"none": None, "nil": None, "undefined": None, "true": True, "false": False, "null": None}
    if token.lower() in constants:
        return constants[token.lower()]
    try:
        return json.loads(token) if len(token) < 400 else token
    except ValueError:
        return token


_PARSER: Any = None


def _parser_class() -> Any:
    """Return the library's parser with what is kept of numbers, nulls and notes; built once."""
    global _PARSER  # noqa: PLW0603 - the library is slow to import
    if _PARSER is None:
        import_package("json_repair", extra="structured")
        from json_repair.json_parser import JSONParser

        class Parser(JSONParser):  # type: ignore[misc, unused-ignore]
            """Reads one value from the start of a text."""

            def __init__(self, text: str, growing: bool) -> None:
                super().__init__(text, None, True, stream_stable=growing)
                self.notes: list[str] = []
                self.missing: list[tuple[int, str]] = []

            def _log(self, text: str) -> None:
                self.notes.append(text)
                if "value we found a stray" in text and not self.missing:
                    self.missing.append((self.index, " null"))
                elif "missed a : after a key" in text and not self.missing:
                    self.missing.append((self.index, ":"))

            def parse_number(self) -> Any:
                """Read a number, or as text what is none: a time, a share, a code with leading zeros."""
                start, text = self.index, str(self.json_str)
                word = WORD.match(text, start)
                if word is None or NUMBER.fullmatch(word[0]) or not (word[0][-1].isdigit() or word[0][-1] == "%"):
                    value = super().parse_number()
                    return value if value not in (float("inf"), float("-inf")) else text[start : self.index]
                self.index = word.end()
                return word[0]

        _PARSER = Parser
    return _PARSER


def _plain(value: Any) -> Any:
    """Return plain data whose strings hold no control characters and no halves of a character."""
    if isinstance(value, str):
        text = value.replace(BLANK, "")
        return SURROGATES.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _surplus(raw: str, value: Any, first: str, second: str) -> int:
    """Return how many more of one mark than of another a text has outside the strings of its value."""
    inside = texts_of(value)
    return raw.count(first) - raw.count(second) - inside.count(first) + inside.count(second)


def _cleaning(raw: str, value: Any) -> tuple[Repair, ...]:
    """Return the repairs of a text that cleaning alone makes the JSON of this value, else none."""
    cleaned = without_comments(raw)
    try:
        if json.loads(cleaned, strict=False) != value:
            return ()
    except (ValueError, RecursionError):
        return ()
    found = [Repair("comment", "comment", (), _cut(m["comment"])) for m in COMMENT.finditer(raw) if m["comment"]]
    if cleaned.count(",") < COMMENT.sub(lambda match: "" if match["comment"] else match[0], raw).count(","):
        found.append(Repair("trailing-comma", "comma before a closing bracket"))
    if INVISIBLE.search(raw):
        found.append(Repair("control", "control characters removed"))
    return tuple(found) or (Repair("line-break", "line break inside a string"),)


def _kind(message: str) -> str:
    return next((kind for words, kind in KINDS if words in message), "syntax")


def _changes(raw: str, value: Any) -> list[Repair]:
    """Return what is in the text and not in the value, and the other way round."""
    text = without_comments(raw)
    numbers = [item for _, item in leaves(value) if isinstance(item, (int, float)) and not isinstance(item, bool)]
    rest = _without_numbers(text, numbers)
    lost = [
        *lost_words(rest, _texts(value)),
        *(Counter(SYMBOL.findall(text)) - Counter(SYMBOL.findall(texts_of(value)))),
    ]
    found = [Repair("dropped", "text that is not in the value", (), _cut(" ".join(lost)))] if lost else []
    found += [Repair("changed", "not written so in the text", path, None, new) for path, new in invented(value, text)]
    if INVISIBLE.search(raw):
        found.append(Repair("control", "control characters removed"))
    paired = not any(_surplus(text, value, *pair) for pair in ("{}", "[]", "“”"))
    if not paired or _surplus(text, value, '"', "\0") % 2:
        found.append(Repair("guess", "marks or brackets do not pair: where a text or value ends is a guess"))
    return found


def _texts(value: Any) -> Any:
    """Return plain data less its numbers."""
    if isinstance(value, dict):
        return {key: _texts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_texts(item) for item in value]
    return value if isinstance(value, (str, bool)) else None


def _without_numbers(text: str, numbers: list[int | float]) -> str:
    """Return a text less the numbers given, however it writes them (`5.00`, `1e5`)."""
    left = Counter(map(float, numbers))

    def found(match: re.Match[str]) -> str:
        number = float(match[0].replace("_", ""))
        left[number] -= 1
        return " " if left[number] >= 0 else match[0]

    return NUMERAL.sub(found, text) if numbers else text


def _cut(text: str) -> str:
    return shorten(text, 200)
