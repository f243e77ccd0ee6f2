"""Bytes to text: UTF-8, UTF-16 and UTF-32 with a byte-order mark, GB 18030 for Chinese; anything else is refused."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from theworld.errors import IngestionError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_CHINESE_PUNCTUATION = frozenset("，。、；：？！“”‘’（）《》〈〉【】「」『』—…·　")
BINARY_SHARE = 0.01
"""A text with more control characters than this share is binary."""
COMMON_SHARE = 0.5
"""Least share of everyday Chinese characters among the non-ASCII ones for bytes to be taken as GB 18030."""
SAMPLE = 200_000
HEAD = 8_192
"""Bytes that tell text from anything else: compressed, compiled and media files begin with control characters."""


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes; raises IngestionError when it cannot be read or is empty."""
    if not path.is_file():
        raise IngestionError("this is not a regular file", where=str(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise IngestionError(
            f"it cannot be read: {error.strerror or error}", where=str(path), remedy="Check its permissions."
        ) from error
    if not data:
        raise IngestionError("the file is empty", where=str(path))
    return data


def is_text(path: Path) -> bool:
    """Return whether a file of an unknown kind begins with text, in whatever encoding; an empty one does not."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return True  # what it is, reading it will tell
    if any(head.startswith(mark) for mark, _ in _MARKS):
        return True
    return (
        bool(head)
        and b"\x00" not in head
        and len(_CONTROLS.findall(head.decode("latin-1"))) <= BINARY_SHARE * len(head)
    )


def read_text(path: Path) -> str:
    """Return a text file's text; raises IngestionError for binary content and unknown encodings."""
    text = decode(read_bytes(path), path)
    if len(_CONTROLS.findall(text[:SAMPLE])) > BINARY_SHARE * min(len(text), SAMPLE):
        raise IngestionError("it has the name of a text file but binary content", where=str(path))
    return text


def decode(data: bytes, path: Path) -> str:
    """Return the text of some bytes; raises IngestionError naming the line when its encoding is not supported."""
    try:
        for mark, encoding in _MARKS:
            if data.startswith(mark):
                return data.decode(encoding)
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _decode_chinese(data, path, error)


def _decode_chinese(data: bytes, path: Path, unicode_error: UnicodeDecodeError) -> str:
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        text = ""
    if text and _looks_chinese(text):
        return text
    if b"\x00" in data[:SAMPLE]:
        raise IngestionError("it has the name of a text file but binary content", where=str(path))
    line = data.count(b"\n", 0, unicode_error.start) + 1
    raise IngestionError(
        f"its encoding is not UTF-8, UTF-16 or GB 18030 (byte 0x{data[unicode_error.start]:02x} in line {line})",
        where=str(path),
        remedy="Fix that byte, or convert the file: iconv -f ENCODING -t UTF-8.",
    )


def _looks_chinese(text: str) -> bool:
    """Return whether most non-ASCII characters are everyday Chinese; chance decodings are full of rare characters."""
    foreign = _NON_ASCII.findall(text[:SAMPLE])
    return sum(map(_is_everyday, foreign)) >= COMMON_SHARE * len(foreign)


def _is_everyday(character: str) -> bool:
    """Return whether a character is Chinese punctuation or in level 1 of GB 2312 (the 3,755 most used)."""
    if character in _CHINESE_PUNCTUATION:
        return True
    try:
        code = character.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return len(code) == 2 and 0xB0A1 <= int.from_bytes(code, "big") <= 0xD7F9
