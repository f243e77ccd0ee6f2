"""Blocks to notes. Pure: the same blocks and limits give the same notes, each an exact slice of the text.

1. What belongs together is taken together: a heading with the block after it, a list, table or code with the sentence
   that introduces it (a *group*). A block above the limit is divided at its parts (items, rows, lines, messages,
   sentences), and its lead (a table's header, the introduction) goes with every piece that does not hold it itself.
   So is a numbered provision (第三条, Article 5, 4.2) with the paragraphs after it that have no number.
2. The groups of a section make one note while they fit the limit of their language.
3. A few words go with their neighbour in the section or in one inside it, even beyond the limit.
4. Small neighbouring sections of one document are joined, headings inside: a note of a few words says little by itself.
   Their section is what their paths have in common. The end of a section is not joined with what follows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

from theworld.settings import NoteSettings
from theworld.stores.records import NoteKind
from theworld.text import Language, cjk_share, detect_language, last_break, split_sentences
from theworld.text.sentences import FENCE, announces, ends_with_question, open_fence, outer_pieces
from theworld.text.tokens import MIXED_SHARE

JOINED: Mapping[Language, int] = {"en": 600, "zh": 450}
"""Characters up to which small notes of several sections are joined; with fewer a note says too little by itself."""
LEAST = 6
"""A note of less than this part of the limit says too little by itself: it would be found for its shortness."""
LONGEST_HEADING = 200
"""A heading, or a few words, stay with their block even where both exceed the limit by this many characters."""
LONGEST_LEAD = 400
"""Characters of a lead; of a longer one, its end is kept for an introduction, its beginning for a table."""
PASSAGE_FACTOR = 2
"""A ready-made passage stays whole up to this many limits: one passage, one note, as its relevance marks say; so does a
table's row, which cannot be read in parts."""
LINES_OF_MESSAGE = 3
"""A text is a chat or a log where it has no more lines than so many for each that tells a date or time."""
SAMPLE = 200_000
"""Characters of a document by which its language is told."""

