"""The files of a corpus as plain text, and the ways in which rivals cut it into passages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from theworld.errors import IngestionError
from theworld.ingestion.readers import SourceDocument, read_source
from theworld.ingestion.readers.encoding import read_text

Split = Callable[[str], Sequence[str]]
"""Cuts a file's text into passages."""

_TEXT = frozenset({".md", ".mdx", ".rst", ".txt", ".html"})
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_LONGEST_JOINED = 900


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a file."""

    file: str
    """Relative to the corpus."""
    text: str


def corpus_texts(corpus: Path) -> list[tuple[str, str]]:
    """Return path below the corpus and text of its files: text as it is, other formats as our readers give them.

    Files without an ending, and those that cannot be read, are left out.
    """
    return [(path.relative_to(corpus).as_posix(), text) for path in sorted(corpus.rglob("*")) for text in _text(path)]


def _text(path: Path) -> list[str]:
    if not path.suffix or not path.is_file():
        return []
    try:
        if path.suffix in _TEXT:
            return [read_text(path)]
        return ["\n\n".join(found.text for found in read_source(path) if isinstance(found, SourceDocument))]
    except IngestionError:
        return []


def cut(texts: Sequence[tuple[str, str]], split: Split) -> list[Passage]:
    """Return the passages of all files, in order."""
    return [Passage(file, text) for file, whole in texts for text in split(whole)]


def join_paragraphs(text: str, size: int = _LONGEST_JOINED) -> list[str]:
    """Return paragraphs joined as long as they have at most `size` characters together; longer ones stay whole."""
    return list(_joined(text, size))


def _joined(text: str, size: int) -> Iterator[str]:
    block = ""
    for paragraph in _PARAGRAPH_END.split(text):
        if block and len(block) + len(paragraph) > size:
            yield block
            block = ""
        block += paragraph + "\n\n"
    if block.strip():
        yield block


def _langchain() -> Split:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    split: Split = RecursiveCharacterTextSplitter().split_text
    return split


def _llamaindex() -> Split:
    from llama_index.core.node_parser import SentenceSplitter

    split: Split = SentenceSplitter().split_text
    return split


DEFAULT_SPLITTERS: Mapping[str, Callable[[], Split]] = {"langchain": _langchain, "llamaindex": _llamaindex}
"""By peer, what makes its default splitter; its package must be installed."""
