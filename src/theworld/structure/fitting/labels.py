"""Members of an enum or a Literal, found by value, by name, or inside a short text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from enum import Enum
from typing import Any, Literal, get_args, get_origin

NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|without|isn't|isnt|non)\b|n't\b|[不非没無无]")
LONGEST = 300


def fold(text: str) -> str:
    """Return a name without case, width, spaces and punctuation, for comparison."""
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())


def fold_key(key: str) -> str:
    """Return a key folded, without what stands in brackets after it: `Price (USD)` is `price`."""
    return fold(re.sub(r"[(（\[【][^()（）\[\]【】]{0,60}[)）\]】]\s*$", "", key)) or fold(key)


def labels_of(annotations: Iterable[Any]) -> list[tuple[str, Any]]:
    """Return (label, plain value) of every member of the enums and Literals among the annotations."""
    found: list[tuple[str, Any]] = []
    for annotation in annotations:
        if get_origin(annotation) is Literal:
            for choice in get_args(annotation):
                plain = choice.value if isinstance(choice, Enum) else choice
                found.append((str(plain), plain))
        elif isinstance(annotation, type) and issubclass(annotation, Enum):
            for name, member in annotation.__members__.items():
                found += [(str(member.value), member.value), (name, member.value)]
    return found


def match_label(item: Any, labels: list[tuple[str, Any]]) -> tuple[bool, Any]:
    """Return (True, value) of the one member that an item names, else (False, None).

    Compared in turn: folded as a whole; before a colon, dash, bracket or line break; as the only member named in a
    short text without a negation.
    """
    text = str(item).strip()
    if not text or len(text) > LONGEST:
        return False, None
    for candidate in (text, *_heads(text)):
        values = _distinct(value for label, value in labels if fold(label) == fold(candidate) and fold(candidate))
        if len(values) == 1:
            return True, values[0]
    named = [] if NEGATION.search(text.casefold()) else _mentioned(text, labels)
    return (True, named[0]) if len(named) == 1 else (False, None)


def _heads(text: str) -> list[str]:
    """Return the parts of `LABEL: why`, `LABEL (why)`, `1. LABEL`, `category: LABEL`."""
    parts = re.split(r"\s*[:：(（\n]\s*|\s+[-–—]+\s+|[,，。;；]\s*", text, maxsplit=1)
    numbered = re.sub(r"^\s*(?:\d+|[A-Za-z])[.)、]\s*", "", text)
    tail = re.split(r"[:：]\s*", text)[-1] if len(text) < 80 else ""
    return [part for part in (parts[0], numbered, tail) if len(fold(part)) > 1 and part != text]


def _mentioned(text: str, labels: list[tuple[str, Any]]) -> list[Any]:
    """Return the distinct members whose label stands in the text as whole words; longer labels hide shorter ones."""
    rest = text
    found: list[Any] = []
    for label, value in sorted(labels, key=lambda pair: -len(pair[0])):
        if len(fold(label)) < 2:
            continue
        body = r"[\s_-]*".join(re.escape(word) for word in re.split(r"[\s_-]+", label) if word)
        without = re.sub(rf"(?<![A-Za-z0-9]){body}(?![A-Za-z0-9])", " ", rest, flags=re.IGNORECASE)
        if without != rest:
            rest = without
            found.append(value)
    return _distinct(found)


def _distinct(values: Iterable[Any]) -> list[Any]:
    seen: list[Any] = []
    for value in values:
        if value not in seen:
            seen.append(value)
    return seen