_BLANK = re.compile(r"\r?\n(?:[ \t\u3000]*\r?\n)+")
_FOREIGN = re.compile(
    r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|`[^`\n]+`|https?://[^\s)>\u4e00-\u9fff]+|\]\([^)\n]*\)|\d[\d.,:/-]*",
    re.M | re.S,
)
"""Code, where links lead, and numbers."""
_GROUP = re.compile(r"[ \t]*\|(?=[^|\n]*\w)(?:\\.|[^|\\\n])*\|(?:[ \t]*\|)+[ \t]*$", re.M)
"""A row of a table that says something in its first column only: it is about the rows below."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_PROVISION = re.compile(
    r"[*_ \t\u3000]*(?:第[\d〇零一二三四五六七八九十百千]+条|(?:Article|Section|Rule|Clause|§)\s*\d|\d+(?:\.\d+)+\.?\s)"
)
"""How a numbered provision of a law, a contract, rules of a house begins."""
_MOMENT = (
    r"(?:\d{1,4}(?:[-./]\d{1,2}[-./]|年\d{1,2}月)\d{1,4}|(?:上午|下午|中午|晚上|凌晨)?\d{1,2}[:：]\d\d|"
    r"[A-Z][a-z]{2,8}\.? +\d{1,2}\b|\d{1,2}\.? [A-Z][a-z]{2,8}\.? \d{4})(?!\d)"
)
_MESSAGE = re.compile(
    rf"^[ \t]*[\[(（【<]?(?:{_MOMENT}|[^\n]{{1,40}}?[\s,，(（\[]{_MOMENT}[\d:：./ \t日APMapm]*[\])）]?[ \t\r]*$)", re.M
)
"""How a message of a chat begins, or an entry of a log: with a date or time, alone on a line behind a name."""
_SENTENCE_ENDS = ".!?。！？…"


class Block(NamedTuple):
    """What every reader makes of a document: a piece that belongs together, text[start:end]."""

    kind: NoteKind
    start: int
    end: int
    section: tuple[str, ...] = ()
    """Headings it stands under, outermost first, without the document's title; a heading is under itself."""
    parts: tuple[tuple[int, int], ...] = ()
    """Where it may be divided when it is too long: (start, end) of list items, table rows, statements; ascending."""
    lead: tuple[int, int] | None = None
    """(start, end) of what its parts need to be understood, repeated when it is divided: a table's header, the line
    that opens a code block, the sentence that introduces a list or code. An introduction lies before the block."""


class NoteSpan(NamedTuple):
    """A note: text == source[start:end]."""

    text: str
    start: int
    end: int
    language: Language
    section: tuple[str, ...] = ()
    kind: NoteKind = "paragraph"
    lead: str = ""


class _Group(NamedTuple):
    """Some of the text that stays together: text[start:end]."""

    start: int
    end: int
    section: tuple[str, ...]
    kinds: frozenset[NoteKind]
    lead: str = ""
    heading: bool = False
    """Whether it begins with a heading."""
    depth: int = 0
    """How many headings its beginning stands under."""


def iter_notes(
    text: str,
    limits: NoteSettings,
    *,
    start: int = 0,
    passage: bool = False,
    blocks: Sequence[Block] = (),
    title: str = "",
    apart: bool = False,
) -> Iterator[NoteSpan]:
    """Yield the notes of a text from `start` on, in order, without surrounding white space.

    Without blocks its paragraphs are taken, which end at blank lines. `passage` marks a ready-made passage: kept whole
    up to twice the limit. Where the blocks begin in a section named as the document's `title`, that is one of several
    beside each other: they are not joined, and the title is not said twice. Nor are they joined where they are `apart`.
    """
    if passage:
        begin, end = _trimmed(text, start, len(text))
        whole = text[begin:end]
        if whole and len(whole) <= PASSAGE_FACTOR * _limit(whole, limits) and _BLANK.search(whole) is None:
            yield NoteSpan(whole, begin, end, detect_language(whole))
            return
        language = detect_language(text)
    else:  # the models for Chinese know English, not the reverse
        language = "zh" if cjk_share(_prose(text[start : start + SAMPLE], start, blocks)) >= MIXED_SHARE else "en"

    first = _titled_section(blocks, title)

    def inside(current: _Group, group: _Group) -> bool:
        return group.section[: len(current.section)] == current.section

    def little(current: _Group, group: _Group) -> bool:
        limit, both = _limit(text[current.start : group.end], limits), group.end - current.start
        least = min(current.end - current.start, group.end - group.start)
        together = inside(current, group) or _is_byline(text, current, blocks)
        return together and least < limit // LEAST and both <= limit + LONGEST_HEADING

    def small(current: _Group, group: _Group) -> bool:
        beside = current.heading and (not (first or apart) or group.section[:1] == current.section[:1])
        beside &= len(group.section) >= current.depth
        return (beside or inside(current, group)) and _fits(text, current.start, group.end, limits, JOINED)

    in_provision, in_section = partial(_goes_on, text, limits), partial(_in_section, text, limits)
    groups = _groups(text, blocks or _paragraphs(text, start), limits)
    for fit in (in_provision, in_section, little, small):
        groups = _joined(groups, fit)
    for group in groups:
        kinds: frozenset[NoteKind] = group.kinds - {"heading"} or group.kinds
        kind = next(iter(kinds)) if len(kinds) == 1 else "section"
        section = group.section[1:] if group.section[:1] == first else group.section
        yield NoteSpan(text[group.start : group.end], group.start, group.end, language, section, kind, group.lead)


def _titled_section(blocks: Sequence[Block], title: str) -> tuple[str, ...] | None:
    """Return the first section where the document's title is its heading, which is one of several beside each other."""
    return (title,) if blocks and blocks[0].section[:1] == (title,) else None


def _in_section(text: str, limits: NoteSettings, current: _Group, group: _Group) -> bool:
    """Return whether a group goes on in the section of the one before it, both within the limit."""
    alike = group.section == current.section and not group.heading and not group.lead
    return alike and _fits(text, current.start, group.end, limits)


def _goes_on(text: str, limits: NoteSettings, current: _Group, group: _Group) -> bool:
    """Return whether a numbered provision goes on with a group that has no number."""
    begun = _PROVISION.match(text, current.start) and not _PROVISION.match(text, group.start)
    return bool(begun) and _in_section(text, limits, current, group)


def _is_byline(text: str, group: _Group, blocks: Sequence[Block]) -> bool:
    """Return whether a document's first words end no sentence: who wrote it belongs to whatever follows."""
    first = bool(blocks) and not text[blocks[0].start : group.start].strip()
    return first and not group.heading and text[group.end - 1] not in _SENTENCE_ENDS


def _prose(text: str, start: int, blocks: Sequence[Block]) -> str:
    """Return the sentences and headings of a text that begins at `start`, or all of it where it has none.

    Commands, addresses and code are English in any document, and numbers of no language: a Chinese manual or table may
    be made of little else.
    """
    said = [text[max(one.start - start, 0) : one.end - start] for one in blocks if one.kind not in {"code", "table"}]
    return next(filter(str.strip, (_FOREIGN.sub("", "\n".join(said) or text), "\n".join(said), text)), "")


def _paragraphs(text: str, start: int) -> Iterator[Block]:
    """Yield the paragraphs of a plain text, which end at blank lines."""
    begin = start
    for gap in chain(_BLANK.finditer(text, start), [None]):
        left, right = _trimmed(text, begin, gap.start() if gap else len(text))
        if right > left:
            yield Block("paragraph", left, right)
        begin = gap.end() if gap else len(text)


def _limit(text: str, limits: NoteSettings) -> int:
    """Return the longest note, in characters: between those of the languages, by the share of Chinese characters."""
    share = cjk_share(text)
    return int(1 / (share / limits.max_characters_zh + (1 - share) / limits.max_characters_en))


def _fits(text: str, start: int, end: int, limits: NoteSettings, most: Mapping[Language, int] | None = None) -> bool:
    """Return whether text[start:end] is within the limit, and within `most` for its language."""
    if end - start > max((most or {"en": limits.max_characters_en, "zh": limits.max_characters_zh}).values()):
        return False
    piece = text[start:end]
    return len(piece) <= _limit(piece, limits) and (most is None or len(piece) <= most[detect_language(piece)])


def _trimmed(text: str, start: int, end: int, kind: NoteKind = "paragraph") -> tuple[int, int]:
    """Return where a piece begins and ends without white space around.

    Code and lists keep their first line's indentation, which their other lines have or exceed. So does the line that
    opens a code block, wherever it stands: the one that closes it is indented alike.
    """
    piece = text[start:end]
    blank = len(piece) - len(piece.lstrip())
    line = piece.rfind("\n", 0, blank) + 1
    left = start + (line if kind in {"code", "list"} or FENCE.match(piece, line) else blank)
    return left, max(left, start + len(piece.rstrip()))


def introduces(text: str, block: Block, after: Block) -> bool:
    """Return whether a paragraph belongs to the block after it: it ends with a colon or is a bold line, a title.

    What stands right above a table tells what the table shows, unless it is long.
    """
    above = after.kind == "table" and block.end - block.start <= LONGEST_LEAD
    return block.kind == "paragraph" and (above or announces(text[block.start : block.end]))


def _groups(text: str, blocks: Iterable[Block], limits: NoteSettings) -> Iterator[_Group]:
    """Yield what must stay together, or the pieces of a block that is too long; headings at the end say nothing."""
    held: list[Block] = []
    only_headings = True
    for block in blocks:
        introduced = bool(held) and block.kind != "heading" and introduces(text, held[-1], block)
        if held and not (introduced or all(one.kind == "heading" for one in held)):
            yield from _fitting(text, held, limits)
            held, only_headings = [], False
        held.append(block)
    if held and (only_headings or held[-1].kind != "heading"):
        yield from _fitting(text, held, limits)


def _fitting(text: str, held: Sequence[Block], limits: NoteSettings) -> list[_Group]:
    """Return the blocks as one group, or as several where they do not fit together."""
    last = held[-1]
    start, end = _trimmed(text, held[0].start, last.end, held[0].kind)
    heading, depth = held[0].kind == "heading", len(held[0].section)
    limit = _limit(text[start:end], limits)
    if end - start <= limit + (LONGEST_HEADING if heading else 0):
        return [_Group(start, end, last.section, frozenset(one.kind for one in held), "", heading, depth)]
    before_it = last.start - start  # so that what introduces the block stays with its first piece
    pieces = _divided(text, last, limit - before_it if before_it <= limit // 2 else limit)
    groups = [
        _Group(*one, last.section, frozenset({last.kind}), _lead(text, last, one[0]), depth=depth) for one in pieces
    ]
    if len(held) == 1:
        return groups
    if groups[0].end - start <= limit + LONGEST_HEADING:
        return [groups[0]._replace(start=start, lead="", heading=heading), *groups[1:]]
    return [*_fitting(text, held[:-1], limits), *groups]


def _lead(text: str, block: Block, start: int) -> str:
    """Return what a piece of a block that begins at `start` needs and does not hold."""
    if block.kind in {"list", "admonition"} and (fence := open_fence(text[block.start : start])):
        return "\n".join(filter(None, (_lead(text, block, block.start), fence)))
    if block.lead is None or block.lead[0] >= start:
        return ""
    lead = text[block.lead[0] : min(block.lead[1], start)].rstrip()
    if len(lead) <= LONGEST_LEAD:
        return lead
    if block.kind == "table":
        return lead[: last_break(lead, 0, LONGEST_LEAD)]
    starts = [one.start for one in split_sentences(lead)] + [gap.end() for gap in re.finditer(r"\s+", lead)]
    first = len(lead) - LONGEST_LEAD  # from the first sentence that begins there, else the first word
    return lead[next((start for start in starts if start >= first), first) :]


def _divided(text: str, block: Block, limit: int) -> Iterator[tuple[int, int]]:
    """Yield pieces of a block, of similar size and within the limit where its parts allow, cut between parts."""
    lead = len(_lead(text, block, block.end))
    room = max(limit - lead, limit // 2)
    together, last = list[tuple[int, int]](), block.start
    for left, right in _parts(text, block, room):
        # A term, an announcement, a question, a row above a group of a table's goes with what follows, where both fit.
        within = together and _GROUP.match(text, together[-1][0]) and not _GROUP.match(text, left)
        before = text[last : together[-1][1]] if together else ""
        grouped = within or _GROUP.match(text, last) or announces(before) or ends_with_question(before)
        if together and right - together[-1][0] <= room and grouped:
            together[-1] = (together[-1][0], right)
        else:
            together.append((left, right))
        last = left
    begin = end = block.start
    for left, right in together:
        rest = block.end - begin
        target = rest / -(-rest // room)  # of what is left, so that the last piece is no mere remainder
        nearer = (end - begin) + (right - begin) > 2 * target
        if end > begin and (right - begin > room or nearer):
            yield _trimmed(text, begin, end, block.kind)
            begin = left
        end = right
    yield _trimmed(text, begin, max(end, begin), block.kind)


def _parts(text: str, block: Block, room: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a block in order, and what lies between them.

    One above the limit is divided as in `_spans`, one of these evenly.
    """
    parts, done = list[tuple[int, int]](), block.start
    for start, end in [*block.parts, (block.end, block.end)]:
        if text[done:start].strip():
            parts.append((done, start))
        if end > start:
            parts.append((start, end))
        done = end
    longest = PASSAGE_FACTOR * room if block.kind == "table" else room
    for start, end in parts:
        if end - start <= room:
            yield start, end
            continue
        for begin, right in _spans(text, block.kind, start, end, room):
            left = begin
            while (rest := right - left) > longest:
                size = -(-rest // -(-rest // room))
                cut = last_break(text, left + size // 2, left + size)
                yield left, cut
                left = _trimmed(text, cut, right)[0]
            if text[left:right].strip():
                yield left, right


def _spans(text: str, kind: NoteKind, start: int, end: int, room: int) -> list[tuple[int, int]]:
    """Return what a part of a block, text[start:end], is made of: lines, messages, entries or sentences."""
    if kind in {"table", "list"} or (kind == "code" and FENCE.search(text, start, end)):
        return _lines(text, start, end, room)
    messages = _messages(text, start, end, room)
    return messages or (_entries(text, start, end, room) if kind == "code" else _sentences(text, start, end))


def _sentences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return [(start + one.start, start + one.end) for one in split_sentences(text[start:end])]


def _messages(text: str, start: int, end: int, room: int) -> list[tuple[int, int]]:
    """Return the messages of text[start:end], of those too long the sentences; none where it is no chat and no log.

    A message is a line that tells when it was written, with the lines below it that do not.
    """
    begins = [match.start() for match in _MESSAGE.finditer(text, start, end)]
    if len(begins) < 2 or LINES_OF_MESSAGE * len(begins) <= text.count("\n", start, end):
        return []
    places = [start, *(begin for begin in begins if begin > start), end]
    return list(
        chain.from_iterable(
            [piece] if piece[1] - piece[0] <= room else _sentences(text, *piece) for piece in pairwise(places)
        )
    )


def _entries(text: str, start: int, end: int, room: int) -> list[tuple[int, int]]:
    """Return the least indented lines of text[start:end], each with what stands below it; of one too long, its own."""
    found, waiting = list[tuple[int, int]](), [(start, end)]
    while waiting:
        piece = waiting.pop()
        pieces = outer_pieces(text, *piece) if piece[1] - piece[0] > room else [piece]
        if len(pieces) > 1:
            waiting += reversed(pieces)
        else:
            found += pieces
    return found


def _lines(text: str, start: int, end: int, room: int) -> list[tuple[int, int]]:
    """Return the lines of text[start:end]; the code blocks among them whole, where they fit, else no fence alone."""
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text, start, end)]
    fences = [i for i, line in enumerate(lines) if FENCE.match(text[slice(*line)])]
    for opening, closing in reversed(list(zip(fences[::2], fences[1::2], strict=False))):
        whole = lines[closing][1] - lines[opening][0] <= room or closing == opening + 1
        for first, last in [(opening, closing)] if whole else [(closing - 1, closing), (opening, opening + 1)]:
            lines[first : last + 1] = [(lines[first][0], lines[last][1])]
    return lines


def _joined(groups: Iterable[_Group], fit: Callable[[_Group, _Group], bool]) -> Iterator[_Group]:
    """Join groups beside each other while they fit; their section is what their paths have in common."""
    current: _Group | None = None
    for group in groups:
        if current is None or not fit(current, group):
            if current is not None:
                yield current
            current = group
            continue
        section = current.section
        while group.section[: len(section)] != section:
            section = section[:-1]
        current = current._replace(end=group.end, section=section, kinds=current.kinds | group.kinds)
    if current is not None:
        yield current
