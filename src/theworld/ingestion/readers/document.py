"""What a reader makes of a source, and the steps that readers share: bytes to text, Markdown, titles, metadata.

Text is UTF-8, UTF-16 and UTF-32 with a byte-order mark, GB 18030 or Big5 for Chinese, Windows-1252 (with it Latin-1)
for English and its neighbours; anything else is refused.
"""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from html import unescape
from pathlib import Path
from typing import Any

from theworld.errors import IngestionError
from theworld.ingestion.notes import Block
from theworld.ingestion.report import FailedSource
from theworld.packages import install_command

Plain = str | int | float | bool | list[str]

LONGEST_LINE = 1_000_000
"""Characters; a longer line is data (minified, encoded), not text."""
BINARY_SHARE, BINARY_SHARE_UTF8 = 0.01, 0.05
"""A text with more control characters than this share is binary; more may stand in what is UTF-8 without a NUL,
where an input method has left some: files that a compiler wrote have several times as many."""
COMMON_SHARE = 0.5
"""Least share of everyday Chinese characters among the non-ASCII ones for bytes to be taken as GB 18030 or Big5."""
FULL_PARAGRAPH = 300
"""Characters of what subtitles say from which the end of a sentence ends the paragraph."""
SAMPLE = 200_000
HEAD = 8_192
"""Bytes that tell text from anything else: compressed, compiled and media files begin with control characters."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHINESE = (("gb18030", "gb2312", b"\xb0\xa1", b"\xd7\xf9"), ("cp950", "big5", b"\xa4\x40", b"\xc6\x7e"))
"""Encodings, and between which two codes the first level stands, the 3,755 and 5,401 characters that are most used."""
_NOT_WESTERN = re.compile(r"[¡-ª¬-º¼-ÿŠŒŽšœžŸƒ]{3}|[A-Za-z][¡-ª¬-¶¸-º¼-¿×÷][A-Za-z]|[¢-ª¬-¶¸-º¼-¾×÷][À-ÿ]")
"""What no Western text has and others have when read as Windows-1252: signs within words, and letters or signs (but
quotes) that are not ASCII, three in a row."""
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_CARRIAGE_RETURN = re.compile(r"\r(?!\n)")
_STRAY = re.compile(r"(?P<separator>[\x1c-\x1f])|\x1b(?:\[[\d;?]*[@-~])?|[\x01-\x08\x0e-\x1a]")
"""What controls a terminal or a printer, and what a terminal is set to a colour with."""
_GB18030 = frozenset(
    "gb2312 gb_2312 gb_2312-80 csgb2312 csiso58gb231280 iso-ir-58 chinese gbk x-gbk cp936 euc-cn gb18030".split()
)
"""Names of encodings that are read as GB 18030, which holds all their characters and more (WHATWG, Encoding). By the
letter they lack characters that are written under these names (镕), and `—` and `·` would be others."""
MONO = re.compile(
    r"mono(?!type)|courier|consolas|menlo|typewriter|(?:^|[+-])(?:cmtt|sftt|lmtt)|(?<!uni)code|代[码碼]", re.IGNORECASE
)
"""Names of fonts of a typewriter, and of styles for code."""
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_SURROGATES = re.compile(r"[\ud800-\udfff\x00]")
_FENCES = re.compile(r"^\s*(`{3,})", re.MULTILINE)
_RAISED = re.compile(r"<(?P<name>su[bp])\b[^<>]*>\s*(?P<words>(?:[\d+−-]|&minus;)+)\s*</(?P=name)\s*>", re.I)
_SIGNS = "0123456789+-−"
_SCRIPTS = {"sup": str.maketrans(_SIGNS, "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻"), "sub": str.maketrans(_SIGNS, "₀₁₂₃₄₅₆₇₈₉₊₋₋")}
_CUE = re.compile(r"^(?:(\d+):)?(\d\d):(\d\d)[.,]\d+[ \t]+-->.*\n?", re.MULTILINE)
_LAST_NUMBER = re.compile(r"(?:\A|\n)\d+\n?\Z")
_SPEAKER = re.compile(r"<v(?:\.[\w.]+)?\s+([^>]+)>")
_NAME = r"[^\s:：,，.。!！?？;；、…\[\]<>]+"
_SAYING = re.compile(
    rf"[-–—>\[\s]*(?P<who>(?!\d+\W|[\u3400-\u9fff]{{13}})(?:(?:Dr|Mrs?|Ms|Prof)\. )?"
    rf"(?![a-z]){_NAME}(?:(?: {_NAME}){{0,2}} (?![a-z]){_NAME})?)\]?(?:：|:\s)\s*(?=\S)"
)
"""What a cue may begin with to say who speaks, `Tom: `: at most four words, or twelve characters of Chinese."""
_TAG = re.compile(r"</?[^<>\n]*>|\{\\[^{}]*\}")
_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’)]*$")
_CHINESE_PUNCTUATION = frozenset("，。、；：？！“”‘’（）《》〈〉【】「」『』—…·　")


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document as its source gives it."""

    title: str
    """Title; may be empty in a corpus file."""
    text: str
    """The text that every offset refers to."""
    id: str | None = None
    """The source's own id, None to take the file's path."""
    aliases: tuple[str, ...] = ()
    """Other names of what the document is about."""
    metadata: Mapping[str, Plain] = field(default_factory=dict)
    """Plain metadata for filters."""
    body_start: int = 0
    """Where the text proper begins, after front matter and the title's heading."""
    blocks: tuple[Block, ...] = ()
    """What it is made of, in order; none: paragraphs."""
    passage: bool = False
    """True for a ready-made passage of a corpus: it is cut later than other text."""
    apart: bool = False
    """True where its outermost sections have nothing to do with each other, as a workbook's sheets: none is joined."""


