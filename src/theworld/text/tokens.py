"""The sparse index's tokens: overlapping CJK bigrams, lower-cased stemmed Latin words, numbers as written.

The same tokens go into every engine through a whitespace analyser, so that scores mean the same in all of them.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache, lru_cache

import snowballstemmer

from theworld.packages import load_table
from theworld.text.folding import simplified
from theworld.text.language import CJK_RANGES, has_ideographs

_PIECES = re.compile(rf"(?P<cjk>[{CJK_RANGES}]+)|(?P<word>[^\W_]+(?:['’][^\W_]+)*)")
_SPLIT_CJK = re.compile(rf"[{CJK_RANGES}]+|[^{CJK_RANGES}]+")
_STEMMER = snowballstemmer.stemmer("english")
_STEMMING = threading.Lock()
"""A stemmer works in its own fields: two threads at once get each other's stems."""


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return the English Snowball stem of a lower-case word; words with digits stay as they are."""
    if not word.isalpha() or not word.isascii():
        return word
    with _STEMMING:
        return str(_STEMMER.stemWord(word))


def fold(text: str) -> str:
    """Return the text in NFKC, lower case and simplified Chinese, without combining marks (accents, in any script)."""
    normal = unicodedata.normalize("NFKC", text).casefold()
    if normal.isascii():
        return normal
    decomposed = unicodedata.normalize("NFD", normal)
    kept = "".join(c for c in decomposed if unicodedata.category(c) != "Mn")
    return simplified(unicodedata.normalize("NFC", kept))


@lru_cache(maxsize=1_024)
def token_set(text: str) -> frozenset[str]:
    """Return the distinct index tokens of a note, remembered: of one request many ask for the same notes'."""
    return frozenset(tokens(text))


def tokens(text: str) -> list[str]:
    """Return the index tokens of a text in order, repetitions kept."""
    found: list[str] = []
    for match in _PIECES.finditer(fold(text)):
        for piece in _SPLIT_CJK.findall(match.group()):
            if has_ideographs(piece):
                found.extend(piece[i : i + 2] for i in range(len(piece) - 1)) if len(piece) > 1 else found.append(piece)
            elif word := piece.replace("’", "'").removesuffix("'s"):
                found.append(stem(word))
    return found


@cache
def function_words() -> frozenset[str]:
    """Return the function words of English and Chinese, and their index tokens."""
    lists = load_table("theworld.text", "function_words.yaml")
    return frozenset(form for words in lists.values() for form in {*tokens(words), *words.split()})
