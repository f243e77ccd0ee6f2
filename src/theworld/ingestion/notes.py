"""Text to paragraph-sized notes. Pure: the same text and limits give the same notes, each an exact slice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from theworld.settings import NoteSettings
from theworld.text import Language, detect_language, split_sentences

SMALL_SHARE = 1 / 3
"""A note shorter than this share of the limit takes in the next paragraph."""
LONGEST_HEADING = 200
"""A heading is joined to its paragraph even where both exceed the limit by this many characters."""
PASSAGE_FACTOR = 2
"""A ready-made passage stays whole up to this many limits: one passage, one note, as its relevance marks say."""

_BLANK = re.compile(r"\r?\n(?:[ \t\u3000]*\r?\n)+")
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+\S[^\n]*", re.MULTILINE)
_SPACE = re.compile(r"\s+")


class NoteSpan(NamedTuple):
    """A note: text == source[start:end]."""

    text: str
    start: int
    end: int
    language: Language


class _Block(NamedTuple):
    start: int
    end: int
    heading: bool = False


def split_notes(text: str, limits: NoteSettings, *, start: int = 0, passage: bool = False) -> list[NoteSpan]:
    """Return the notes of a text from `start` on, in order, without surrounding white space.

    Paragraphs end at blank lines and headings. A small one takes in the next while both fit the limit of the
    language; a longer one is cut at sentence ends into pieces of similar size. `passage` marks a ready-made
    passage: kept whole up to twice the limit.
    """
    whole = text[start:].strip()
    if passage and whole and len(whole) <= PASSAGE_FACTOR * _limit(whole, limits) and _BLANK.search(whole) is None:
        return [_note(text, _trimmed(text, start, len(text)))]
    pieces = (piece for block in _blocks(text, start) for piece in _fitting(text, block, limits))
    return [_note(text, block) for block in _merged(text, pieces, limits)]


def _limit(text: str, limits: NoteSettings) -> int:
    """Return the longest note, in characters, in the language of a text."""
    return limits.max_characters_zh if detect_language(text) == "zh" else limits.max_characters_en


def _note(text: str, block: _Block) -> NoteSpan:
    piece = text[block.start : block.end]
    return NoteSpan(piece, block.start, block.end, detect_language(piece))


def _trimmed(text: str, start: int, end: int, heading: bool = False) -> _Block:
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip())
    return _Block(left, max(left, start + len(piece.rstrip())), heading)


def _blocks(text: str, start: int) -> Iterator[_Block]:
    """Yield paragraphs and headings, trimmed, empty ones left out."""
    begin = start
    for gap in [*_BLANK.finditer(text, start), None]:
        end = gap.start() if gap else len(text)
        yield from _paragraph(text, begin, end)
        begin = gap.end() if gap else end


def _paragraph(text: str, start: int, end: int) -> Iterator[_Block]:
    for heading in _HEADING.finditer(text, start, end):
        if text[start : heading.start()].strip():
            yield _trimmed(text, start, heading.start())
        yield _trimmed(text, heading.start(), heading.end(), heading=True)
        start = heading.end()
    if text[start:end].strip():
        yield _trimmed(text, start, end)


def _fitting(text: str, block: _Block, limits: NoteSettings) -> Iterator[_Block]:
    """Yield a block, or pieces within the limit and of similar size where it is longer."""
    limit, length = _limit(text[block.start : block.end], limits), block.end - block.start
    if length <= limit:
        yield block
        return
    target = length / -(-length // limit)
    begin = end = block.start
    for left, right in _sentences(text, block, limit):
        nearer = (end - begin) + (right - begin) > 2 * target
        if end > begin and (right - begin > limit or nearer):
            yield _trimmed(text, begin, end)
            begin = left
        end = right
    yield _trimmed(text, begin, end)


def _sentences(text: str, block: _Block, limit: int) -> Iterator[tuple[int, int]]:
    """Yield sentence spans of a block; one above the limit is cut at white space, or where there is none, hard."""
    for sentence in split_sentences(text[block.start : block.end]):
        start, end = block.start + sentence.start, block.start + sentence.end
        while end - start > limit:
            spaces = [gap.start() for gap in _SPACE.finditer(text, start + limit // 2, start + limit)]
            cut = spaces[-1] if spaces else start + limit
            yield start, cut
            start = _trimmed(text, cut, end).start
        yield start, end


def _merged(text: str, pieces: Iterator[_Block], limits: NoteSettings) -> Iterator[_Block]:
    """Join headings to what follows them, and small paragraphs to their neighbours within a section."""
    current: _Block | None = None
    for piece in pieces:
        if current is None:
            current = piece
        elif _belongs(current, piece, _limit(text[current.start : piece.end], limits)):
            current = _Block(current.start, piece.end, current.heading and piece.heading)
        else:
            yield current
            current = piece
    if current is not None:
        yield current


def _belongs(current: _Block, piece: _Block, limit: int) -> bool:
    together = piece.end - current.start
    if current.heading and not piece.heading:
        return together <= limit + LONGEST_HEADING
    if together > limit or (piece.heading and not current.heading):
        return False
    smaller = min(current.end - current.start, piece.end - piece.start)
    return piece.heading or smaller < limit * SMALL_SHARE
