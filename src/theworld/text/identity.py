"""The one identity of an entity: every sum, exclusion, seed and link uses this key, never the raw string."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from theworld.text.language import CJK_RANGES
from theworld.text.tokens import fold

_BETWEEN_CJK = re.compile(rf"(?<=[{CJK_RANGES}])\s+|(?<!\s)\s+(?=[{CJK_RANGES}])")
_DOTS = re.compile(r"[·•‧・]")
_POSSESSIVE = re.compile(r"['’]s$")
_SPACE = re.compile(r"[\s_]+")
_EDGE = "\"'“”‘’《》〈〉「」『』()（）[]【】,，.。;；:：!！?？、-–—"
_QUALIFIER = re.compile(r"[（(][^()（）]*[)）]$")
_REMEMBERED_CHARACTERS = 200
"""Longer names are keyed anew each time: they hardly recur, and would fill the memory."""


def entity_key(name: str) -> str:
    """Return the identity key of a name: NFKC, case, width, accents, spacing, edge punctuation and articles folded.

    Two names with the same key are the same entity. The empty string means that nothing identifying is left.
    """
    return _remembered_key(name) if len(name) <= _REMEMBERED_CHARACTERS else key_of(name)


def key_of(name: str) -> str:
    """Return the identity key of a name that will hardly be asked again, remembering nothing."""
    text = _DOTS.sub(" ", unicodedata.normalize("NFKC", name))
    text = "".join(" " if unicodedata.category(c) in {"Cc", "Cf"} else c for c in text)
    text = fold(text).strip().strip(_EDGE).strip()
    text = _POSSESSIVE.sub("", text)
    text = _SPACE.sub(" ", _BETWEEN_CJK.sub("", text)).strip()
    return text.removeprefix("the ") if len(text) > len("the ") else text


_remembered_key = lru_cache(maxsize=200_000)(key_of)


def without_qualifier(title: str) -> str:
    """Return a title without its trailing bracketed qualifier: `Up (film)` -> `Up`."""
    bare = _QUALIFIER.sub("", title.rstrip()).strip()
    return bare or title