Reader = Callable[[Path], Iterator[SourceDocument | FailedSource]]
"""Reads one file. Raises IngestionError when nothing of it can be read; yields FailedSource for parts of it."""


def read_plain(path: Path) -> Iterator[SourceDocument]:
    """Yield a plain text's one document: the whole file is the text, its name is the title."""
    yield SourceDocument(title_from_name(path), require_text(read_text(path), path))


def read_subtitles(path: Path) -> Iterator[SourceDocument]:
    """Yield the one document of subtitles (WebVTT, SubRip), or of a meeting's transcript, in paragraphs.

    Each begins with its time and who speaks, where that is known. A file without any times is plain text.
    """
    text = "\n".join(map(str.rstrip, require_text(read_text(path), path).splitlines()))
    spoken = list[tuple[re.Match[str], str, str]]()
    cues = list(_CUE.finditer(text))
    for cue, end in zip(cues, [*(cue.start() for cue in cues), len(text)][1:], strict=True):
        words, blank, _ = text[cue.end() : end].partition("\n\n")
        if not blank and end < len(text):
            words = _LAST_NUMBER.sub("", words)  # of the cue after it, without an empty line between
        named = _SPEAKER.search(words)
        who, words = named[1].strip() if named else "", " ".join(unescape(_TAG.sub("", words)).split())
        if words:
            spoken.append((cue, who, words))
    if not any(who for _, who, _ in spoken):
        spoken = list(_with_speakers(spoken))
    parts, said, speaker = list[str](), "", ""
    for cue, who, words in spoken:
        if not parts or who != speaker or (len(said) >= FULL_PARAGRAPH and _SENTENCE_END.search(said)):
            parts.append(f"[{int(cue[1] or 0)}:{cue[2]}:{cue[3]}] " + f"{who}: " * bool(who))
            said, speaker = "", who
        said += words
        parts[-1] += f"{words} "
    yield SourceDocument(title_from_name(path), "\n\n".join(map(str.strip, parts)) or text)


