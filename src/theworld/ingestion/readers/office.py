"""What files of Microsoft Office say beside their text: comments, notes, headers, footers, fields."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from itertools import count
from typing import Any
from zipfile import ZipFile

from theworld.ingestion.readers.document import MONO
from theworld.ingestion.readers.tables import BETWEEN_ITEMS

_REMARKS = ("{*}comment", "{*}threadedComment", "{*}cm", "{*}reply", "{*}footnote", "{*}endnote", "{*}pt")
"""Comments, notes, and the points of diagrams (SmartArt)."""
_TEXTS = ("{*}t", "{*}text", "{*}p", "{*}br", "{*}tab", "{*}ptab")
_CELL = re.compile(r"[A-Z]{1,3}[1-9]\d{0,6}")
_MAIN = re.compile(r"word/document\d*\.xml")
_NOTES = re.compile(r"word/(?:comments|footnotes|endnotes)\d*\.xml")
_PASSED_OVER = ("fldSimple", "ruby", "rubyBase", "bdo", "dir")
"""Elements of Word around text that mammoth does not look into."""
_PAGE = re.compile(
    r"[-–—(\[\s]*(?:(?:pages?|pg|p|seite)\b\.?|第)?\s*(?:\d{1,3}|[ivxl]+)?\s*[页頁]?[,，\s]*"
    r"(?:(?:of|von|/|[共总總])\s*(?:\d{1,3})?\s*[页頁]?)?[-–—)\]\s]*",
    re.IGNORECASE,
)
"""A page's number, with or without how many there are."""
NUMBER = re.compile("\ue006(\\d+)\ue007")
"""What a paragraph of a list begins with, its number, until the list is written in Markdown."""
CODE, SPACE, NOTHING = "the-world-code", "\ue009", "\ue00a"
"""The id of a style that no file has, and what stands for a space in lines of that style, and at their ends."""
_APART = re.compile(r"\t+|\s*[|·•]\s*")
"""Between what stands at the left, in the middle and at the right of a header."""


