"""Character folding that keeps every offset: width, case and traditional forms, one character for one."""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from importlib.resources import files

import yaml


@cache
def _traditional() -> dict[int, int]:
    table = yaml.safe_load((files(__package__) / "data" / "traditional.yaml").read_text("utf-8"))
    return str.maketrans("".join(table["traditional"]), "".join(table["simplified"]))


@lru_cache(maxsize=20_000)
def _fold_character(character: str) -> str:
    for form in (unicodedata.normalize("NFKC", character), character):
        folded = form.casefold()
        if len(folded) == 1:
            return folded.translate(_traditional())
    return character


def fold_in_place(text: str) -> str:
    """Return the text folded for comparison; `len` and every offset stay the same."""
    if text.isascii():
        return text.lower()
    return "".join(map(_fold_character, text)).replace("’", "'").replace("‘", "'")
