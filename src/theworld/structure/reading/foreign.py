"""What is no JSON but plainly meant, written as JSON before a broken text is read.

Literals of Python and JavaScript (triple and backtick quotation marks, joined and prefixed strings, calls around one
value), full-width punctuation between strings, and control characters. Strings themselves are stepped over.
"""

from __future__ import annotations

import json
import re

INVISIBLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Control characters but for tabs and line breaks."""
BLANK = "\x1f"
"""Stands for a removed control character: white space to the parser, taken out of every string afterwards."""
Edit = tuple[int, int]
"""A position after an edit, and by how much the edit made the text longer."""
STRING = r'"(?:[^"\\\n]|\\.)*+"'
AHEAD = r"(?=\s*[,}\]])"
START = r"(?<=[:\[,\s])"
HINT = re.compile(r'"""|\'\'\'|`|"\s*\+\s*"|\w\(\s*["\d-]|undefined|nil|[:\[,]\s*[rRbBuUfF]{1,2}["\']')
LITERAL = re.compile(
    rf'(?P<triple>""".*?"""|\'\'\'.*?\'\'\')|(?P<joined>{STRING}(?:\s*+\+\s*+{STRING})++)|{STRING}'
    rf'|(?P<tick>`(?:[^`\\]|\\.)*+`){AHEAD}|{START}[rR](?P<raw>"[^"\n]*+")'
    rf"|{START}[bBuUfF](?P<body>{STRING}|'[^'\\\n]*+')"
    rf"|(?P<nothing>{START}(?:undefined|nil){AHEAD})"
    rf"|{START}(?:new\s+)?[A-Za-z_][\w.]{{0,60}}\(\s*(?P<argument>{STRING}|-?\d[\d.]*+)\s*\){AHEAD}",
    re.DOTALL,
)
JOIN = re.compile(r'"\s*\+\s*"')
FULL_WIDTH = {"：": ":", "，": ",", "；": ",", "、": ",", ";": ",", "｛": "{", "｝": "}", "［": "[", "］": "]"}
FIRST_MARK = re.compile(r"[\s{\[｛［]*([\"“'])")
_COMMENT = r"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|\#[^\n]*+"
CLEANED = re.compile(
    rf'(?P<string>"(?:[^"\\]|\\.)*+(?:"|\\?\Z))|(?P<comment>{_COMMENT})|(?P<comma>,(?=(?:\s|{_COMMENT})*+[}}\]]))'
    rf"|{INVISIBLE.pattern}",
    re.DOTALL,
)
"""Strings, and what is cleaned away between them."""


def without_comments(text: str) -> str:
    """Return a text of the same length with blanks for comments, trailing commas and control characters."""

    def cleaned(match: re.Match[str]) -> str:
        if match["string"]:
            return INVISIBLE.sub(BLANK, match["string"])
        unclosed = match[0].startswith("/*") and not match[0].endswith("*/")
        return match[0] if unclosed else " " * len(match[0])

    return CLEANED.sub(cleaned, text)


def json_literals(text: str) -> tuple[str, list[Edit]]:
    """Return a text with what is no JSON but plainly meant written as JSON, and the edits that took."""
    if not text.isprintable():
        text = INVISIBLE.sub(BLANK, text)
    if not text.isascii() or ";" in text:  # ASCII for full-width marks
        opening = FIRST_MARK.match(text)
        mark = opening[1] if opening else '"'
        ending = "”“" if mark == "“" else mark
        between = re.compile(rf"(?<=[{ending}\d}}\]｝］el])\s*[：，；、;](?=\s*[{mark}\d{{\[｛［tfn-])")
        text = between.sub(lambda m: m[0][:-1] + FULL_WIDTH[m[0][-1]], text)
        brackets = re.compile(rf"[｛［](?=\s*[{mark}｛［{{\[])|(?<=[{ending}\d}}\]｝］])[｝］]")
        text = brackets.sub(lambda m: FULL_WIDTH[m[0]], text)
    if not HINT.search(text):
        return text, []
    pieces: list[str] = []
    edits: list[Edit] = []
    position = length = 0
    for match in LITERAL.finditer(text):
        quoted = match["tick"] or match["raw"]
        if match["triple"] or quoted:
            new = json.dumps(match["triple"][3:-3] if match["triple"] else quoted[1:-1], ensure_ascii=False)
        elif match["joined"]:
            new = JOIN.sub("", match["joined"])
        else:
            new = "null" if match["nothing"] else match["body"] or match["argument"]
        if new is not None:  # it is no ordinary string
            pieces += [text[position : match.start()], new]
            length += match.start() - position + len(new)
            edits.append((length, len(new) - len(match[0])))
            position = match.end()
    return "".join([*pieces, text[position:]]), edits


def before(position: int, edits: list[Edit]) -> int:
    """Return where a position of an edited text was before the edits."""
    return position - sum(grown for after, grown in edits if after <= position)
