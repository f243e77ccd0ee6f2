"""Strings as models write them: where one really ends, and what its escapes mean.

A quotation mark ends a string only if what follows can follow a string in its role (key, value, item);
otherwise it is text. So unescaped quotation marks survive, and a missing one does not swallow the next field.
"""

from __future__ import annotations

import re
from functools import lru_cache

from theworld.structure.brackets import COMMAS
from theworld.structure.cursor import QUOTES, Cursor
from theworld.structure.patterns import (
    BARE_KEY,
    BLOCK_END,
    CLOSED_QUOTE,
    ITEM_AHEAD,
    KEY_AHEAD,
    KEY_BEFORE,
    KEY_WITH_VALUE,
    LONE_KEY_AHEAD,
    MISSED_KEY_END,
    NEXT_PAIR,
    QUOTED_KEY,
)

KEY, VALUE, ITEM = "key", "value", "item"
COLONS = ":："
DOUBLED = re.compile(r"\"[^\"\s,:}\]][^\"\n]{0,500}+\"\"\s*+[,}\]:]")
EMBEDDED = re.compile(r"[\[{][\[{\s]{0,20}\"")
BRACKET = re.compile(r"[\[\]{}]")
LONGEST_EMBEDDED = 5_000
NEXT_OBJECT = re.compile(r"\s*[}\]]\s*,?\s*\{\s*$")
LONE_NUMBER = re.compile(r"-?[\d.]+\s*+(?:[,\]]|$)")
CONTROL = re.compile(r"[\x00-\x1f]")
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", "\n": ""}
SURROGATES = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")
TRIPLE = re.compile(r'"""|\'\'\'')


@lru_cache(maxsize=32)
def _upto(closers: str) -> re.Pattern[str]:
    """Match text up to the next mark that is not escaped."""
    marks = re.escape(closers)
    return re.compile(rf"[^{marks}\\]*+(?:\\.[^{marks}\\]*+)*+", re.DOTALL)


def read_string(cursor: Cursor, pos: int, role: str, *, raw: bool = False) -> tuple[str, int]:
    """Read the string whose opening mark is at `pos`; return its text and the position after it.

    `raw` leaves backslashes as they are, for Python's `r"..."`.
    """
    mark = cursor.text[pos]
    if TRIPLE.match(cursor.text, pos, cursor.end):
        tripled = _read_tripled(cursor, pos)
        if tripled:
            return tripled
    start = pos + 1
    if mark != '"':
        cursor.note_once("quote", f"{mark} is not a JSON quotation mark", mark, '"')
    elif _is_doubled(cursor, start, mark):
        start += 1
    stop, after = _find_end(cursor, start, mark, role)
    if start == pos + 2:
        stop -= cursor.text[stop - 1] == mark
    return (cursor.text[start:stop] if raw else unescape(cursor, cursor.text[start:stop], mark)), after


def _read_tripled(cursor: Cursor, pos: int) -> tuple[str, int] | None:
    """Read a Python triple-quoted string."""
    marks = cursor.text[pos : pos + 3]
    if (marks, "tripled", cursor.end) in cursor.unclosed:
        return None
    stop = cursor.text.find(marks, pos + 3, cursor.end)
    if stop < 0:
        cursor.unclosed.add((marks, "tripled", cursor.end))
        return None
    cursor.note("quote", "triple quotation marks", marks, '"')
    return cursor.text[pos + 3 : stop], stop + 3


def _is_doubled(cursor: Cursor, start: int, mark: str) -> bool:
    """Return True at the second mark of `""words""`; `""` alone is an empty string."""
    if mark != '"' or not DOUBLED.match(cursor.text, start, cursor.end):
        return False
    cursor.note("quote", "doubled quotation mark", '""', mark)
    return True


def _find_end(cursor: Cursor, start: int, mark: str, role: str) -> tuple[int, int]:
    """Return where the text of a string stops and where reading goes on."""
    if (mark, role, cursor.end) in cursor.unclosed:
        return _unclosed(cursor, start, role)
    if mark == '"' and EMBEDDED.match(cursor.text, start, cursor.end):
        stop = _embedded_end(cursor, start)
        if stop >= 0:
            cursor.note("inner-quote", "JSON inside a string without escapes", cursor.text[start:stop])
            return stop, stop + 1
    text, end, upto = cursor.text, cursor.end, _upto(QUOTES[mark])
    inner: list[int] = []
    scan = start
    while True:
        match = upto.match(text, scan, end)
        stop = match.end() if match else end
        if stop >= end or text[stop] == "\\":
            cursor.unclosed.add((mark, role, end))
            return _unclosed(cursor, start, role)
        if _may_close(cursor, stop, role, inner):
            return _settle(cursor, start, stop, role, inner)
        split = _missing_end(cursor, start, stop, role)
        if split >= 0:
            cursor.note("quote", "closing quotation mark missing", text[start:split])
            return _trim_mark(text, start, split), split
        inner.append(stop)
        scan = stop + 1