def _linked(archive: ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Return kind and name of the parts that one refers to, by the ids of these links."""
    (folder, name), found = posixpath.split(part), dict[str, tuple[str, str]]()
    with suppress(Exception):  # there are none, or they are damaged
        for link in parsed(archive, f"{folder}/_rels/{name}.rels"):
            if link.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, link.get("Target")))
                found[link.get("Id", target)] = link.get("Type", "").rpartition("/")[2], target.lstrip("/")
    return found


def _authors(archive: ZipFile, main: str) -> dict[str, str]:
    """Return the names of those who comment, by their ids, where a part of its own lists them."""
    found = dict[str, str]()
    for kind, part in _linked(archive, main).values():
        if kind in {"person", "authors", "commentAuthors"}:
            with suppress(Exception):
                found |= {one.get("id"): one.get("displayName") or one.get("name") for one in parsed(archive, part)}
    return found


def _remarks(archive: ZipFile, part: str, authors: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the remarks of a part: kind, id or cell, and its words, all but points in brackets; none if damaged."""
    with suppress(Exception):
        root = parsed(archive, part)
        names = {str(place): author.text for place, author in enumerate(root.iter("{*}author"))} | authors
        for one in root.iter(*_REMARKS):
            said = {key.rpartition("}")[2]: value for key, value in one.attrib.items()}
            words = " ".join(_text(one, _REMARKS).split())
            author = said.get("author") or names.get(said.get("authorId") or said.get("personId") or "") or ""
            if words and author.strip() and not words.startswith(f"{author}:"):
                words = f"{author.strip()}: {words}"
            if words:
                kind = one.tag.rpartition("}")[2]
                yield kind, said.get("ref") or said.get("id") or "", words if kind == "pt" else f"({words})"


def comments_of_sheet(archive: ZipFile, sheet: str) -> dict[str, str]:
    """Return the comments on the cells of a sheet of Excel, by the names of the cells.

    Threads come first: for older versions their words are repeated, with some about these versions.
    """
    authors, found = _authors(archive, "xl/workbook.xml"), dict[str, str]()
    for kind, part in sorted(_linked(archive, sheet).values(), reverse=True):
        if kind in {"threadedComment", "comments"}:
            for what, cell, words in _remarks(archive, part, authors):
                if _CELL.fullmatch(cell) and (what == "threadedComment" or cell not in found):
                    found[cell] = f"{found.get(cell, '')} {words}".strip()
    return found


def beside_slides(data: bytes) -> list[str]:
    """Return what the diagrams of each slide of PowerPoint say, and the comments on it."""
    from pptx import Presentation

    with ZipFile(BytesIO(data)) as archive:
        authors, found = _authors(archive, "ppt/presentation.xml"), list[str]()
        for slide in Presentation(BytesIO(data)).slides:
            links = sorted(_linked(archive, slide.part.partname[1:]).values(), reverse=True)
            parts = [part for kind, part in links if kind in {"diagramData", "comments"}]
            found.append("\n\n".join(words for part in parts for *_, words in _remarks(archive, part, authors)))
    return found


def completed(data: bytes) -> tuple[bytes, list[str]]:
    """Return a Word file where comments and notes stand in the text, and the lines of its headers and footers.

    Fields and phonetic guides that mammoth would pass over are parts of its text as well.
    """
    from lxml import etree

    anew = BytesIO()
    with ZipFile(BytesIO(data)) as archive, ZipFile(anew, "w") as written:
        main = next(name for name in archive.namelist() if _MAIN.fullmatch(name))
        root = parsed(archive, main)
        word = root.tag.removesuffix("document")
        said = {
            (f"{word}{kind}Reference", about): f" {words}"
            for part in filter(_NOTES.fullmatch, archive.namelist())
            for kind, about, words in _remarks(archive, part, {})
        }
        for mark in list(root.iter(*(f"{word}{kind}Reference" for kind in ("comment", "footnote", "endnote")))):
            mark.text = said.get((mark.tag, mark.get(f"{word}id")), "")
            mark.tag = f"{word}t"
        links, styles = _linked(archive, main), dict[str | None, Any]()
        parts = dict(links.values())
        with suppress(Exception):  # there are none, or they are damaged
            styles = {one.get(f"{word}styleId"): one for one in parsed(archive, parts["styles"]).iter(f"{word}style")}
        for diagram in list(root.iter("{*}relIds")):
            shown = next(diagram.iterancestors(f"{word}drawing"), diagram)
            _, part = links.get(diagram.xpath("string(@*[local-name()='dm'])"), ("", ""))
            shown[:], shown.tag = [], f"{word}t"
            shown.text = BETWEEN_ITEMS.join(words for *_, words in _remarks(archive, part, {}))
        for picture in list(root.iter("{*}blip", "{*}imagedata")):
            if links.keys().isdisjoint(picture.attrib.values()):  # not in the file, where it would be looked for
                picture.getparent().remove(picture)
        for passed_over in list(root.iter(*(word + name for name in _PASSED_OVER))):
            passed_over.tag = f"{word}smartTag"
        _make_convertible(root.iter("{*}oMath"), word)
        _mark_code(root, styles, word)
        _number(root, archive, parts.get("numbering", ""), styles)
        ordered = sorted(links.values(), key=lambda link: link[0] == "footer")
        beside = [line for kind, part in ordered if kind in {"header", "footer"} for line in _lines(archive, part)]
        for name in dict.fromkeys(name for name in archive.namelist() if not _NOTES.fullmatch(name)):
            written.writestr(name, etree.tostring(root, encoding="utf-8") if name == main else archive.read(name))
    return anew.getvalue(), list(dict.fromkeys(beside))


def _run(root: Any, word: str, words: str) -> Any:
    """Return a run of Word that says some words."""
    run, text = root.makeelement(f"{word}r"), root.makeelement(f"{word}t")
    text.text = words
    run.append(text)
    return run


def _setting(element: Any, word: str, path: str, name: str = "val") -> str | None:
    """Return what is set somewhere below an element of Word."""
    found = None if element is None else element.find("/".join(word + one for one in path.split("/")))
    return None if found is None else found.get(word + name)


def _mark_code(root: Any, styles: Mapping[str | None, Any], word: str) -> None:
    """Give the style `CODE` to lines in a style of such a name, or a typewriter font where most text is in another."""

    def font(text: Any, style: str | None) -> str:
        """Return the font of a run or style, else of the style that it has or is based on."""
        own = _setting(text, word, "rPr/rFonts", "ascii")
        based_on = styles.get(style)
        return own or ("" if based_on is None else font(based_on, _setting(based_on, word, "basedOn")))

    named, set_so, sizes, last = list[Any](), list[Any](), Counter[bool](), None
    for paragraph in root.iter(f"{word}p"):
        style = _setting(paragraph, word, "pPr/pStyle")
        name = (_setting(styles.get(style), word, "name") or "").lower()
        runs = [(run, "".join(run.itertext(f"{word}t"))) for run in paragraph.iter(f"{word}r")]
        fonts = [font(run, _setting(run, word, "rPr/rStyle") or style) for run, words in runs if words.strip()]
        mono = all(map(MONO.search, fonts))
        sizes[mono] += len("".join(paragraph.itertext()))
        other = name.startswith(("caption", "heading", "title")) or _setting(paragraph, word, "pPr/numPr/numId")
        empty = paragraph.getprevious() is last and [one.tag for one in paragraph] in ([], [f"{word}pPr"])
        if not other and (fonts or empty) and (mono or MONO.search(name)):
            (named if MONO.search(name) else set_so).append(last := paragraph)
    for line in named + set_so * (sizes[False] > sizes[True]):
        line.insert(0, line.makeelement(f"{word}pPr"))
        line[0].append(line.makeelement(f"{word}pStyle", {f"{word}val": CODE}))
        line.append(_run(line, word, NOTHING))  # a line without any would be left out
        for words in line.iter(f"{word}t", f"{word}br"):  # spaces alone would become one
            words.text = (words.text or "\n" * words.tag.endswith("br")).replace(" ", SPACE)
            words.tag = f"{word}t"


def _make_convertible(equations: Iterable[Any], word: str) -> None:
    """Leave of equations what markitdown converts, else their characters: because of one it leaves out all others."""
    from lxml import etree
    from markitdown.converter_utils.docx.math.omml import OMML_NS, oMath2Latex

    for equation in equations:
        etree.strip_elements(equation, f"{word}rPr", f"{OMML_NS}ctrlPr", f"{word}del", with_tail=False)
        etree.strip_tags(equation, f"{word}ins")
        try:
            oMath2Latex(equation)  # type: ignore[no-untyped-call]
        except Exception:  # whatever it raises on what it does not know
            equation[:] = [_run(equation, OMML_NS, "".join(equation.itertext(f"{OMML_NS}t", with_tail=False)))]


def _number(root: Any, archive: ZipFile, numbering: str, styles: Mapping[str | None, Any]) -> None:
    """Let the paragraphs of lists begin with their `NUMBER`: in Word a list goes on behind what interrupts it.

    Which list it is, the id of its numbering says, which a paragraph has itself or by its style.
    """
    word, numbers = root.tag.removesuffix("document"), dict[str | None, Iterator[int]]()
    with suppress(Exception):  # there is none, or it is damaged
        numbers = {one: count(start) for one, start in _starts(parsed(archive, numbering), word)}
    for paragraph in root.iter(f"{word}p"):
        style = styles.get(_setting(paragraph, word, "pPr/pStyle"))
        its = _setting(paragraph, word, "pPr/numPr/numId") or _setting(style, word, "pPr/numPr/numId")
        if its in numbers and _setting(paragraph, word, "pPr/numPr/ilvl") in {None, "0"}:
            number = next(numbers[its])
            if any(words.text for words in paragraph.iter(f"{word}t")):
                paragraph[0].addnext(_run(root, word, f"\ue006{number}\ue007"))


def _starts(root: Any, word: str) -> Iterator[tuple[str, int]]:
    """Yield the ids of numberings and the numbers that their first level begins with."""
    first = f"[@{word}ilvl='0']"
    begun = {
        one.get(f"{word}abstractNumId"): one.find(f"{word}lvl{first}/{word}start")
        for one in root.iter(f"{word}abstractNum")
    }
    for one in root.iter(f"{word}num"):
        own = one.find(f"{word}lvlOverride{first}/{word}startOverride")
        start = begun.get(one.find(f"{word}abstractNumId").get(f"{word}val")) if own is None else own
        yield one.get(f"{word}numId"), 1 if start is None else int(start.get(f"{word}val"))


def _lines(archive: ZipFile, part: str) -> Iterator[str]:
    """Yield the lines of a header or footer that say something beside the page's number."""
    with suppress(Exception):  # it is damaged, or not there
        for paragraph in parsed(archive, part).iter("{*}p"):
            parts = (" ".join(said.split()) for said in _APART.split(_text(paragraph, ("{*}p",))))
            if line := " · ".join(said for said in parts if not _PAGE.fullmatch(said)):
                yield line


def _text(root: Any, within: tuple[str, ...]) -> str:
    """Return the text of an element without that of others of its kind in it."""
    said = ""
    for one in root.iter(*_TEXTS):
        if one is not root and next(one.iterancestors(*within)) is root:
            kind = one.tag.rpartition("}")[2]
            said += (one.text or "") if kind in {"t", "text"} else "\t" if kind in {"tab", "ptab"} else " "
    return said


def parsed(archive: ZipFile, part: str) -> Any:
    """Return the XML of a part; raises what zipfile and lxml do where it is missing or damaged."""
    from lxml import etree

    return etree.fromstring(archive.read(part), etree.XMLParser(huge_tree=True, resolve_entities=False))
