"""What may follow a quotation mark, a comma or a bare word. Each expression looks a bounded way ahead."""

from __future__ import annotations

import re

S = r"[\s\ufeff\u200b]*+"
COLON = r"(?::|：|=>?)"
_QUOTED = (
    r"(?:\"(?:[^\"\\\n]|\\.){0,160}+\"|'(?:[^'\\\n]|\\.){0,160}+'|[“”](?:[^“”\n]){0,160}+[“”\"]"
    r"|[‘’`](?:[^‘’'`\n]){0,160}+[‘’'`´]|\\\"(?:[^\"\\\n]){0,160}+\\\")"
)
_BARE_KEY = r"[^\W](?:[\w.$@/-]|[ ](?=\w)){0,80}+"
_VALUE_START = r"(?:[\"'“‘`{\[(]|-?\.?\d|(?:true|false|null|None|True|False|undefined|NaN)\b)"

QUOTED_KEY = re.compile(rf"{_QUOTED}{S}[:：]")
"""A quoted key and its colon."""

KEY_WITH_VALUE = re.compile(
    rf"{_QUOTED}{S}[:：]{S}(?:{_QUOTED}{S}(?:[,}}\]，]|$)|[\[{{]|-?[\d.]+{S}[,}}\]]|(?:true|false|null){S}[,}}\]])"
)
"""A quoted key with a whole value after it."""

BARE_KEY = re.compile(rf"{_BARE_KEY}{S}(?:[:：](?!//)|=>?)")
"""An unquoted key and its colon."""

KEY_AHEAD = re.compile(
    rf"{S}(?:{_QUOTED}{S}(?:[:：]|=>|{_VALUE_START})|\"[\w .$-]{{1,60}}+[:：]|[\w .$-]{{1,60}}+\"{S}[:：]"
    r"|\"(?:[^\"\\\n,:]{0,40}+\"){2,4}\s*+:"
    r"|[}\]]|$|//|/\*|\#|\.\.\.|…|,)"
)
"""After a comma in an object: a quoted key (or one with a mark missing), the end, a comment, an ellipsis."""

LONE_KEY_AHEAD = re.compile(rf"{S}(?:{_BARE_KEY}{S}(?:[:：](?!//)|=>?)|{_QUOTED}{S}[,}}])")
"""After a comma in an object: an unquoted key, or a quoted one without a value."""

ITEM_AHEAD = re.compile(
    rf"{S}(?:[\"'“‘`{{\[(\]}},]|$|-?\.?\d|//|/\*|\#|\.\.\.|…|(?:true|false|null|None|True|False|undefined|NaN)\b"
    r"|[A-Za-z_]\w{0,40}+=|[^\"'\[\]{},:\n]{1,100}+(?:[,\]]|$))"
)
"""After a comma in an array: something that can be an item."""

KEY_BEFORE = re.compile(r"(?:^|[,\n])[ \t\n]*+([^\W\d][\w$-]{0,60}+)[ \t]*+[:：][ \t]*+$")
"""Text that ends in an unquoted key and its colon."""

CLOSED_QUOTE = re.compile(r"\"[^\"\n]{0,500}+\"\s*+(?:[,}\]]|$)")
"""A quotation that is closed and followed by a delimiter."""

NEXT_PAIR = re.compile(r"(?<![,\s])[,\s]++\"?([^\W\d][\w$-]{0,60}+)\"?[ \t]*+[:：](?!//)")
"""White space or commas with a key after them, inside what should have been a string."""

MISSED_KEY_END = re.compile(r"([\w .$-]{1,64}?)[ \t]*+([:：])")
"""A key whose closing mark is missing, and its colon."""

BLOCK_END = re.compile(r"(?<![}\])\s])\s*+([}\])](?:[\s;`]*+[}\])])*+)[ \t;`]*+(?=\n|$)")
"""Closing brackets at the end of a line, with the white space before them."""

COMMENT = re.compile(r"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|#[^\n]*+")
ELLIPSIS = re.compile(r"(?:\.{3,}|…+)(?=[\s,，\]}]|$)")