def _embedded_end(cursor: Cursor, start: int) -> int:
    """Return where a string ends that holds unescaped JSON, `"{"a": 1}"`: at the mark after its last bracket; or -1."""
    depth, position = 0, start
    limit = min(cursor.end, start + LONGEST_EMBEDDED)
    for match in BRACKET.finditer(cursor.text, start, limit):
        depth += 1 if match[0] in "{[" else -1
        if depth == 0:
            position = match.end()
            break
    if not depth and cursor.char(position) == '"':
        following = cursor.space(position + 1)
        return position if following >= cursor.end or cursor.text[following] in ",}]" else -1
    return -1


def _may_close(cursor: Cursor, stop: int, role: str, inner: list[int]) -> bool:
    """Return True when the mark at `stop` can end a string in this role."""
    nxt = cursor.space(stop + 1)
    if nxt >= cursor.end:
        return True
    char = cursor.text[nxt]
    if role == KEY:
        return _may_close_key(cursor, stop, nxt, char)
    if char in COMMAS:
        return _comma_follows(cursor, nxt, role, inner)
    if char in "}]｝］":
        char = {"｝": "}", "］": "]"}.get(char, char)
        return char == cursor.stack[-1].close or cursor.inside(char) or cursor.space(nxt + 1) >= cursor.end
    if char in "/#+)`":
        return _odd_follow(cursor, stop, nxt, char)
    return (_field_follows if role == VALUE else _item_follows)(cursor, stop, nxt, char)


def _field_follows(cursor: Cursor, stop: int, nxt: int, char: str) -> bool:
    """Return True when another field follows without a comma: `"a": "x" "b": 1`, or an unquoted key on a new line."""
    newline = "\n" in cursor.text[stop + 1 : nxt]
    if char not in QUOTES:
        return newline and bool(BARE_KEY.match(cursor.text, nxt, cursor.end))
    apart = newline or nxt > stop + 1 or cursor.text[stop] == char
    return apart and bool(QUOTED_KEY.match(cursor.text, nxt, cursor.end))


def _may_close_key(cursor: Cursor, stop: int, nxt: int, char: str) -> bool:
    if char in COLONS or char in ",}，" or (char == "=" and nxt > stop):
        return True
    if nxt == stop + 1:
        return char in "{[" or (char in QUOTES and cursor.text[nxt + 1 : nxt + 2] not in COLONS)
    return char in QUOTES or char in "{[-" or char.isdigit() or bool(ITEM_AHEAD.match(cursor.text, nxt, cursor.end))


def _comma_follows(cursor: Cursor, comma: int, role: str, inner: list[int]) -> bool:
    """Return True when the comma separates fields or items rather than words of the text."""
    text, end = cursor.text, cursor.end
    if role == VALUE:
        if KEY_AHEAD.match(text, comma + 1, end):
            return True
        return len(inner) % 2 == 0 and bool(LONE_KEY_AHEAD.match(text, comma + 1, end))
    if not ITEM_AHEAD.match(text, comma + 1, end):
        return False
    return len(inner) % 2 == 0 or not _opens(text, inner[-1]) or _after_comma(text, inner[-1])


def _odd_follow(cursor: Cursor, stop: int, nxt: int, char: str) -> bool:
    """Decide about a comment, a concatenation, the end of a call or of a fence after a string."""
    rest = cursor.text[nxt : nxt + 3]
    if char == "+":
        following = cursor.char(cursor.space(nxt + 1))
        return bool(following) and following in QUOTES
    if char == ")":
        return cursor.inside(")")
    return rest[:2] in ("//", "/*") or (char == "#" and nxt > stop + 1) or rest == "```"


def _item_follows(cursor: Cursor, stop: int, nxt: int, char: str) -> bool:
    """Return True when another item follows without a comma: `"a" "b"`, `"c" 1`, `"d" {`."""
    if char == ":":
        return cursor.inside("}")
    if nxt == stop + 1:
        return False
    if char in QUOTES:
        return not cursor.text[stop - 1].isspace() and not cursor.text[nxt + 1 : nxt + 2].isspace()
    if "\n" in cursor.text[stop + 1 : nxt]:
        return True
    return char in "{[" or bool(LONE_NUMBER.match(cursor.text, nxt, cursor.end))


def _opens(text: str, mark: int) -> bool:
    """Return True for a mark that stands like an opening one: nothing or punctuation before it, a word after it."""
    return not text[mark - 1].isalnum() and not text[mark + 1 : mark + 2].isspace()


def _after_comma(text: str, mark: int) -> bool:
    return text[max(0, mark - 40) : mark].rstrip().endswith((",", "，"))


def _settle(cursor: Cursor, start: int, stop: int, role: str, inner: list[int]) -> tuple[int, int]:
    """Accept the end found, unless marks inside show that an item before it was never closed."""
    if role == ITEM and len(inner) % 2:
        for mark in inner:
            if mark > start and _after_comma(cursor.text, mark) and _opens(cursor.text, mark):
                split = _before_comma(cursor.text, start, mark)
                cursor.note("quote", "closing quotation mark missing", cursor.text[start:split])
                return split, split
    if inner:
        cursor.note("inner-quote", "unescaped quotation mark inside a string", cursor.text[start:stop])
    return stop, stop + 1