def _with_speakers(spoken: list[tuple[re.Match[str], str, str]]) -> Iterator[tuple[re.Match[str], str, str]]:
    """Yield cues with who speaks, by the name and colon that they, or cues before them, begin with.

    Where fewer than half of the cues begin so, it must be several times the same name: a sentence may hold a colon.
    """
    begun = [_SAYING.match(words) for _, _, words in spoken]
    often, speaker = Counter(one["who"] for one in begun if one), ""
    for (cue, _, words), one in zip(spoken, begun, strict=True):
        if one and (often[one["who"]] > 1 or 2 * often.total() >= len(spoken)):
            speaker = one["who"]
            yield cue, speaker, words[one.end() :]
        else:
            yield cue, speaker, words


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
    controls = len(_CONTROLS.findall(head.decode("latin-1")))
    share = BINARY_SHARE_UTF8 if _is_utf8(head, whole=False) else BINARY_SHARE
    return bool(head) and b"\x00" not in head and controls <= share * len(head)


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes; raises IngestionError when it cannot be read or is empty."""
    if not path.is_file():
        raise IngestionError("this is not a regular file", where=str(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    if not data:
        raise IngestionError("the file is empty", where=str(path))
    return data


def unreadable(path: Path, error: OSError) -> IngestionError:
    """Return the error for a file that the system does not let be read."""
    reason = f"it cannot be read: {error.strerror or error}"
    return IngestionError(reason, where=str(path), remedy="Check its permissions.")


def read_text(path: Path) -> str:
    """Return a text file's text; raises IngestionError for binary content and unknown encodings."""
    return as_text(read_bytes(path), path)


def as_text(data: bytes, path: Path) -> str:
    """Return the text of a file's bytes without stray control characters; raises IngestionError as `read_text`.

    A carriage return alone ends a line, as it did on old Macs, and is a line feed here.
    """
    text = decode(data, path)
    share = BINARY_SHARE_UTF8 if _is_utf8(data) else BINARY_SHARE
    if len(_CONTROLS.findall(text[:SAMPLE])) > share * min(len(text), SAMPLE):
        raise IngestionError("it has the name of a text file but binary content", where=str(path))
    return _STRAY.sub(lambda one: " " if one["separator"] else "", _CARRIAGE_RETURN.sub("\n", text))


def _is_utf8(data: bytes, *, whole: bool = True) -> bool:
    """Return whether bytes, the beginning of a file where not the whole, are UTF-8 without a NUL."""
    with suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder("utf-8")().decode(data, whole)
        return b"\x00" not in data
    return False


def codec_of(label: str) -> str:
    """Return the codec that is meant where a page or message names its encoding; of what is unknown the name itself."""
    label = label.strip().lower()
    return "gb18030" if label in _GB18030 else label


def decode(data: bytes, path: Path) -> str:
    """Return the text of some bytes; raises IngestionError naming the line when its encoding is not supported."""
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        if b"\x00" in data[:SAMPLE]:
            raise IngestionError("it has the name of a text file but binary content", where=str(path)) from error
        if (text := _other_encoding(data)) is not None:
            return text
        line = data.count(b"\n", 0, error.start) + 1
        raise IngestionError(
            f"its encoding is not UTF-8, UTF-16, GB 18030, Big5 or Windows-1252 "
            f"(byte 0x{data[error.start]:02x} in line {line})",
            where=str(path),
            remedy="Fix that byte, or convert the file: iconv -f ENCODING -t UTF-8.",
        ) from error


def _other_encoding(data: bytes) -> str | None:
    """Return the text of bytes that are not Unicode, None where it is not told what they are.

    Bytes that are Chinese by chance are full of rare characters. As Western text they are taken where it has the look
    of one, and holds nothing that is UTF-8: that would be a damaged file.
    """
    found = list[tuple[float, str]]()
    for encoding, standard, first, last in _CHINESE:
        with suppress(UnicodeDecodeError):
            text = data.decode(encoding)
            foreign = _NON_ASCII.findall(text[:SAMPLE])
            everyday = sum(
                one in _CHINESE_PUNCTUATION or first <= one.encode(standard, "ignore") <= last for one in foreign
            )
            found.append((everyday / len(foreign), text))
    share, text = max(found, key=lambda one: one[0], default=(0.0, ""))
    with suppress(UnicodeDecodeError):
        western = data.decode("cp1252")
        if data.decode("utf-8", "ignore").isascii() and not _NOT_WESTERN.search(western):
            return western
    return text if share >= COMMON_SHARE else None


