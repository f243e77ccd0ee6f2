"""How well a mention's name fits an entry's names: equal, short, an acronym, of the same people or place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from theworld.data_files import load_table
from theworld.text import entity_key, fold, tokens
from theworld.text.folding import simplified


@cache
def demonyms() -> Mapping[str, str]:
    """Return adjective, people or other name -> key of the country."""
    table = load_table("theworld.entities", "data/demonyms.yaml")
    plurals = {f"{word}s": country for word, country in table["adjectives"].items() if word.endswith("an")}
    return plurals | {word: country for words in table.values() for word, country in words.items()}


FUNCTION_WORDS = frozenset("of the and in for de la a an".split())
ALIAS_FACTOR = 0.97
"""An alias counts a little less than the label."""
CLOSE = 0.9
"""From here names are the same but for form."""
MAX_ACRONYM = 6
MIN_PREFIX = 4
MIN_ABBREVIATED = 3
LONGEST_CHINESE_SHORT_FORM = 4

_NUMERALS = {"first": "i", "second": "ii", "third": "iii", "fourth": "iv", "1": "i", "2": "ii", "3": "iii", "4": "iv"}
_PUNCTUATION = re.compile(r"[^\w ]")
_QUALIFIER = re.compile(r"\s*[(（](.*)[)）]|[,，](.*)$")
_LEGAL_FORM = re.compile(
    r"[,，]? +(?:inc|corp|corporation|company|co|ltd|llc|plc|group)\.?$|(?:股份|有限|责任)*公司$|集团$|[市省县]$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_FIRST_CJK = 0x2E80


def name_match(mention: str, candidate: Mapping[str, Any]) -> float:
    """Return in [0, 1] how well a mention fits the best of a candidate's label and aliases; 1 is the same name."""
    by_alias = (ALIAS_FACTOR * _similarity(mention, alias) for alias in candidate.get("aliases", ()))
    return max(_similarity(mention, candidate.get("label") or ""), *by_alias, 0.0)


@lru_cache(maxsize=20_000)
def name_words(name: str) -> frozenset[str]:
    """Return the tokens of a name, its numerals and words for nations in one form, without function words."""
    return frozenset().union(*map(_one_word, fold(name).split())) - FUNCTION_WORDS


@lru_cache(maxsize=50_000)
def _one_word(word: str) -> frozenset[str]:
    """Return the tokens of one folded word of a name."""
    country = demonyms().get(_PUNCTUATION.sub("", word)) or demonyms().get(word.removesuffix("-born"))
    if country:
        return frozenset(tokens(country)) - {"america"}
    return frozenset(_NUMERALS.get(token, token) for token in tokens(word))


@lru_cache(maxsize=20_000)
def qualifier_of(name: str) -> str:
    """Return what a name has in brackets or behind a comma: Oder for "Frankfurt (Oder)"."""
    match = _QUALIFIER.search(name)
    return next(filter(None, match.groups()), "") if match else ""


@lru_cache(maxsize=20_000)
def is_head(mention: str, name: str) -> bool:
    """Return whether a mention is a name without what narrows it down: its end, or its part before "of" or "in"."""
    ours, theirs = " ".join(tokens(mention)), " ".join(tokens(name))
    if not ours or ours == theirs:
        return False
    return theirs.endswith(f" {ours}") or theirs.startswith((f"{ours} of ", f"{ours} in "))


@lru_cache(maxsize=20_000)
def _similarity(mention: str, name: str) -> float:
    ours, theirs = entity_key(mention), entity_key(name)
    if not ours or not theirs:
        return 0.0
    bare = _PUNCTUATION.sub("", ours)
    if bare and bare == _PUNCTUATION.sub("", theirs):
        return 1.0 if ours == theirs else 0.97
    if theirs in {demonyms().get(ours), demonyms().get(bare)}:
        return 0.95
    legal_form = _LEGAL_FORM.search(simplified(name))
    without = name[: legal_form.start()] if legal_form else name
    if ours in {entity_key(_QUALIFIER.sub("", name)), entity_key(without)}:
        return 0.93
    # The beginning of a single word and a full stop, as Calif. is.
    begins = mention.endswith(".") and len(bare) >= MIN_ABBREVIATED and " " not in theirs and theirs.startswith(bare)
    # The first characters of a Chinese name's words, of two characters each, as 北大 is.
    short = 2 <= len(ours) <= LONGEST_CHINESE_SHORT_FORM and ord(ours[0]) >= _FIRST_CJK
    short = short and len(theirs) == 2 * len(ours) and theirs[::2] == ours
    same = begins or short or _is_acronym(mention, bare, name)
    return CLOSE if same else _overlap(mention, name, ours, theirs)


def _common_prefix(left: str, right: str) -> int:
    differing = (place for place, (a, b) in enumerate(zip(left, right, strict=False)) if a != b)
    return next(differing, min(len(left), len(right)))


def _is_acronym(mention: str, bare: str, name: str) -> bool:
    if mention.upper() != mention or not bare.isascii() or not bare.isalpha() or not 2 <= len(bare) <= MAX_ACRONYM:
        return False
    return "".join(word[0] for word in _WORD.findall(fold(name)) if word not in FUNCTION_WORDS) == bare


def _overlap(mention: str, name: str, ours: str, theirs: str) -> float:
    """Return the fit of names that share some words."""
    left, right = name_words(mention), name_words(name)
    if not left or not right:
        return 0.0
    if left == right or (left == right - {"peopl"}):
        return CLOSE
    if left < right:
        same_end = tokens(mention)[-1:] == tokens(name)[-1:]
        return 0.45 + 0.35 * len(left) / len(right) + (0.1 if same_end else 0.0)
    if right < left:
        return 0.4 + 0.35 * len(right) / len(left)
    if left & right:
        return 0.35 * len(left & right) / len(left | right)
    prefix = max(_common_prefix(a, b) for a in left for b in right)
    return 0.3 * prefix / max(len(ours), len(theirs)) + 0.05 if prefix >= MIN_PREFIX else 0.0
