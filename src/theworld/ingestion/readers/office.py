"""What files of Microsoft Office say beside their text: comments, notes, headers, footers, fields, boxes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from itertools import count
from typing import Any
from zipfile import ZipFile

_REMARKS = ("{*}comment", "{*}threadedComment", "{*}cm", "{*}reply", "{*}footnote", "{*}endnote")
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
_APART = re.compile(r"\t+|\s*[|·•]\s*")
"""Between what stands at the left, in the middle and at the right of a header."""


def _linked(archive: ZipFile, part: str) -> Iterator[tuple[str, str]]:
    """Yield kind and name of the parts that one refers to."""
    folder, name = posixpath.split(part)
    with suppress(Exception):  # there are none, or they are damaged
        for link in _parsed(archive, f"{folder}/_rels/{name}.rels"):
            if link.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, link.get("Target")))
                yield link.get("Type", "").rpartition("/")[2], target.lstrip("/")


def _authors(archive: ZipFile, main: str) -> dict[str, str]:
    """Return the names of those who comment, by their ids, where a part of its own lists them."""
    found = dict[str, str]()
    for kind, part in _linked(archive, main):
        if kind in {"person", "authors", "commentAuthors"}:
            with suppress(Exception):
                found |= {one.get("id"): one.get("displayName") or one.get("name") for one in _parsed(archive, part)}
    return found


def _remarks(archive: ZipFile, part: str, authors: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the comments or notes of a part: kind, id or cell, and its words in brackets; none of a damaged one."""
    with suppress(Exception):
        root = _parsed(archive, part)
        names = {str(place): author.text for place, author in enumerate(root.iter("{*}author"))} | authors
        for one in root.iter(*_REMARKS):
            said = {key.rpartition("}")[2]: value for key, value in one.attrib.items()}
            words = " ".join(_text(one, _REMARKS).split())
            author = said.get("author") or names.get(said.get("authorId") or said.get("personId") or "") or ""
            if words and author.strip() and not words.startswith(f"{author}:"):
                words = f"{author.strip()}: {words}"
            if words:
                yield one.tag.rpartition("}")[2], said.get("ref") or said.get("id") or "", f"({words})"


def comments_of_sheet(archive: ZipFile, sheet: str) -> dict[str, str]:
    """Return the comments on the cells of a sheet of Excel, by the names of the cells.

    Threads come first: for older versions their words are repeated, with some about these versions.
    """
    authors, found = _authors(archive, "xl/workbook.xml"), dict[str, str]()
    for kind, part in sorted(_linked(archive, sheet), reverse=True):
        if kind in {"threadedComment", "comments"}:
            for what, cell, words in _remarks(archive, part, authors):
                if _CELL.fullmatch(cell) and (what == "threadedComment" or cell not in found):
                    found[cell] = f"{found.get(cell, '')} {words}".strip()
    return found


def comments_of_slides(data: bytes) -> list[str]:
    """Return the comments on each slide of PowerPoint."""
    from pptx import Presentation

    with ZipFile(BytesIO(data)) as archive:
        authors, found = _authors(archive, "ppt/presentation.xml"), list[str]()
        for slide in Presentation(BytesIO(data)).slides:
            parts = [part for kind, part in _linked(archive, slide.part.partname[1:]) if kind == "comments"]
            found.append("\n\n".join(words for part in parts for *_, words in _remarks(archive, part, authors)))
    return found