def needs_extra(path: Path) -> IngestionError:
    """Return the error for a kind of file whose packages are not installed."""
    return IngestionError(
        f"{path.suffix} files need an extra package", where=str(path), remedy=f"Run: {install_command('documents')}"
    )


def title_from_name(path: Path) -> str:
    """Return a title made of a file's name; hyphens between words, unless it has blanks for that, become blanks."""
    return re.sub(r"[_\s]+" if " " in path.stem else r"[-_\s]+", " ", path.stem).strip() or path.name


def bold(words: str) -> str:
    """Return words as bold text of Markdown."""
    return f"**{words.replace('**', '').strip()}**"


def raised(markup: str) -> str:
    """Return HTML with digits and signs that stand above or below the line as such: 10<sup>6</sup> is not 106."""
    return _RAISED.sub(
        lambda one: one["words"].replace("&minus;", "−").translate(_SCRIPTS[one["name"].lower()]), markup
    )


def fenced(words: str, language: str = "") -> str:
    """Return words as a fenced block of Markdown, with more backticks than they hold."""
    fence = "`" * max(3, 1 + max(map(len, _FENCES.findall(words)), default=0))
    return f"{fence}{language}\n{words}\n{fence}"


def quoted(blocks: Iterable[str]) -> str:
    """Return blocks as a quote of Markdown."""
    return "\n".join(f"> {line}".rstrip() for line in "\n\n".join(filter(None, blocks)).split("\n"))


def as_list(items: Iterable[tuple[str, list[str]]]) -> list[str]:
    """Return marks and blocks as a list: blocks after the first are indented and set apart by blank lines."""
    written = []
    for mark, blocks in items:
        first, *more = "\n\n".join(blocks).split("\n")
        written.append([mark + first, *(" " * len(mark) + line if line else "" for line in more)])
    gap = "\n\n" if any("" in lines for lines in written) else "\n"
    return [gap.join("\n".join(lines) for lines in written)]


def without_surrogates(text: str) -> str:
    """Replace lone surrogates and NUL characters, which no database or tokenizer takes."""
    return _SURROGATES.sub("\ufffd", text)


def require_text(text: str, path: Path) -> str:
    """Return the text; raises IngestionError when it is blank or made of endless lines."""
    if not text.strip():
        raise IngestionError("there is no text in it", where=str(path))
    longest = max(map(len, text.splitlines()), default=0)
    if longest > LONGEST_LINE:
        raise IngestionError(
            f"a line of {longest:,} characters looks like data, not text",
            where=str(path),
            remedy=f"Break it into lines of at most {LONGEST_LINE:,} characters.",
        )
    return without_surrogates(text)


def plain_metadata(raw: Mapping[Any, object], prefix: str = "") -> dict[str, Plain]:
    """Return metadata as plain values: dates as ISO text, nested keys joined by dots, nothing left out but nulls.

    What no database takes is told as text: numbers that are not finite, lone surrogates, NUL.
    """
    plain: dict[str, Plain] = {}
    for key, value in raw.items():
        name = without_surrogates(f"{prefix}{key}")
        if isinstance(value, Mapping):
            plain |= plain_metadata(value, f"{name}.")
        elif value is not None:
            plain[name] = _plain(value)
    return plain


def _plain(value: object) -> Plain:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple | set):
        return [str(_plain(item)) for item in value if item is not None]
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return without_surrogates(str(value))


def names_in(raw: object) -> tuple[str, ...]:
    """Return the aliases of a metadata field: a list, or one text separated by commas or semicolons."""
    parts = re.split(r"[,;，；、]", raw) if isinstance(raw, str) else raw if isinstance(raw, list) else []
    given = (without_surrogates(str(part)).strip() for part in parts if part is not None)
    return tuple(dict.fromkeys(name for name in given if name))