def _before_comma(text: str, start: int, mark: int) -> int:
    """Return the position of the comma before `mark`, less the white space before that."""
    stop = mark
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    if stop > start and text[stop - 1] in ",，":
        stop -= 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return stop


def _missing_end(cursor: Cursor, start: int, mark: int, role: str) -> int:
    """Return where a string ended whose closing mark is missing before `mark`, or -1."""
    text, end = cursor.text, cursor.end
    if role == KEY:
        missed = MISSED_KEY_END.match(text, start, mark)
        return start + len(missed[1].rstrip()) if missed and text[missed.end() : missed.end() + 1] != "/" else -1
    if role != VALUE:
        return -1
    if QUOTED_KEY.match(text, mark, end):
        split = _before_key(text, start, mark, end)
        if split >= 0:
            return split
    tail = max(start, mark - 100)
    before = KEY_BEFORE.search(text[tail:mark])
    if before and CLOSED_QUOTE.match(text, mark, end) and (before.start() or tail > start):
        return _before_comma(text, start, tail + before.start(1))
    return -1


def _before_key(text: str, start: int, mark: int, end: int) -> int:
    """Return where a string ended before the quoted key at `mark`, or -1 when the key belongs to the text."""
    tail = max(start, mark - 60)
    boundary = NEXT_OBJECT.search(text[tail:mark])
    if boundary:
        return tail + boundary.start()
    if text[tail:mark].rstrip().endswith(("{", "[", "(")):
        return -1
    split = _before_comma(text, start, mark)
    between = text[split:mark]
    separated = "," in between or "，" in between or "\n" in between
    return split if separated or KEY_WITH_VALUE.match(text, mark, end) else -1


def _unclosed(cursor: Cursor, start: int, role: str) -> tuple[int, int]:
    """Settle a string without a closing mark: up to the next pair, the closing brackets, or the end of the text."""
    text, end = cursor.text, cursor.end
    if role == KEY:
        missed = MISSED_KEY_END.match(text, start, end)
        if missed:
            cursor.note("quote", "closing quotation mark missing", missed[1])
            return missed.end(1), missed.end(1)
    stop = _closing_block(cursor, start)
    if stop < 0:
        cursor.truncated = True
        cursor.note("truncated", "the text breaks off inside a string", text[start:end])
        return end, end
    stop = _next_pair(text, start, stop) if role == VALUE else stop
    cursor.note("quote", "closing quotation mark missing", text[start:stop])
    return _trim_mark(text, start, stop), stop


def _trim_mark(text: str, start: int, stop: int) -> int:
    r"""Leave out a closing mark of another kind, or one that was escaped by mistake: `"a fox,\"}`."""
    if stop - 2 >= start and text[stop - 2 : stop] in ('\\"', "\\'"):
        return stop - 2
    for opening, closing in ("“”", "‘’", '""'):
        if text[start:stop].endswith(closing) and text.find(opening, start, stop - 1) < 0:
            return stop - 1
    return stop


def _next_pair(text: str, start: int, stop: int) -> int:
    """Return where a comma or line break introduces another field before `stop`, or `stop`."""
    for match in NEXT_PAIR.finditer(text, start, stop):
        if not {",", "\n"}.isdisjoint(text[match.start() : match.start(1)]):
            return match.start()
    return stop


def _closing_block(cursor: Cursor, start: int) -> int:
    """Return where the brackets begin that close everything open, at the end of a line; -1 if there are none."""
    wanted = cursor.closers()
    known, position = cursor.block
    if known == wanted and position >= start:
        return position
    for match in BLOCK_END.finditer(cursor.text, start, cursor.end):
        if re.sub(r"[\s;`]", "", match[1]).endswith(wanted):
            position = _step_back(cursor.text, match.end(1), len(wanted), start)
            cursor.block = (wanted, position)
            return position
    return -1


def _step_back(text: str, pos: int, brackets: int, start: int) -> int:
    """Go back over `brackets` closing brackets and the white space before them."""
    while brackets:
        pos -= 1
        brackets -= text[pos] in "}])"
    while pos > start and text[pos - 1].isspace():
        pos -= 1
    return pos


def unescape(cursor: Cursor, raw: str, mark: str = '"') -> str:
    """Resolve the escapes of a string; what is no escape stays as it stands."""
    if "\\" not in raw:
        if CONTROL.search(raw):
            cursor.note("control", "line break or control character inside a string")
        return raw
    wrong: list[str] = []

    def resolve(match: re.Match[str]) -> str:
        code = match[1]
        if code in SIMPLE:
            return SIMPLE[code]
        if len(code) > 1:
            return chr(int(code[1:], 16))
        if code in "\"'" or code == mark:
            if code != '"':
                wrong.append(match[0])
            return code
        wrong.append(match[0])
        return match[0]

    value = ESCAPE.sub(resolve, raw)
    if wrong:
        cursor.note("escape", "not an escape in JSON", wrong[0])
    return SURROGATES.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), value)