def completed(data: bytes) -> tuple[bytes, list[str]]:
    """Return a Word file where comments and notes stand in the text, and the lines of its headers and footers.

    Fields, phonetic guides and text boxes that mammoth would pass over are parts of its text as well.
    """
    from lxml import etree

    anew = BytesIO()
    with ZipFile(BytesIO(data)) as archive, ZipFile(anew, "w") as written:
        main = next(name for name in archive.namelist() if _MAIN.fullmatch(name))
        root = _parsed(archive, main)
        word = root.tag.removesuffix("document")
        said = {
            (f"{word}{kind}Reference", about): f" {words}"
            for part in filter(_NOTES.fullmatch, archive.namelist())
            for kind, about, words in _remarks(archive, part, {})
        }
        for mark in list(root.iter(*(f"{word}{kind}Reference" for kind in ("comment", "footnote", "endnote")))):
            mark.text = said.get((mark.tag, mark.get(f"{word}id")), "")
            mark.tag = f"{word}t"
        for passed_over in list(root.iter(*(word + name for name in _PASSED_OVER))):
            passed_over.tag = f"{word}smartTag"
        _unbox(root, f"{word}p")
        _without_links(root, archive, main)
        _number(root, archive, main)
        parts = sorted(_linked(archive, main), key=lambda link: link[0] == "footer")
        beside = [line for kind, part in parts if kind in {"header", "footer"} for line in _lines(archive, part)]
        for name in dict.fromkeys(name for name in archive.namelist() if not _NOTES.fullmatch(name)):
            written.writestr(name, etree.tostring(root, encoding="utf-8") if name == main else archive.read(name))
    return anew.getvalue(), list(dict.fromkeys(beside))


def _without_links(root: Any, archive: ZipFile, main: str) -> None:
    """Take out the pictures that are not in the file itself, which would be looked for in it."""
    folder, name = posixpath.split(main)
    with suppress(KeyError):  # there are no links at all
        links = _parsed(archive, f"{folder}/_rels/{name}.rels")
        outside = {link.get("Id") for link in links if link.get("TargetMode") == "External"}
        for picture in list(root.iter("{*}blip", "{*}imagedata")):
            if not outside.isdisjoint(picture.attrib.values()):
                picture.getparent().remove(picture)


def _unbox(root: Any, paragraph: str) -> None:
    """Put what text boxes say behind their paragraphs, but for boxes that older versions of Word know as well."""
    for box in reversed(root.findall(".//{*}txbx/{*}txbxContent")):
        either, around = (next(box.iterancestors(tag), None) for tag in ("{*}AlternateContent", paragraph))
        if around is not None and (either is None or either.find("{*}Fallback//{*}txbxContent") is None):
            for one in reversed(box):
                around.addnext(one)


def _number(root: Any, archive: ZipFile, main: str) -> None:
    """Let the paragraphs of lists begin with their `NUMBER`: in Word a list goes on behind what interrupts it.

    Which list it is, the id of its numbering says, which a paragraph has itself or by its style.
    """
    word = root.tag.removesuffix("document")

    def setting(element: Any, *names: str) -> str | None:
        found = None if element is None else element.find("/".join(word + name for name in names))
        return None if found is None else found.get(f"{word}val")

    by_style, starts = dict[str | None, str | None](), dict[str | None, int]()
    for kind, part in _linked(archive, main):
        with suppress(Exception):  # it is damaged
            if kind == "styles":
                for style in _parsed(archive, part).iter(f"{word}style"):
                    by_style[style.get(f"{word}styleId")] = setting(style, "pPr", "numPr", "numId")
            elif kind == "numbering":
                starts = dict(_starts(_parsed(archive, part), word))
    numbers = {one: count(start) for one, start in starts.items()}
    for paragraph in root.iter(f"{word}p"):
        settings = paragraph.find(f"{word}pPr")
        numbering = setting(settings, "numPr", "numId") or by_style.get(setting(settings, "pStyle"))
        if numbering in numbers and setting(settings, "numPr", "ilvl") in {None, "0"}:
            number = next(numbers[numbering])
            if any(words.text for words in paragraph.iter(f"{word}t")):
                words = settings.makeelement(f"{word}t")
                words.text = f"\ue006{number}\ue007"
                run = settings.makeelement(f"{word}r")
                run.append(words)
                settings.addnext(run)


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
        for paragraph in _parsed(archive, part).iter("{*}p"):
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


def _parsed(archive: ZipFile, part: str) -> Any:
    from lxml import etree

    return etree.fromstring(archive.read(part), etree.XMLParser(huge_tree=True, resolve_entities=False))
